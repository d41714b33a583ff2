package plan_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/plan"
)

func (p *part) JoinBeside(ctx context.Context, c plan.Comms, ids []plan.CommID) error {
	return errors.Join(p.note("beside"), p.Join(ctx, c, ids))
}

func (p *part) Stage(_ context.Context, setting int, s *plan.Step) error {
	return p.note("stage %d of %d", setting, len(s.Sends))
}
func (p *part) Play(context.Context, int, int) ([]float64, error)    { return nil, nil }
func (p *part) Watch(context.Context, plan.Watch) ([]float64, error) { return nil, nil }

func step(cases ...plan.Case) *plan.Step {
	return &plan.Step{Cases: cases, Sends: make([]int, len(cases))}
}

// All processes join the communicators of a step one after the other, each once: in place of those that no step needs,
// else beside them. A case on others ends that.
func TestStepsJoinWhatTheyNeed(t *testing.T) {
	a := axes(t, "all_reduce")
	a.World.GPUsPerNode, a.MaxBytes, a.Groups, a.Strides = 8, a.MinBytes, []int{4}, []int{4}
	cases := a.Cases()
	require.Len(t, cases, 3)
	whole, near, apart := cases[0], cases[1], cases[2]
	var parts []*part
	for i := range 4 {
		parts = append(parts, &part{number: i})
	}
	taken := func() string {
		var out []string
		for _, did := range parts[1].asked {
			if name, _, _ := strings.Cut(did, ":"); did != "ids" {
				out = append(out, name)
			}
		}
		parts[1].asked = nil
		return strings.Join(out, ", ")
	}
	inGroup(t, parts, backgrounds(4), func(ctx context.Context, g *plan.Group) {
		require.NoError(t, g.Allocate(ctx, plan.Room{}))
		taken()
		for _, x := range []struct {
			step *plan.Step
			want string
		}{
			{step(), "stage 0 of 0"},
			{step(near, apart), "join 2 x 4, beside, join 4 x 2, stage 0 of 2"},
			{step(apart, near, apart), "stage 0 of 3"},
			{step(whole), "beside, join 1 x 8, stage 0 of 1"},
		} {
			require.NoError(t, g.Stage(ctx, 0, x.step))
			require.Equal(t, x.want, taken())
		}
		require.NoError(t, g.Begin(near, 0), "it is the first")
		require.NotContains(t, taken(), "join")
		require.NoError(t, g.Begin(whole, 0))
		require.Contains(t, taken(), "join 1 x 8, begin")
		require.NoError(t, g.Stage(ctx, 0, step(near, whole)))
		require.Equal(t, "beside, join 2 x 4, stage 0 of 2", taken())
		parts[2].fail = errors.New("no memory")
		require.ErrorContains(t, g.Stage(ctx, 0, step(apart)), "no memory")
	})
}

// A step is refused that leaves ranks out, or names messages that it has not.
func TestStepsThatNoDriverTakes(t *testing.T) {
	a := axes(t, "all_reduce")
	a.World.GPUsPerNode, a.MaxBytes, a.Strides = 8, a.MinBytes, []int{4}
	cases := a.Cases()
	of := func(ops ...plan.StepOp) *plan.Step {
		s := step(cases...)
		s.Ops = ops
		return s
	}
	launch, wait := plan.StepOp{Do: plan.StepLaunch, Message: 1}, plan.StepOp{Do: plan.StepWait, Message: 1}
	require.NoError(t, of(launch, plan.StepOp{Do: plan.StepFollow, Message: 1}, wait).Check(8))
	require.NoError(t, step().Check(8))
	require.ErrorContains(t, step(cases...).Check(16), "communicators of 8 ranks: all 16")
	skipped := cases[0]
	skipped.Skip = "it is empty"
	require.ErrorContains(t, step(skipped).Check(8), "it is empty")
	for _, op := range []plan.StepOp{
		{Do: plan.StepLaunch, Message: 2},
		{Do: plan.StepWait, Message: -1},
		{Do: plan.StepFollow, Message: 2},
		{Do: plan.StepFollow, By: 2},
		{Do: plan.StepFollow, By: -1},
		{Do: plan.StepCompute, Seconds: -1},
	} {
		require.ErrorContains(t, of(op).Check(8), "is none", "%+v", op)
	}
	for _, ops := range [][]plan.StepOp{
		{wait, launch},
		{launch, launch},
		{{Do: plan.StepFollow, Message: 1}, launch},
		{{Do: plan.StepLaunch}, launch, {Do: plan.StepFollow, Message: 1}},
	} {
		require.ErrorContains(t, of(ops...).Check(8), "out of order", "%+v", ops)
	}
}
