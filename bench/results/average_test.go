package results

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
)

// The average of busbw is that of rccl-tests: the arithmetic mean of all rows of the whole world.
func TestAverageBusbw(t *testing.T) {
	row := func(name string, ranks, groups int, busbw float64) record.Result {
		return record.Result{Collective: name, Ranks: ranks, Groups: groups, Case: record.Case{Status: record.OK}, BusBW: &busbw}
	}
	rec := &record.Record{Results: []record.Result{
		row("all_reduce", 2, 1, 500e9), row("all_reduce", 8, 1, 100e9), row("all_reduce", 8, 1, 156e9), row("all_reduce", 2, 4, 900e9),
		row("broadcast", 8, 1, 60e9), row("reduce", 1, 1, 0),
	}}
	require.Equal(t, "all_reduce 128, broadcast 60.0", averages(rec)[0].Text)
	rec.Results[2].Status = record.WrongData
	require.Contains(t, averages(rec)[0].Text, "all_reduce 100,")
	require.Empty(t, averages(&record.Record{}))
	rec.Results[4].Status = record.Interrupted
	require.NotContains(t, averages(rec)[0].Text, "broadcast")
	rec.Results[1].Status = record.Interrupted
	require.Empty(t, averages(rec), "an average over a part of the sizes is of another sweep")
	rec.Results[1].Status = record.OK
	require.Contains(t, method(rec), averages(rec)[0])
	require.Len(t, averageBlocks(rec), 1)
}
