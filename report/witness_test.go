package report

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/judge"
	"zbench/bench/results"
	"zbench/bench/run/record"
)

// A second witness stands beside the evidence, in the verdict if it has answered, and on
// the page in any case.
func TestASecondWitnessIsShown(t *testing.T) {
	for _, w := range []*record.Witness{
		nil,
		{Source: "RAS at localhost:28028", State: record.WitnessAbsent, Reason: "connection refused"},
		{Source: "RAS at localhost:28028", State: record.WitnessDegraded, Ranks: []record.WitnessRank{{State: record.RankMissing, Rank: new(3), Host: "<n7>"}}},
	} {
		e := &record.Evidence{During: record.DuringWarmUp, Deadline: new(180.0), Iterations: 5, Witness: w}
		e.SetRanks([]record.RankProgress{{Enqueued: 5, Started: 4, Ended: 3}, {Enqueued: 5, Started: 3, Ended: 3}})
		rec := &record.Record{Results: []record.Result{{Case: record.Case{Key: "k", Status: record.Failed, Reason: "hung"}, Collective: "all_reduce", BytesRequested: 1 << 20, Evidence: e}}}
		var page bytes.Buffer
		require.NoError(t, WriteHTML(&page, results.Collectives(rec, results.Extras{})))
		verdict := judge.Record(rec)[0].Text
		if w == nil {
			require.NotContains(t, page.String()+verdict, "second witness")
			continue
		}
		require.Contains(t, page.String(), "econd witness")
		if w.State == record.WitnessAbsent {
			require.NotContains(t, verdict, "RAS")
			continue
		}
		require.Contains(t, page.String(), "rank 3 (on &lt;n7&gt;) missing")
		require.Contains(t, verdict, "RAS at localhost:28028 reports rank 3 (on <n7>) missing.")
	}
}
