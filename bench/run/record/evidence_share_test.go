package record

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawnProgress is how far so many ranks got in a batch of so many launches, with
// marks or without.
func drawnProgress(t *rapid.T, ranks, launches int) []RankProgress {
	marked := rapid.Bool().Draw(t, "marked")
	all := make([]RankProgress, ranks)
	for i := range all {
		r := &all[i]
		r.Enqueued = rapid.IntRange(0, launches).Draw(t, "enqueued")
		r.Ended = rapid.IntRange(0, r.Enqueued).Draw(t, "ended")
		r.Started = rapid.IntRange(r.Ended, min(r.Ended+1, r.Enqueued)).Draw(t, "started")
		r.Finished = r.Ended == launches
		if !marked {
			r.Started, r.Ended = -1, -1
		}
		r.Error = rapid.SampledFrom([]string{"", "", "", "remote process exited", "unhandled system error"}).Draw(t, "error")
	}
	return all
}

// Ranks that are split over processes, each of which reports what it knows of its
// own, give the same evidence as one process that holds them all.
func TestEvidenceOfSharesIsThatOfTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		processes := rapid.IntRange(1, 6).Draw(t, "processes")
		launches := rapid.IntRange(1, 5).Draw(t, "launches")
		var shares []int
		ranks := 0
		for range processes {
			shares = append(shares, rapid.IntRange(1, 4).Draw(t, "ranks"))
			ranks += shares[len(shares)-1]
		}
		all := drawnProgress(t, ranks, launches)
		want := Evidence{During: DuringWarmUp, Iterations: launches}
		want.SetRanks(all)

		var joined []RankProgress
		for first := 0; len(shares) > 0; shares = shares[1:] {
			e := Evidence{During: DuringWarmUp, Iterations: launches}
			e.SetRanksFrom(first, all[first:first+shares[0]])
			text, err := json.Marshal(e)
			require.NoError(t, err)
			var back Evidence
			require.NoError(t, json.Unmarshal(text, &back))
			part, err := back.Progress(first, shares[0])
			require.NoError(t, err)
			joined = append(joined, part...)
			first += shares[0]
		}
		got := Evidence{During: DuringWarmUp, Iterations: launches}
		got.SetRanks(joined)
		require.Equal(t, want, got)
	})
}

// Evidence that is not of exactly a process's ranks is refused.
func TestProgressOfOtherRanksIsRefused(t *testing.T) {
	e := Evidence{During: DuringBurst, Iterations: 5}
	e.SetRanksFrom(8, []RankProgress{at(3, 2), at(2, 2), at(3, 2), at(3, 2)})
	require.Equal(t, "9", e.Ranks[0].Ranks)
	_, err := e.Progress(8, 4)
	require.NoError(t, err)
	for _, x := range [][2]int{{0, 4}, {8, 3}, {8, 5}, {9, 4}, {7, 5}, {0, 12}} {
		_, err := e.Progress(x[0], x[1])
		require.ErrorContains(t, err, fmt.Sprintf("evidence of ranks 9,8,10-11; the process drives ranks %d to %d", x[0], x[0]+x[1]-1))
	}
	e.Ranks[0].Ranks = "10"
	_, err = e.Progress(8, 4)
	require.ErrorContains(t, err, "rank 10 is listed twice")
}

// A process that failed of itself or is lost has no counts, and no other's are used.
func TestEvidenceOfFailedAndLost(t *testing.T) {
	e := Evidence{During: DuringWarmUp, Iterations: 5}
	e.SetRanks([]RankProgress{at(3, 2), {Failed: true, Error: "link down"}, {Lost: true}, at(2, 2)})
	require.NoError(t, e.check())
	require.Contains(t, e.Text(), "in launch 3 of 5 of the warm-up: rank 2 lost contact; rank 1 failed (link down); rank 3 not started; rank 0 not finished")
	require.Contains(t, e.Text(), "the other ranks wait for those that failed or are lost")
	require.Nil(t, e.Ranks[1].Started)
	back, err := e.Progress(0, 4)
	require.NoError(t, err)
	again := Evidence{During: DuringWarmUp, Iterations: 5}
	again.SetRanks(back)
	require.Equal(t, e, again)
}

// Where the marks of one rank are missing those of no rank are shown, and ranks that
// differ in nothing else are one entry.
func TestEvidenceWithoutSomeMarks(t *testing.T) {
	e := Evidence{During: DuringWarmUp, Iterations: 5}
	e.SetRanks([]RankProgress{at(3, 2), at(2, 2), at(-1, -1), at(4, 3)})
	require.Len(t, e.Ranks, 1)
	require.Equal(t, RankEvidence{State: NotFinished, Ranks: "0-3", Count: 4, Enqueued: 5}, e.Ranks[0])
}
