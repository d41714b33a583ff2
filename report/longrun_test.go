package report

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/stat"
	"zbench/bench/results"
	"zbench/bench/run/record"
)

// A sweep of several ranks has a section with settings of a long run and the known issues
// of its library and its environment.
func TestPageHasSettingsOfALongRun(t *testing.T) {
	rec := &record.Record{Results: []record.Result{{
		Case: record.Case{Key: "k", Status: record.OK}, Collective: "all_reduce", BytesRequested: 1 << 20, Bytes: 1 << 20, Ranks: 16, Nodes: 2,
		Isolated: &record.Timing{MaxOfRanks: &stat.Summary{N: 30, Max: 4, Median: 3, Min: 2}},
	}}}
	rec.World.Ranks, rec.World.Nodes = 16, 2
	rec.Source.Environment = map[string]string{"NCCL_IB_TIMEOUT": "300"}
	page := func() string {
		var b bytes.Buffer
		require.NoError(t, WriteHTML(&b, results.Collectives(rec, results.Extras{})))
		return b.String()
	}
	text := page()
	for _, says := range []string{"Settings for a long run", "timedelta(seconds=80 + PAUSE)", "NCCL_IB_TIMEOUT is above 31"} {
		require.Contains(t, text, says, says)
	}
	require.Len(t, sheets(section(rec, "longrun")), 2)
	rec.Results[0].Status, rec.Source.Environment = record.Failed, nil
	require.NotContains(t, page(), "Settings for a long run")
	require.Empty(t, section(rec, "longrun"))
}
