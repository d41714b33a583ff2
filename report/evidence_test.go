package report

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/record"
)

// hung is a sweep of which one case did not end.
func hung(progress ...record.RankProgress) *record.Record {
	rec := sweep(3)
	r := &rec.Results[1]
	r.Status, r.Reason, r.Burst, r.Isolated = record.Failed, "not finished at the deadline of 180 s", nil, nil
	r.Evidence = &record.Evidence{During: record.DuringWarmUp, Deadline: new(180.0), Iterations: 5}
	r.Evidence.SetRanks(progress)
	return rec
}

// The page shows every rank, how far it got and what that comes to; a page of a
// sweep in which nothing hung has no such section.
func TestPageShowsHowFarEachRankGot(t *testing.T) {
	var b strings.Builder
	here, missing := record.RankProgress{Enqueued: 5, Started: 3, Ended: 2}, record.RankProgress{Enqueued: 5, Started: 2, Ended: 2}
	require.NoError(t, WriteHTML(&b, Collectives(hung(here, here, missing, here), Extras{})))
	text := b.String()
	for _, says := range []string{
		"How far each rank got", "in launch 3 of 5 of the warm-up", "The other ranks wait for those that have not started",
		`<th scope="row" class="l">not started</th><td class="l set">2</td><td>1</td><td>5</td><td>2</td><td>2</td>`,
		`<th scope="row" class="l">not finished</th><td class="l set">0–1, 3</td><td>3</td><td>5</td><td>3</td><td>2</td>`,
	} {
		require.Contains(t, text, says)
	}
	require.NotContains(t, text, "asynchronous error</th>")

	sick := here
	sick.Error = "remote <process> exited"
	blocks := stuckBlocks(hung(sick, here))
	require.Equal(t, Paragraph{Text: said("All ranks have started, none is missing: check the links and rails between them; cannot tell which rank is the culprit, candidates: rank 0.")}, blocks[2])
	require.Equal(t, "asynchronous error", blocks[3].(Sheet).Columns[6].Name)

	unmarked := record.RankProgress{Enqueued: 5, Started: -1, Ended: -1}
	require.Equal(t, none, stuckBlocks(hung(unmarked))[3].(Sheet).Groups[0].Rows[0].Cells[4])

	b.Reset()
	require.NoError(t, WriteHTML(&b, Collectives(sweep(3), Extras{})))
	require.NotContains(t, b.String(), "How far each rank got")
}
