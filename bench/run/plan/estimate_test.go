package plan_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/stat"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
)

// meter is a driver that adds up what it launches. A launch takes a time that
// grows with the size, with noise; one alone costs 5 µs more to align.
type meter struct {
	rng      *rand.Rand
	noise    float64
	c        plan.Case
	launches int
	seconds  float64
}

const meterAlign = 5e-6

func meterCost(c plan.Case) plan.Cost {
	return plan.Cost{Launch: 1e-5 + float64(c.Layout.Bytes)/1e8, Align: meterAlign}
}

func (m *meter) Begin(c plan.Case, _ int) error { m.c = c; return nil }

func (m *meter) Unverifiable(plan.Case) string { return "" }

func (m *meter) Verify(context.Context, plan.Case, int) (plan.Verification, error) {
	m.one(1)
	return plan.Verification{}, nil
}

func (m *meter) one(launches int) float64 {
	s := meterCost(m.c).Launch * (1 + m.noise*m.rng.NormFloat64())
	m.launches, m.seconds = m.launches+launches, m.seconds+s*float64(launches)
	return s
}

func (m *meter) WarmUp(ctx context.Context, n int) ([]float64, error) {
	return m.Burst(ctx, plan.Bursts{Count: 1, Iterations: n})
}

func (m *meter) Burst(_ context.Context, b plan.Bursts) (out []float64, err error) {
	for range b.Count {
		s := m.one(b.Launches())
		out = append(out, s, s)
	}
	return out, nil
}

func (m *meter) Isolated(_ context.Context, n int) (out []float64, err error) {
	for range n {
		s := m.one(1)
		m.launches++
		m.seconds += meterAlign
		out = append(out, s, s)
	}
	return out, nil
}

func (*meter) Held() bool { return true }

func (m *meter) EventFloor() float64 { return 0 }

func meterSweep(t *testing.T) plan.Axes {
	t.Helper()
	a := axes(t, "all_reduce", "all_gather")
	a.World.GPUsPerNode, a.MinBytes, a.MaxBytes, a.Factor = 2, 1<<8, 1<<20, 4
	return a
}

// What a sweep really takes lies between the bounds: near the lower where there
// is no noise, near the upper where there is too much.
func TestSweepsTakeWhatWasEstimated(t *testing.T) {
	rules := map[string]func(*plan.Effort){
		"default":     func(*plan.Effort) {},
		"no time":     func(o *plan.Effort) { o.Burst.MaxTime, o.Isolated.MaxTime = 0.002, 0.002 },
		"fixed":       func(o *plan.Effort) { o.Burst, o.Isolated = stat.Fixed(30), stat.Fixed(90) },
		"always full": func(o *plan.Effort) { o.Burst.Precision, o.Isolated.Precision = 0, 0 },
	}
	for name, change := range rules {
		for _, noise := range []float64{0, 0.02, 0.3} {
			for _, graph := range []int{0, 3} {
				a, o := meterSweep(t), plan.DefaultOptions()
				a.Calls.GraphLaunches = graph
				change(&o)
				cases := a.Cases()
				cases[3].Skip = "memory"
				e := plan.Predict(cases, o, nil, 2, meterCost)
				require.Equal(t, [4]int{len(cases) - 1, 0, 1, 2 * (len(cases) - 1)}, [4]int{e.Cases, e.Done, e.Skipped, e.Passes})
				m := &meter{rng: rand.New(rand.NewPCG(1, 2)), noise: noise}
				plan.Run(context.Background(), cases, m, o, func(record.Result) {})
				require.GreaterOrEqual(t, m.seconds, 0.97*e.Seconds.Low, "%s, noise %g", name, noise)
				require.LessOrEqual(t, m.seconds, (1.03+noise/6)*e.Seconds.High, "%s, noise %g", name, noise)
				require.GreaterOrEqual(t, float64(m.launches), 0.97*e.Launches.Low, "%s, noise %g", name, noise)
				require.LessOrEqual(t, float64(m.launches), (1.03+noise/10)*e.Launches.High, "%s, noise %g", name, noise)
				if noise == 0 && name == "default" {
					require.InEpsilon(t, e.Seconds.Low, m.seconds, 0.1)
				}
				if noise == 0.3 {
					require.InEpsilon(t, e.Seconds.High, m.seconds, 0.25, name)
				}
			}
		}
	}
}

// Where the rules leave no choice and there is no noise, it is exact.
func TestEstimateOfFixedCounts(t *testing.T) {
	a, o := meterSweep(t), plan.DefaultOptions()
	o.Burst, o.Isolated, o.Checks = stat.Fixed(30), stat.Fixed(90), 3
	cases := a.Cases()[:2]
	e := plan.Predict(cases, o, nil, 2, meterCost)
	m := &meter{rng: rand.New(rand.NewPCG(1, 2))}
	plan.Run(context.Background(), cases, m, o, func(record.Result) {})
	require.Equal(t, plan.Span{Low: float64(m.launches), High: float64(m.launches)}, e.Launches)
	require.InEpsilon(t, m.seconds, e.Seconds.Low, 1e-9)
	require.InEpsilon(t, m.seconds, e.Seconds.High, 1e-9)
	require.Contains(t, e.Text(true), "would spend about ")
}

// Going on counts what is left, and knows from the first pass what a launch takes.
func TestEstimateOfTheRest(t *testing.T) {
	a, o := meterSweep(t), plan.DefaultOptions()
	cases := a.Cases()
	var parts []record.Part
	m := &meter{rng: rand.New(rand.NewPCG(1, 2))}
	_, err := plan.Resume(context.Background(), cases, m, o, plan.Log{Append: keepTo(&parts, len(cases)+2)}, none)
	require.Error(t, err)
	nothing := func(plan.Case) plan.Cost { return plan.Cost{} }
	e := plan.Predict(cases, o, parts, 8, nothing)
	require.Equal(t, 2, e.Done)
	require.Equal(t, len(cases)-2, e.Cases)
	require.Equal(t, e.Cases, e.Passes)
	require.Zero(t, e.Unknown, "the first pass has told")
	took := m.seconds
	_, err = plan.Resume(context.Background(), cases, m, o, plan.Log{Parts: parts}, none)
	require.NoError(t, err)
	require.GreaterOrEqual(t, m.seconds-took, 0.97*e.Seconds.Low)
	require.LessOrEqual(t, m.seconds-took, 1.03*e.Seconds.High+float64(m.launches)*meterAlign)
	require.InDelta(t, e.Seconds.High*8/3600, e.GPUHours().High, 1e-12)
	require.Contains(t, e.Text(false), "2 done before: ")
}

// On hardware nothing is known: the limit of time is the bound, and it is said
// from where on it is none.
// The line of an estimate is read back, to three digits.
func TestReadSpent(t *testing.T) {
	for _, seconds := range []plan.Span{{Low: 40, High: 70}, {Low: 1500, High: 1500}, {Low: 0, High: 9000}, {Low: 1e-3, High: 2e5}} {
		for _, ranks := range []int{1, 1024} {
			e := plan.Estimate{Seconds: seconds, Ranks: ranks}
			for _, simulated := range []bool{false, true} {
				got, hours, ok := plan.ReadSpent(e.Spent(simulated))
				require.True(t, ok, e.Spent(simulated))
				require.InDelta(t, seconds.Low, got.Low, 0.005*seconds.Low)
				require.InDelta(t, seconds.High, got.High, 0.005*seconds.High)
				require.InDelta(t, e.GPUHours().High, hours.High, 0.005*hours.High)
			}
		}
	}
	for _, line := range []string{"", "12 cases to run", plan.Estimate{Seconds: plan.Span{Low: 3, High: math.Inf(1)}, Ranks: 8}.Spent(false)} {
		_, _, ok := plan.ReadSpent(line)
		require.False(t, ok, line)
	}
}

func TestEstimateWithoutAModel(t *testing.T) {
	o := plan.DefaultOptions()
	cases := meterSweep(t).Cases()
	nothing := func(plan.Case) plan.Cost { return plan.Cost{} }
	e := plan.Predict(cases, o, nil, 1024, nothing)
	require.Equal(t, len(cases), e.Unknown)
	require.InDelta(t, float64(len(cases))*0.8, e.Seconds.High, 1e-9)
	require.Zero(t, e.Seconds.Low)
	require.Equal(t, "14 cases to run: 28 passes, 3.85 k to about 3.08 M launches per rank.\n"+
		"It takes at most about 11.2 s of measured time, at most about 3.19 GPU-hours on 1024 GPUs.\n"+
		"The launch time is unknown: the sweep takes longer if a launch takes over 1.67 ms.\n", e.Text(false))
	for i := range cases {
		cases[i].Graph = 10
	}
	require.InDelta(t, 0.2/6/20/10, plan.Predict(cases, o, nil, 1, nothing).Slow, 1e-12)
	o.Burst.MaxTime, o.Isolated.MaxTime = 0, 0
	e = plan.Predict(cases, o, nil, 1, nothing)
	require.True(t, math.IsInf(e.Seconds.High, 1))
	require.Contains(t, e.Text(true), "SIMULATED: a real cluster would spend at least 0 ")
	require.NotContains(t, e.Text(true), "more where")
}
