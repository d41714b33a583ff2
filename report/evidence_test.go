package report

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/judge"
	"zbench/bench/base/finding"
	"zbench/bench/base/unit"
	"zbench/bench/results"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
	"zbench/test/recordtest"
)

// hung is a sweep of which one case did not end.
func hung(progress ...record.RankProgress) *record.Record {
	rec := recordtest.Sweep(3)
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
	require.NoError(t, WriteHTML(&b, results.Collectives(hung(here, here, missing, here), results.Extras{})))
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
	blocks := section(hung(sick, here), "stuck")
	require.Equal(t, document.Paragraph{Text: document.Said("Only the ranks named here report an asynchronous error, the others wait for them: check their GPUs, NICs and cables, then the peers that they are connected to; culprit: rank 0.")}, blocks[2])
	require.Equal(t, "asynchronous error", blocks[3].(document.Sheet).Columns[6].Name)

	unmarked := record.RankProgress{Enqueued: 5, Started: -1, Ended: -1}
	require.Equal(t, unit.None, section(hung(unmarked), "stuck")[3].(document.Sheet).Groups[0].Rows[0].Cells[4])

	b.Reset()
	require.NoError(t, WriteHTML(&b, results.Collectives(recordtest.Sweep(3), results.Extras{})))
	require.NotContains(t, b.String(), "How far each rank got")
}

// A case that a lost process interrupted is bad news that names the ranks, and no failed case.
func TestLostProcessIsNamed(t *testing.T) {
	rec := hung(record.RankProgress{Enqueued: 5, Started: 3, Ended: 2}, record.RankProgress{Lost: true})
	rec.Results[1].Status, rec.Results[1].Reason = record.Interrupted, record.LostProcess+"process 1 on node1: its connection ended; in launch 3"
	v := judge.Record(rec)
	require.Empty(t, v.Only(judge.CodeFailed, judge.CodeHang))
	line := v.Only(judge.CodeInterrupted)[0]
	require.Equal(t, finding.Fault, line.Severity)
	require.Contains(t, line.Text, "a process was lost in all_reduce")
	require.Contains(t, line.Text, "Rank 1 lost contact, the others wait in launch 3 of 5 of the warm-up.")
	require.Contains(t, line.Hint, "culprit: rank 1. Continue with `zbench collectives --resume DIR`")
	rec.Results[1].Evidence = nil
	require.Contains(t, judge.Record(rec).Only(judge.CodeInterrupted)[0].Text, "in all_reduce at 2 KiB. Process 1 on node1: its connection ended. 2 of")
	rec.Results[1].Reason = record.StoodStill + "processes 0–1 stood still for up to 4 s; all 2 processes: not finished"
	require.Contains(t, judge.Record(rec).Only(judge.CodeInterrupted)[0].Text, "a process stood still in all_reduce at 2 KiB. Processes 0–1 stood still for up to 4 s. 2 of")
}

// Where no case ended, the verdict does not deny the figures that the table shows of one pass.
func TestVerdictOfPartsAlone(t *testing.T) {
	rec := recordtest.Sweep(3)
	for i := range rec.Results {
		rec.Results[i].Status, rec.Results[i].Reason = record.Interrupted, "stopped after 1 of 2 passes"
		if i > 0 {
			rec.Results[i].Burst = nil
		}
	}
	require.Equal(t, "No case ended ok: the figures of 1 case are of a part of the run, and not judged.", judge.Record(rec).Only(judge.CodeFailed)[0].Text)
	rec.Results[0].Burst = nil
	require.Equal(t, "Nothing was measured: no case ended ok.", judge.Record(rec).Only(judge.CodeFailed)[0].Text)
}
