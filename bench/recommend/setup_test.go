package recommend

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/record"
	"zbench/bench/stat"
)

// Results of other devices are another curve, not other sizes of the same.
func TestSetupsAreCurvesOfTheirOwn(t *testing.T) {
	result := func(setup string, bytes int64, seconds float64) record.Result {
		return record.Result{
			Key: setup, Collective: "all_reduce", Dtype: "float", Op: "sum", Ranks: 2, Nodes: 2, GPUsPerProcess: 1, Groups: 1, Bytes: bytes, Count: bytes / 4,
			Setup: setup, Status: record.OK, Burst: &record.Timing{MeanOfRanks: stat.Summarize([]float64{seconds})},
		}
	}
	rec := &record.Record{Results: []record.Result{result("b", 1024, 2), result("a", 1024, 1), result("a", 2048, 1.5), result("b", 4096, 3)}}
	curves, err := Curves([]Source{{Record: rec}})
	require.NoError(t, err)
	require.Len(t, curves, 2)
	require.Equal(t, "a", curves[0].Setup)
	require.Equal(t, "b", curves[1].Setup)
	require.Equal(t, 2.0, curves[1].Points[0].Seconds)
}
