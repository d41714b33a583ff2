package plan_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
)

// plainly is an error that is its text.
type plainly string

func (e plainly) Error() string { return string(e) }

// stuckError is an error with evidence, as a driver's.
type stuckError struct {
	error
	evidence *record.Evidence
}

func (e stuckError) Evidence() *record.Evidence { return e.evidence }
func (e stuckError) Error() string              { return e.error.Error() + "; " + e.evidence.Text() }
func (e stuckError) Timeout() bool              { return e.evidence.Deadline != nil }

// batch is what a batch of launches came to on all ranks of the world.
type batch struct {
	during   string
	launches int
	deadline *float64
	ranks    []record.RankProgress
}

// evidence is that of a process which holds count ranks from the first on.
func (b batch) evidence(first, count int) *record.Evidence {
	e := &record.Evidence{During: b.during, Iterations: b.launches, Deadline: b.deadline}
	e.SetRanksFrom(first, b.ranks[first:first+count])
	return e
}

// hung is how far n ranks get where one does not start launch k of five.
func hung(n, rank, k int) batch {
	b := batch{during: record.DuringWarmUp, launches: 5, deadline: new(180.0)}
	for i := range n {
		p := record.RankProgress{Enqueued: 5, Started: k + 1, Ended: k}
		if i == rank {
			p.Started = k
		}
		b.ranks = append(b.ranks, p)
	}
	return b
}

// led runs one case in a group of processes of two ranks, whose launches come to
// what the batch says; change alters a process before.
func led(t *testing.T, b batch, change func(p *part)) record.Result {
	t.Helper()
	var parts []*part
	for i := range len(b.ranks) / 2 {
		p := &part{number: i, fail: nil}
		p.fail = stuckError{plainly("not finished in time"), b.evidence(2*i, 2)}
		if change != nil {
			change(p)
		}
		parts = append(parts, p)
	}
	a := axes(t, "all_reduce")
	a.World.GPUsPerNode, a.MaxBytes = len(b.ranks), a.MinBytes
	var r record.Result
	inGroup(t, parts, backgrounds(len(parts)), func(ctx context.Context, g *plan.Group) {
		o := options(2, 2)
		o.Warmup = 5
		r = plan.Run(ctx, a.Cases(), g, o, func(record.Result) {})[0]
	})
	require.Contains(t, []record.Status{record.Failed, record.Interrupted}, r.Status)
	require.Equal(t, r.Status == record.Interrupted, r.Lost())
	return r
}

// A hang of any rank at any launch leaves the record the evidence that one process
// with all ranks leaves.
func TestHangInAGroupIsThatOfOneProcess(t *testing.T) {
	for rank := range 6 {
		for k := range 5 {
			b := hung(6, rank, k)
			whole := b.evidence(0, 6)
			r := led(t, b, nil)
			require.Equal(t, whole, r.Evidence)
			require.Equal(t, "all 3 processes: not finished in time; "+whole.Text(), r.Reason)
		}
	}
}

// So it is with any progress, from an asynchronous error too.
func TestAnyEvidenceOfAGroup(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := batch{during: record.DuringIsolated, launches: 4}
		if rapid.Bool().Draw(rt, "deadline") {
			b.deadline = new(180.0)
		}
		for range 2 * rapid.IntRange(1, 4).Draw(rt, "processes") {
			r := record.RankProgress{Enqueued: 4, Ended: rapid.IntRange(0, 4).Draw(rt, "ended")}
			r.Started, r.Finished = min(4, r.Ended+rapid.IntRange(0, 1).Draw(rt, "started")), r.Ended == 4
			r.Error = rapid.SampledFrom([]string{"", "remote process exited"}).Draw(rt, "error")
			b.ranks = append(b.ranks, r)
		}
		require.Equal(rt, b.evidence(0, len(b.ranks)), led(t, b, nil).Evidence)
	})
}

// A process that is lost is not waited for: its ranks are lost, those of the others
// stand where they waited.
func TestLostProcessInAGroup(t *testing.T) {
	for lost := 1; lost < 3; lost++ {
		b := hung(6, -1, 2)
		r := led(t, b, func(p *part) {
			if p.number == lost {
				p.leaves = true
			}
		})
		b.ranks[2*lost], b.ranks[2*lost+1] = record.RankProgress{Lost: true}, record.RankProgress{Lost: true}
		whole := b.evidence(0, 6)
		require.Equal(t, whole, r.Evidence)
		require.Equal(t, record.LostContact, r.Evidence.Ranks[0].State)
		require.True(t, r.Lost())
		require.Equal(t, fmt.Sprintf("%sprocess %d: left; %s", record.LostProcess, lost, whole.Text()), r.Reason, "what the others waited for")
	}
}

// A process that fails of itself is told apart from those that wait for it, and one
// that ended its launches from both.
func TestProcessesThatDiffer(t *testing.T) {
	b := hung(8, -1, 2)
	r := led(t, b, func(p *part) {
		switch p.number {
		case 1:
			p.fail = plainly("link down")
		case 3:
			p.fail = nil
		}
	})
	for _, i := range []int{2, 3} {
		b.ranks[i] = record.RankProgress{Failed: true, Error: "link down"}
	}
	for _, i := range []int{6, 7} {
		b.ranks[i] = record.RankProgress{Enqueued: 5, Started: 5, Ended: 5, Finished: true}
	}
	require.Equal(t, b.evidence(0, 8), r.Evidence)
	require.Contains(t, r.Reason, "process 1: link down; processes 0, 2: not finished in time; in launch 3 of 5 of the warm-up: ranks 2–3 failed (link down); ranks 0–1, 4–5 not finished; ranks 6–7 finished; the other ranks wait for those that failed")
}

// One communicator's asynchronous error ends one wait at once and others at the
// deadline: the record has both.
func TestAsyncErrorOfOneProcess(t *testing.T) {
	b := hung(4, -1, 3)
	b.ranks[2].Error = "remote process exited"
	r := led(t, b, func(p *part) {
		if p.number == 1 {
			e := b.evidence(2, 2)
			e.Deadline = nil
			p.fail = stuckError{plainly("asynchronous error on rank 2"), e}
		}
	})
	require.Equal(t, b.evidence(0, 4), r.Evidence)
	require.Contains(t, r.Reason, "process 1: asynchronous error on rank 2; process 0: not finished in time; in launch 4 of 5")
}

// Evidence that cannot be of a process's ranks is not taken, and it is said where
// that came from.
func TestEvidenceOfOtherRanksInAGroup(t *testing.T) {
	for name, spoil := range map[string]func(b batch) *record.Evidence{
		"evidence of ranks 0-1; the process drives ranks 2 to 3": func(b batch) *record.Evidence { return b.evidence(0, 2) },
		"evidence of 9 launches (warm_up); another process has 5 (warm_up)": func(b batch) *record.Evidence {
			e := b.evidence(2, 2)
			e.Iterations = 9
			return e
		},
		`evidence during "lunch", 5 launches`: func(b batch) *record.Evidence {
			e := b.evidence(2, 2)
			e.During = "lunch"
			return e
		},
	} {
		b := hung(6, 5, 1)
		r := led(t, b, func(p *part) {
			if p.number == 1 {
				p.fail = stuckError{plainly("not finished in time"), spoil(b)}
			}
		})
		states := map[record.RankState]record.RankEvidence{}
		for _, e := range r.Evidence.Ranks {
			states[e.State] = e
		}
		require.Equal(t, "2-3", states[record.RankFailed].Ranks)
		require.Contains(t, states[record.RankFailed].Error, name)
		require.Equal(t, "5", states[record.NotStarted].Ranks)
	}
}

// Ranks that take no part in a case are not in its evidence, and a process that
// holds none of the others is not waited for.
func TestEvidenceOfTheFirstNodes(t *testing.T) {
	parts := three()
	b := hung(4, 2, 1)
	parts[0].fail = stuckError{plainly("late"), b.evidence(0, 2)}
	parts[1].fail = stuckError{plainly("late"), b.evidence(2, 2)}
	parts[2].idle = true
	a := axes(t, "all_reduce")
	a.World, a.MaxBytes, a.Scales = spec.World{Nodes: 3, GPUsPerNode: 2, GPUsPerProcess: 2}, a.MinBytes, []int{2}
	inGroup(t, parts, backgrounds(3), func(ctx context.Context, g *plan.Group) {
		o := options(2, 2)
		o.Warmup = 5
		r := plan.Run(ctx, a.Cases()[1:], g, o, func(record.Result) {})[0]
		require.Equal(t, b.evidence(0, 4), r.Evidence)
	})
}

// A process that is lost in a batch which the others ended is named; one that is
// lost in an order without launches leaves no evidence.
func TestLostWithoutAHang(t *testing.T) {
	parts := three()[:2]
	parts[1].leaves = true
	inGroup(t, parts, backgrounds(2), func(ctx context.Context, g *plan.Group) {
		_, err := g.Burst(ctx, plan.Bursts{Count: 3, Iterations: 20})
		var failed *plan.GroupError
		require.ErrorAs(t, err, &failed)
		require.Equal(t, record.DuringBurst, failed.Evidence().During)
		require.Equal(t, 20, failed.Evidence().Iterations)
		require.EqualError(t, err, "process 1: left; after the 20 launches of a burst: ranks 2–3 lost contact; ranks 0–1 finished; the other ranks wait for those that failed or are lost: check their processes, GPUs and hosts; culprit: ranks 2–3")
		_, err = g.Budget()
		require.EqualError(t, err, "process 1: left")
	})
}

// still are followers of which some stood still.
type still struct {
	plan.Followers
	who string
}

func (s still) Stood() string { return s.who }

// A deadline that passes while a process stands still tells nothing of the case: it is
// interrupted. A failure of a process itself stays one.
func TestDeadlineDuringAStandstill(t *testing.T) {
	for _, c := range []struct {
		who    string
		fails  error
		status record.Status
		says   string
	}{
		{"process 1 stood still for up to 4 s", nil, record.Interrupted, record.StoodStill + "process 1 stood still for up to 4 s; all 3 processes: not finished in time; in launch 3 of 5"},
		{"", nil, record.Failed, "all 3 processes: not finished in time"},
		{"process 1 stood still for up to 4 s", plainly("link down"), record.Failed, "process 1 stood still for up to 4 s; process 2: link down"},
	} {
		parts := three()
		b := hung(6, 4, 2)
		for i, p := range parts {
			p.budget, p.fail = 1<<30, stuckError{plainly("not finished in time"), b.evidence(2*i, 2)}
		}
		if c.fails != nil {
			parts[2].fail = c.fails
		}
		a := axes(t, "all_reduce")
		a.World.GPUsPerNode, a.MaxBytes = 6, a.MinBytes
		inGroupOver(t, parts, backgrounds(3), func(f plan.Followers) plan.Followers { return still{f, c.who} }, func(ctx context.Context, g *plan.Group) {
			o := options(2, 2)
			o.Warmup = 5
			r := plan.Run(ctx, a.Cases(), g, o, func(record.Result) {})[0]
			require.Equal(t, c.status, r.Status, r.Reason)
			require.Contains(t, r.Reason, c.says)
			require.Equal(t, c.status == record.Interrupted, r.Lost())
		})
	}
}
