package judge

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/stat"
	"zbench/bench/run/record"
)

// stalledAt is a table of all_reduce whose sizes within the bounds take a hundred times as long.
func stalledAt(bounds ...[2]int64) *record.Record {
	rec := &record.Record{}
	rec.World.Nodes, rec.World.Ranks = 2, 16
	for s := int64(1 << 10); s <= 1<<30; s *= 2 {
		seconds := 10e-6 + float64(s)/100e9
		for _, b := range bounds {
			if s >= b[0] && s <= b[1] {
				seconds *= 100
			}
		}
		for _, in := range []bool{false, true} {
			rec.Results = append(rec.Results, record.Result{
				Case: record.Case{Key: record.Key("all_reduce", "float", "sum", s, 16, 1, in), Status: record.OK}, Collective: "all_reduce", Dtype: "float", Op: "sum", Bytes: s, Ranks: 16, Nodes: 2, InPlace: in,
				Burst: &record.Timing{Iterations: 20, MeanOfRanks: stat.Summarize([]float64{seconds})}, Headline: "burst.mean_of_ranks",
			})
		}
	}
	return rec
}

// A stall is a fault; one that reaches sizes of buckets comes before a bucket size, and is the one that
// is named, whatever stalled before it.
func TestStallsOfBucketsComeFirst(t *testing.T) {
	small, large := [2]int64{2 << 10, 8 << 10}, [2]int64{1 << 20, 4 << 20}
	require.Nil(t, FixFirst(stalledAt()))
	require.Nil(t, FixFirst(stalledAt(small)))
	require.Len(t, Record(stalledAt(small)).Only(CodeStall), 1)
	both := stalledAt(small, large)
	require.Len(t, Record(both).Only(CodeStall), 2)
	first := FixFirst(both)
	require.Equal(t, CodeStall, first.Code)
	require.Contains(t, first.Text, "STALL: 6 rows in a row of all_reduce, from 1 MiB out of place to 4 MiB in place")
	require.Equal(t, "repeat these sizes: `zbench collectives all_reduce --sizes 1048576,2097152,4194304 --datatype float --nodes 2 --gpus-per-node 8`", first.Hint)
}
