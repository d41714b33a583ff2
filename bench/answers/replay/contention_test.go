package replay

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/plan"
)

// crowded is a Player whose launches take 0.2 ms, and lose a share while messages of 1 ms each run beside them.
type crowded struct {
	plan.Player

	lost  float64
	r     *rand.Rand
	steps map[int]*plan.Step
}

func (c *crowded) Stage(_ context.Context, setting int, s *plan.Step) error {
	c.steps[setting] = s
	return nil
}

func (c *crowded) Play(_ context.Context, setting, n int) (all []float64, _ error) {
	for range n {
		seconds := 0.0
		for _, o := range c.steps[setting].Ops {
			seconds += o.Seconds + 2e-4*float64(o.Launches)
			if o.Do == plan.StepTriad && len(c.steps[setting].Sends) > 0 {
				seconds += c.lost * 1e-3
			}
		}
		all = append(all, seconds*(1+0.001*c.r.NormFloat64()))
	}
	return all, nil
}

func (c *crowded) Watch(_ context.Context, w plan.Watch) (all []float64, _ error) {
	computed := slices.DeleteFunc(slices.Clone(c.steps[w.Setting].Ops), func(o plan.StepOp) bool { return o.Do != plan.StepCompute && o.Do != plan.StepTriad })
	for i := range w.Count {
		seconds := 1e-3
		if w.Computing {
			o := computed[w.First+i]
			seconds = o.Seconds + 2e-4*float64(o.Launches)
			if o.Do == plan.StepTriad && len(c.steps[w.Setting].Sends) > 0 {
				seconds += c.lost * 1e-3
			}
		}
		for range 4 {
			all = append(all, seconds*(1+0.002*c.r.NormFloat64()))
		}
	}
	return all, nil
}

// What is planted lies in the interval as often as it says, is named, and nothing is where nothing was planted.
func TestContentionIsWhatLaunchesLose(t *testing.T) {
	spin := &plan.Step{Sends: []int{0, 0}, Cases: []plan.Case{{Ranks: 4}}, Ops: []plan.StepOp{
		{Do: plan.StepCompute, Seconds: 4.1e-3}, {Do: plan.StepLaunch}, {Do: plan.StepCompute, Seconds: 5.9e-3}, {Do: plan.StepLaunch, Message: 1}, {Do: plan.StepWait, Message: 1},
	}}
	const seeds = 200
	for _, lost := range []float64{0, 0.1} {
		within := 0
		for seed := range seeds {
			p := &crowded{lost: lost, r: rand.New(rand.NewPCG(uint64(seed), 1)), steps: map[int]*plan.Step{}}
			launch, err := Unit(t.Context(), p, 1, plan.StepTriad)
			require.NoError(t, err)
			require.InEpsilon(t, 2e-4, launch, 0.01)
			c, err := TakeContention(t.Context(), p, 1, spin, plan.StepTriad, launch)
			require.NoError(t, err)
			if truth := 2e-3 * lost; c.Lo <= truth && truth <= c.Hi {
				within++
			}
			require.Equal(t, lost > 0, c.Named(0.005), "%g: %+v", lost, c)
			require.InDelta(t, 2e-3, c.Beside, 4e-5)
			require.Equal(t, lost > 0, c.finding(0.005).Text[0] == 'C', c.finding(0.005).Text)
		}
		require.GreaterOrEqual(t, within, seeds*95/100, "98 %% intervals")
	}
}

// The hint is rounded, and none that recommend would refuse.
func TestContentionHint(t *testing.T) {
	for _, x := range []struct {
		lost, factor float64
		hint         string
		lanes        int
	}{{0.1, 1.00049, "--contention 0.111,1", 1}, {0.1, 12, "", 1}, {0.1, 0.4, "", 1}, {0.95, 1, "", 1}, {0.1, 1, "", 2}} {
		c := &Contention{Compute: plan.StepTriad, Alone: 10, With: 10 + x.lost, Beside: 1, Seconds: x.lost, Lo: x.lost, Hi: x.lost, Messages: &Messages{Communicators: x.lanes, Factor: x.factor, Lo: x.factor, Hi: x.factor}}
		if x.hint == "" {
			require.Empty(t, c.finding(0.005).Hint)
		} else {
			require.Regexp(t, x.hint+"$", c.finding(0.005).Hint)
		}
	}
}

// Launches are whole, and their sum follows the seconds.
func TestWorkingFollowsTheSeconds(t *testing.T) {
	s := &plan.Step{Sends: []int{0}, Cases: make([]plan.Case, 1)}
	for range 10 {
		s.Ops = append(s.Ops, plan.StepOp{Do: plan.StepCompute, Seconds: 0.25e-3})
	}
	s.Ops = append(s.Ops, plan.StepOp{Do: plan.StepLaunch})
	w := Working(s, plan.StepGemm, 1e-3)
	total := 0
	for i, o := range w.Ops[:10] {
		total += o.Launches
		require.InDelta(t, 0.25*float64(i+1), total, 0.5)
		require.Zero(t, o.Seconds)
		require.Equal(t, plan.StepGemm, o.Do)
	}
	require.Equal(t, s.Ops[10], w.Ops[10])
	require.Len(t, Alone(w).Ops, 10)
}
