package rccl_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/plan"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/rccl"
)

// lanesWorld has two nodes of four GPUs; laneCases are an all_reduce of all ranks, one of each node's and one of the
// ranks with the same place on both.
var lanesWorld = spec.World{Nodes: 2, GPUsPerNode: 4, GPUsPerProcess: 1}

func openLanes(t *testing.T, faults ...string) (*rccl.Driver, []plan.Case) {
	t.Helper()
	d, _ := open(t, lanesWorld, fabric.Conditions{Faults: faults, Groups: []int{4}, Strides: []int{4}}, quiet)
	a := axes(t, lanesWorld, "all_reduce")
	a.Sizes, a.InPlace, a.Groups, a.Strides = []int64{64 << 20}, []bool{false}, []int{4}, []int{4}
	cases := a.Cases()
	require.Len(t, cases, 3)
	allocate(t, d, cases)
	return d, cases
}

// sent is a step that computes for a millisecond, launches what ops say, and waits for all messages.
func sent(cases []plan.Case, sends []int, ops ...plan.StepOp) *plan.Step {
	s := &plan.Step{Cases: cases, Sends: sends, Ops: append([]plan.StepOp{{Do: plan.StepCompute, Seconds: 1e-3}}, ops...)}
	for i := range sends {
		s.Ops = append(s.Ops, plan.StepOp{Do: plan.StepWait, Message: i})
	}
	return s
}

// Messages of a lane follow one another, those of others run beside them, and one that follows another's waits for it
// without computation. A case on the first communicators leaves the others alone, one on others ends the steps.
func TestLanesRunBesideOneAnother(t *testing.T) {
	d, cases := openLanes(t)
	launch := func(k int) plan.StepOp { return plan.StepOp{Do: plan.StepLaunch, Message: k} }
	var alone []float64
	for k := range cases {
		alone = append(alone, staged(t, d, k, sent(cases[k:k+1], []int{0}, launch(0)))-1e-3)
		require.Greater(t, alone[k], 1e-4)
	}
	all, node, apart := alone[0], alone[1], alone[2]
	require.Greater(t, apart, 1.2*node)
	follow := plan.StepOp{Do: plan.StepFollow, Message: 0, By: 1}
	for name, x := range map[string]struct {
		want  float64
		sends []int
		ops   []plan.StepOp
	}{
		"one lane":         {2 * all, []int{0, 0}, []plan.StepOp{launch(0), launch(1)}},
		"beside":           {max(node, apart), []int{1, 2}, []plan.StepOp{launch(0), launch(1)}},
		"three":            {max(2*node, all, apart), []int{1, 2, 0, 1}, []plan.StepOp{launch(0), launch(1), launch(2), launch(3)}},
		"behind":           {node + apart, []int{1, 2}, []plan.StepOp{launch(0), follow, launch(1)}},
		"behind, computes": {max(node+apart, 3*node), []int{1, 2}, []plan.StepOp{launch(0), follow, launch(1), {Do: plan.StepCompute, Seconds: 3 * node}}},
	} {
		require.InDelta(t, x.want, staged(t, d, 5, sent(cases, x.sends, x.ops...))-1e-3, 2e-6, name)
	}
	s := sent(cases, []int{1, 2}, launch(0), launch(1))
	require.NoError(t, d.Stage(t.Context(), 5, s))
	require.InDelta(t, max(node, apart), staged(t, d, 6, s)-1e-3, 2e-6)
	seconds, err := d.Watch(t.Context(), plan.Watch{Setting: 5, Count: 2})
	require.NoError(t, err)
	for i := range lanesWorld.Size() {
		require.InDelta(t, node, seconds[i], 2e-6, "each message has its own time")
		require.InDelta(t, apart, seconds[lanesWorld.Size()+i], 2e-6)
	}
	unwaited := sent(cases, []int{1, 2, 2}, launch(0), launch(1), launch(2))
	unwaited.Ops = unwaited.Ops[:4] // nothing waits for the messages, but the end
	require.NoError(t, d.Stage(t.Context(), 5, unwaited))
	_, err = d.Play(t.Context(), 5, 1)
	require.NoError(t, err)
	seconds, err = d.Play(t.Context(), 6, 1)
	require.NoError(t, err)
	require.InDelta(t, max(node, apart), seconds[0]-1e-3, 2e-6)
	isolated := func(k int) {
		require.NoError(t, d.Begin(cases[k], 0))
		seconds, err := d.Isolated(t.Context(), 3)
		require.NoError(t, err)
		require.InDelta(t, alone[k], seconds[0], 2e-6)
	}
	isolated(0) // the communicators of Allocate are the first still
	_, err = d.Play(t.Context(), 5, 1)
	require.NoError(t, err)
	isolated(2)
	_, err = d.Play(t.Context(), 5, 1)
	require.ErrorContains(t, err, "not staged")
	require.InDelta(t, max(node, apart), staged(t, d, 6, sent(cases, []int{1, 2}, launch(0), launch(1)))-1e-3, 2e-6)
	require.NoError(t, d.Close())
}

// A rank that hangs in a message of one lane ends the step at the deadline, and so does an error that its communicator
// reports; both close.
func TestLanesThatEndEarly(t *testing.T) {
	for fault, timeout := range map[string]bool{"hang": true, "async_error": false} {
		d, cases := openLanes(t, fault+":node=1,gpu=1,bytes=4e6,launch=1")
		s := sent(cases, []int{1, 2}, plan.StepOp{Do: plan.StepLaunch}, plan.StepOp{Do: plan.StepLaunch, Message: 1})
		require.NoError(t, d.Stage(t.Context(), 0, s))
		_, err := d.Play(t.Context(), 0, 4)
		var ended interface{ Timeout() bool }
		require.ErrorAs(t, err, &ended)
		require.Equal(t, timeout, ended.Timeout(), "%s: %v", fault, err)
		_ = d.Close() // aborted: what is left of it is the library's
	}
}
