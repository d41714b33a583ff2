package record

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// at is the progress of one rank of a batch of five launches.
func at(started, ended int) RankProgress {
	return RankProgress{Enqueued: 5, Started: started, Ended: ended}
}

func TestEvidenceText(t *testing.T) {
	lost := RankProgress{Lost: true, Started: -1, Ended: -1}
	done := at(5, 5)
	done.Finished = true
	sick := at(3, 2)
	sick.Error = "remote process exited"
	behind := RankProgress{Enqueued: 2, Started: 2, Ended: 2}
	for _, x := range []struct {
		ranks []RankProgress
		want  string
	}{
		{[]RankProgress{at(3, 2), at(3, 2), at(2, 2), at(3, 2)}, "in launch 3 of 5 of the warm-up: rank 2 not started; ranks 0–1, 3 not finished; the other ranks wait for those"},
		{[]RankProgress{at(3, 2), at(3, 2)}, "in launch 3 of 5 of the warm-up: all 2 ranks not finished; all ranks have started, none is missing"},
		{[]RankProgress{sick, at(3, 2)}, "rank 0 not finished (remote process exited); rank 1 not finished; only the ranks named here report an asynchronous error"},
		{[]RankProgress{at(3, 2), behind}, "rank 1 not enqueued; rank 0 not finished; the other ranks wait"},
		{[]RankProgress{at(3, 2), lost}, "rank 1 lost contact; rank 0 not finished; the other ranks wait"},
		{[]RankProgress{at(4, 3), at(2, 2), at(5, 4), done}, "in launch 3 of 5 of the warm-up: rank 1 not started; rank 0 finished; rank 2 finished; rank 3 finished"},
		{[]RankProgress{at(5, 5), done}, "after the 5 launches of the warm-up: rank 0 not finished; rank 1 finished"},
		{[]RankProgress{at(-1, -1), done}, "in the warm-up of 5 launches: rank 0 not finished; rank 1 finished; it is unknown which ranks have started"},
	} {
		e := Evidence{During: DuringWarmUp, Iterations: 5}
		e.SetRanks(x.ranks)
		require.NoError(t, e.check())
		require.Contains(t, e.Text(), x.want)
	}
}

// A thousand ranks are a few entries, whatever their order.
func TestEvidenceIsCompact(t *testing.T) {
	var ranks []RankProgress
	for i := range 1024 {
		r := at(3, 2)
		if i%100 == 17 {
			r = at(2, 2)
		}
		ranks = append(ranks, r)
	}
	e := Evidence{During: DuringWarmUp, Iterations: 5}
	e.SetRanks(ranks)
	text, err := json.Marshal(e)
	require.NoError(t, err)
	require.Less(t, len(text), 600)
	require.Equal(t, "17,117,217,317,417,517,617,717,817,917,1017", e.Ranks[0].Ranks)
	require.Contains(t, e.Text(), "ranks 17, 117, 217, ")
	require.Equal(t, []int{11, 1013}, []int{e.Ranks[0].Count, e.Ranks[1].Count})
	require.Equal(t, "ranks 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, … (50 ranks)", RankText("0,2,4,6,8,10,12,14,16,18,20,22,24-61", 50, 1024))
}

// What no sweep leaves is refused.
func TestEvidenceCheck(t *testing.T) {
	good := func() *Evidence {
		e := &Evidence{During: DuringBurst, Deadline: new(180.0), Iterations: 5}
		e.SetRanks([]RankProgress{at(3, 2), at(2, 2), at(3, 2), at(3, 2)})
		return e
	}
	require.NoError(t, good().check())
	require.Equal(t, "0,2-3", good().Ranks[1].Ranks)
	for name, spoil := range map[string]func(*Evidence){
		"phase":     func(e *Evidence) { e.During = "lunch" },
		"deadline":  func(e *Evidence) { e.Deadline = new(-1.0) },
		"launches":  func(e *Evidence) { e.Iterations = -1 },
		"no ranks":  func(e *Evidence) { e.Ranks = nil },
		"twice":     func(e *Evidence) { e.Ranks[0].Ranks = "3" },
		"miscount":  func(e *Evidence) { e.Ranks[1].Count = 2 },
		"state":     func(e *Evidence) { e.Ranks[0].State = "asleep" },
		"started":   func(e *Evidence) { e.Ranks[0].Started = new(6) },
		"enqueued":  func(e *Evidence) { e.Ranks[0].Enqueued = -1 },
		"backwards": func(e *Evidence) { e.Ranks[1].Ranks = "3-2,0" },
		"order":     func(e *Evidence) { e.Ranks[1].Ranks = "2-3,0" },
		"touching":  func(e *Evidence) { e.Ranks[1].Ranks = "0,2,3" },
		"sign":      func(e *Evidence) { e.Ranks[1].Ranks = "+0,2-3" },
		"words":     func(e *Evidence) { e.Ranks[1].Ranks = "all" },
		"none":      func(e *Evidence) { e.Ranks[1].Ranks = "" },
		"huge":      func(e *Evidence) { e.Ranks[1].Ranks = fmt.Sprintf("0,2-%d", 1<<40) },
	} {
		e := good()
		spoil(e)
		require.Error(t, e.check(), name)
	}
}

// Evidence is of the pass that failed, in the journal and in the record of it.
func TestEvidenceStaysWithItsCase(t *testing.T) {
	e := &Evidence{During: DuringIsolated, Iterations: 5}
	e.SetRanks([]RankProgress{at(3, 2), at(2, 2)})
	failed := Part{Key: "k", Status: Failed, Reason: "hung", Evidence: e}
	require.Equal(t, e, Assemble(Result{Case: Case{Key: "k"}, Ranks: 2}, []Part{failed}).Evidence)
	line, err := failed.Line("")
	require.NoError(t, err)
	var back Part
	require.NoError(t, json.Unmarshal(line, &back))
	require.Equal(t, failed, back)
}
