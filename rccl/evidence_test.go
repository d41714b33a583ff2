package rccl_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/stat"
	"zbench/bench/hardware/collective"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/internal/native"
)

// hungWorld is two nodes of four GPUs.
var hungWorld = spec.World{Nodes: 2, GPUsPerNode: 4, GPUsPerProcess: 1}

// hungRun runs one case of each size, 64 to 512 KiB, with faults.
func hungRun(t *testing.T, coll string, o plan.Effort, faults ...string) []record.Result {
	t.Helper()
	d, _ := open(t, hungWorld, fabric.Conditions{Faults: faults}, quiet)
	a := axes(t, hungWorld, coll)
	a.MinBytes, a.MaxBytes, a.InPlace = 1<<16, 1<<19, []bool{false}
	results := run(t, d, a.Cases(), o)
	_ = d.Close()
	return results
}

// states are the ranks of the evidence by state; all of the world must be there.
func states(t *testing.T, e *record.Evidence) map[record.RankState]string {
	t.Helper()
	require.NotNil(t, e)
	out, all := map[record.RankState]string{}, 0
	for _, r := range e.Ranks {
		if out[r.State] != "" {
			out[r.State] += " "
		}
		out[r.State] += r.Ranks
		all += r.Count
	}
	require.Equal(t, hungWorld.Size(), all)
	return out
}

// A hang ends at the deadline of the virtual clock and names the launch and the
// rank, whichever they are; what was measured before is kept, what comes after
// is skipped.
func TestHangNamesTheRankAndTheLaunch(t *testing.T) {
	for _, x := range []struct{ node, gpu, launch int }{{0, 0, 0}, {0, 3, 1}, {1, 1, 3}, {1, 3, 4}} {
		rank := x.node*4 + x.gpu
		fault := fmt.Sprintf("hang:node=%d,gpu=%d,bytes=2.5e5,launch=%d", x.node, x.gpu, x.launch)
		results := hungRun(t, "all_reduce", plan.DefaultOptions(), fault)
		r := results[2]
		require.Equal(t, record.Failed, r.Status, "256 KiB is the first of at least 2.5e5 bytes")
		require.Contains(t, r.Reason, "not finished at the deadline of 30 s", "smaller sizes have connected the ranks")
		require.Contains(t, r.Reason, fmt.Sprintf("in launch %d of 5 of the warm-up: rank %d not started;", x.launch+1, rank))
		e := r.Evidence
		require.Equal(t, fmt.Sprint(rank), states(t, e)[record.NotStarted])
		require.Equal(t, record.DuringWarmUp, e.During)
		require.Equal(t, 30.0, *e.Deadline)
		for _, group := range e.Ranks {
			started := x.launch + 1
			if group.State == record.NotStarted {
				started = x.launch
			}
			require.Equal(t, []int{5, started, x.launch}, []int{group.Enqueued, *group.Started, *group.Ended})
		}
		require.Equal(t, record.Skipped, results[3].Status)
		require.NotNil(t, results[0].Burst)
		require.Nil(t, results[0].Evidence)
	}
}

// An asynchronous error: the rank whose communicator reports it is named, wherever it is.
func TestAsyncErrorNamesItsRank(t *testing.T) {
	for _, at := range []struct{ node, gpu, launch int }{{0, 0, 3}, {1, 1, 3}, {1, 3, 0}, {0, 2, 30}} {
		rank := 4*at.node + at.gpu
		o := plan.DefaultOptions()
		results := hungRun(t, "all_reduce", o, fmt.Sprintf("async_error:node=%d,gpu=%d,bytes=2.5e5,launch=%d", at.node, at.gpu, at.launch))
		r := results[2]
		require.Equal(t, record.Failed, r.Status)
		require.Contains(t, r.Reason, fmt.Sprintf("asynchronous error on rank %d: asynchronous error on device %d: remote process exited", rank, rank))
		require.Contains(t, r.Reason, fmt.Sprintf("culprit: rank %d", rank))
		e := r.Evidence
		require.Equal(t, fmt.Sprint(rank), e.Suspects)
		require.True(t, e.Certain)
		require.Nil(t, e.Deadline)
		require.Equal(t, fmt.Sprint(rank), e.Ranks[0].Ranks)
		require.Contains(t, e.Ranks[0].Error, "remote process exited")
		require.Empty(t, e.Ranks[1].Error)
		require.Equal(t, record.Skipped, results[3].Status)
	}
}

// Without the fault there is no evidence, because there is nothing to show.
func TestNoHangNoEvidence(t *testing.T) {
	for _, r := range hungRun(t, "all_reduce", plan.DefaultOptions()) {
		require.Equal(t, record.OK, r.Status)
		require.Nil(t, r.Evidence)
	}
}

// The evidence knows what was run: the launch of a verification and isolated
// launches carry marks, timed bursts do not, and then it says so.
func TestEvidenceByPhase(t *testing.T) {
	o := plan.DefaultOptions()
	o.Warmup = 0
	bursts := o
	bursts.Checks, bursts.Burst, bursts.Isolated = 0, stat.Fixed(4), stat.Fixed(20)
	for _, x := range []struct {
		during string
		launch int
		o      plan.Effort
		says   string
	}{
		{record.DuringVerification, 0, o, "in launch 1 of 1 of the verification: rank 5 not started; ranks 0–4, 6–7 not finished"},
		{record.DuringBurst, 7, bursts, "in a burst of 20 launches: all 8 ranks not finished; it is unknown which ranks have started"},
		// Two bursts of 20 in a pass, then an align and a launch each time: 40 + 7 is
		// the fourth launch.
		{record.DuringIsolated, 47, bursts, "in launch 4 of 10 of isolated timing: rank 5 not started; ranks 0–4, 6–7 not finished"},
	} {
		r := hungRun(t, "all_reduce", x.o, fmt.Sprintf("hang:node=1,gpu=1,bytes=2.5e5,launch=%d", x.launch))[2]
		require.Equal(t, record.Failed, r.Status)
		require.Contains(t, r.Reason, x.says)
		require.Equal(t, x.during, r.Evidence.During)
	}
}

// Every collective's hang names the rank, messages too: there only neighbours
// wait and the others are done.
func TestHangInEveryCollective(t *testing.T) {
	for _, c := range collective.All() {
		r := hungRun(t, c.Name, plan.DefaultOptions(), "hang:node=1,gpu=1,bytes=2e5,launch=2")[2] // messages to oneself do not count
		require.Equal(t, record.Failed, r.Status, c.Name)
		require.Equal(t, "5", states(t, r.Evidence)[record.NotStarted], "%s: %s", c.Name, r.Reason)
		require.Contains(t, r.Reason, "in launch 3 of 5 of the warm-up", c.Name)
	}
}

// In groups that run at once only the group of the rank waits.
func TestHangInGroups(t *testing.T) {
	d, _ := open(t, hungWorld, fabric.Conditions{Faults: []string{"hang:node=1,gpu=1,bytes=2.5e5,launch=2"}, Groups: []int{2}}, quiet)
	a := axes(t, hungWorld, "all_reduce")
	a.MinBytes, a.MaxBytes, a.InPlace, a.Groups = 1<<18, 1<<18, []bool{false}, []int{2}
	r := run(t, d, a.Cases()[1:], plan.DefaultOptions())[0]
	require.Equal(t, map[record.RankState]string{record.NotStarted: "5", record.NotFinished: "4", record.RankFinished: "0-3,6-7"}, states(t, r.Evidence))
	_ = d.Close()
}

// A rank that cannot connect hangs before the first case: the all_reduce that aligns the
// ranks is the first launch on their communicator.
func TestHangBeforeTheFirstCase(t *testing.T) {
	d, _ := open(t, hungWorld, fabric.Conditions{Faults: []string{"hang:node=1,gpu=1,bytes=0,launch=0"}}, quiet)
	err := d.Allocate(t.Context(), plan.Room{Bytes: 1 << 20})
	require.ErrorIs(t, err, native.ErrDeadline)
	require.ErrorContains(t, err, "the first launches on a communicator of 8 ranks: ")
	stuck, ok := errors.AsType[plan.Stuck](err)
	require.True(t, ok)
	require.Equal(t, record.DuringIsolated, stuck.Evidence().During)
	require.Equal(t, map[record.RankState]string{record.NotStarted: "0-7"}, states(t, stuck.Evidence()))
	require.ErrorContains(t, err, "all 8 ranks not started; no rank has started it, so no rank is named")
}

// A caller that stops while ranks connect need not wait for the deadline.
func TestCancelledWhileConnecting(t *testing.T) {
	d, _ := open(t, hungWorld, fabric.Conditions{}, quiet)
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("enough")
	cancel(stop)
	require.ErrorIs(t, d.Allocate(ctx, plan.Room{Bytes: 1 << 20}), stop)
	require.NoError(t, d.Close())
}
