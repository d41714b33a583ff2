package report

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/judge"
	"zbench/bench/base/stat"
	"zbench/bench/results"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/show/table"
)

// swept is a record of cases of groups of 8 on two nodes, of which node 1's had as
// many slow launches of 40 in each.
func swept(cases, slow int) *record.Record {
	rec := &record.Record{World: record.World{World: spec.World{Nodes: 2, GPUsPerNode: 8, GPUsPerProcess: 1}, Ranks: 16}}
	for i := range cases {
		times := make([]float64, 40)
		for j := range times {
			times[j] = 1e-4 + 1e-8*float64(j)
		}
		r := record.Result{
			Case: record.Case{Key: record.Key("all_reduce", "float", "sum", 1<<(16+i), 8, 1, false), Status: record.OK, Verified: record.Verified{State: record.NotVerified}}, Collective: "all_reduce", Dtype: "float", Op: "sum",
			Bytes: 1 << (16 + i), BytesRequested: 1 << (16 + i), Count: 1 << (14 + i),
			Ranks: 8, Nodes: 1, Groups: 2, GPUsPerProcess: 1,
			Isolated: &record.Timing{MaxOfRanks: stat.Summarize(times), Spread: stat.Summarize(make([]float64, 40))},
		}
		if slow > 0 {
			r.SlowLaunches = &record.SlowLaunches{Launches: 40, Groups: []record.SlowGroup{{FirstRank: 8, Count: slow}}}
		}
		rec.Results = append(rec.Results, r)
	}
	return rec
}

// A group whose launches are slow one time in ten is named with the cases; one in
// forty is what a quiet machine does.
func TestUnstable(t *testing.T) {
	for slow, named := range map[int]bool{0: false, 1: false, 4: true} {
		rec := swept(10, slow)
		var page, text bytes.Buffer
		require.NoError(t, WriteHTML(&page, results.Collectives(rec, results.Extras{})))
		require.NoError(t, table.Text(&text, table.Terminal, results.Results(rec)))
		if !named {
			require.Empty(t, judge.Unstable(rec), "%d of 40", slow)
			require.NotContains(t, page.String(), "Unstable")
			require.NotContains(t, text.String(), "Unstable")
			continue
		}
		require.Equal(t, []judge.Instability{{
			FirstRank: 8, Ranks: 8, Groups: 2, Slow: 40, Launches: 400, Cases: 10, Looked: 10, Example: "all_reduce 32 MiB",
		}}, judge.Unstable(rec))
		const says = "The group of ranks 8 to 15: 10 % of 400 launches took 1.5 times the median or more, in 10 of 10 cases (all_reduce 32 MiB for one)."
		require.Contains(t, page.String(), says)
		require.Contains(t, page.String(), "error counters")
		require.Contains(t, text.String(), "Unstable: The group of ranks 8 to 15: 10 %")
	}
}

// Counts that cannot be are no ground to name anybody.
func TestUnstableOfAnEditedFile(t *testing.T) {
	rec := swept(10, 1)
	for i := range rec.Results {
		rec.Results[i].SlowLaunches.Groups = []record.SlowGroup{{FirstRank: 8, Count: 41}, {FirstRank: -8, Count: 9}, {FirstRank: 0, Count: -40}}
	}
	require.Empty(t, judge.Unstable(rec))
}
