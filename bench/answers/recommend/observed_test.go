package recommend

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/job/trainer"
)

// plain is a job of k equal tensors on a curve of α + S/B, whose step has a closed form where
// every tensor is a bucket, or a number of them are that divides k.
const (
	plainTensors = 64
	plainBytes   = 16 << 20 // of a tensor
	plainAlpha   = 1e-3
	plainRate    = 10e9
)

func plainJob(t *testing.T, backward float64) Question {
	t.Helper()
	q := Question{
		Curves:  []Curve{curve(t, "all_reduce", 8, doubling(1<<20, 1<<31), func(s float64) float64 { return plainAlpha + s/plainRate })},
		Trainer: "ddp", Backward: backward, Forward: backward / 2, Run: trainer.Run{DP: 8, GradDtype: "bfloat16", ParamDtype: "bfloat16"}, Seed: 1,
	}
	for range plainTensors {
		q.Params = append(q.Params, trainer.Param{Name: "w", Elements: plainBytes / 2})
	}
	return q
}

// plainStep is the step with so many tensors a bucket: the end of the network's queue, or of the computation
// with the last bucket behind it. slow multiplies messages, serial sends them after the computation before, each takes
// each more.
func plainStep(backward, slow, each, rest float64, tensors int, serial bool) float64 {
	k := float64(plainTensors / tensors)
	c := slow*(plainAlpha+plainBytes*float64(tensors)/plainRate) + each
	if serial {
		return 1.5*backward + k*c + rest
	}
	return backward/2 + max(backward/k+k*c, backward+c) + rest
}

var plainSettings = []int{1, 4, 8, 32, 64}

func observedJob(q Question, settings []int, step func(tensors int) float64) Question {
	q.Observed = nil
	for _, n := range settings {
		q.Observed = append(q.Observed, Observation{int64(n) * plainBytes / 2, []float64{step(n)}})
	}
	return q
}

func TestObservedStepsTellComputationAndMessages(t *testing.T) {
	q := observedJob(plainJob(t, 0.100), plainSettings, func(n int) float64 { return plainStep(0.120, 1.3, 0, 0.005, n, false) })
	f := ask(t, q).Observed
	require.True(t, f.Fits)
	require.Greater(t, f.Chance, 0.5)
	for _, x := range []struct {
		of   Estimate
		true float64
	}{{f.Compute, 1.2}, {f.Network, 1.3}} {
		require.True(t, x.of.Inferred)
		require.InDelta(t, x.true, x.of.Value, 0.08)
		require.LessOrEqual(t, x.of.Lo, x.true)
		require.GreaterOrEqual(t, x.of.Hi, x.true)
	}
	for _, o := range f.Settings {
		require.InDelta(t, 0, o.Off(), 0.02)
		require.Greater(t, math.Abs(o.Median / *o.Predicted - 1), 0.05)
	}
}

// The more settings, the closer are steps that were not observed, and the range of answers does not widen.
func TestTwoSettingsHalveTheErrorOfTheOthers(t *testing.T) {
	truth := func(n int) float64 { return plainStep(0.080, 1.4, 0, 0.01, n, false) }
	q := observedJob(plainJob(t, 0.100), []int{1, 32}, truth)
	f := ask(t, q).Observed
	before, after := 0.0, 0.0
	for _, o := range ask(t, observedJob(q, plainSettings, truth)).Observed.Settings {
		before += math.Abs(o.Median / *o.Predicted - 1)
		for _, p := range f.Curve {
			if p.Elements == o.Elements {
				after += math.Abs(o.Median/p.Step - 1)
			}
		}
	}
	require.Less(t, after, before/2)
}

// One setting tells of the computation, and of nothing else.
func TestOneSettingTellsOfComputation(t *testing.T) {
	f := ask(t, observedJob(plainJob(t, 0.400), []int{8}, func(n int) float64 { return plainStep(0.480, 1, 0, 0, n, false) })).Observed
	require.True(t, f.Compute.Inferred)
	require.InDelta(t, 1.2, f.Compute.Value, 0.1)
	for _, other := range []Estimate{f.Contention, f.Network, f.Rest} {
		require.False(t, other.Inferred)
	}
}

// Without a time of a microbatch the steps give it.
func TestObservedStepsStandForTheTimeOfAMicrobatch(t *testing.T) {
	q := observedJob(plainJob(t, 0), plainSettings, func(n int) float64 { return plainStep(0.250, 1, 0, 0, n, false) })
	a := ask(t, q)
	require.InEpsilon(t, 0.250, *a.Backward, 0.15)
	require.Nil(t, a.Observed.Settings[0].Predicted)
	for _, r := range a.Confidence.Reasons {
		require.NotEqual(t, "compute_unknown", r.Code)
	}
}

// Two settings name what would explain a job that the model does not fit; three repair the answer, which is then as good as
// the best.
func TestAJobThatDoesNotFitIsRepairedByThreeSettings(t *testing.T) {
	for _, x := range []struct {
		cause string
		step  func(n int) float64
	}{
		{"no_overlap", func(n int) float64 { return plainStep(0.100, 1, 0, 0, n, true) }},
		{"per_bucket", func(n int) float64 { return plainStep(0.100, 1, 0.004, 0, n, false) }},
		{"slow_network", func(n int) float64 { return plainStep(0.100, 3, 0, 0, n, false) }},
		{"in_flight", func(n int) float64 {
			const shared = 0.9 * plainAlpha
			return plainStep(0.100, 1, -shared, shared, n, false)
		}},
		{"other", func(n int) float64 { return plainStep(0.100, 1, 0, float64(n%32)*0.01, n, false) }},
	} {
		codes := func(f *Fit) (all []string) {
			for _, c := range f.Why {
				all = append(all, c.Code)
			}
			return all
		}
		a, err := Ask(observedJob(plainJob(t, 0.100), plainSettings, x.step))
		require.NoError(t, err)
		require.Equal(t, []string{x.cause}, codes(a.Observed))
		if x.cause == "other" {
			require.Equal(t, unfit, a.Refusal.Code)
			require.False(t, a.Observed.Fits)
			continue
		}
		require.Equal(t, Recommended, a.Verdict, x.cause)
		require.NotEqual(t, High, a.Confidence.Level)
		best := math.Inf(1)
		for n := 1; n <= plainTensors; n *= 2 {
			best = min(best, x.step(n))
		}
		require.LessOrEqual(t, x.step(int(a.Elements*2/plainBytes)), 1.02*best, "%s: %d", x.cause, a.Elements)
		a, err = Ask(observedJob(plainJob(t, 0.100), []int{1, 64}, x.step))
		require.NoError(t, err)
		if !a.Observed.Fits {
			require.Equal(t, unfit, a.Refusal.Code, x.cause)
			require.Contains(t, codes(a.Observed), x.cause)
		}
	}
}

func TestStepsThatGetLongerAreCalledSo(t *testing.T) {
	q := plainJob(t, 0.100)
	for _, n := range plainSettings {
		o := Observation{Elements: int64(n) * plainBytes / 2}
		for i := range 20 {
			o.Seconds = append(o.Seconds, plainStep(0.100, 1, 0, 0.001*float64(i), n, false))
		}
		q.Observed = append(q.Observed, o)
	}
	a, err := Ask(q)
	require.NoError(t, err)
	require.Equal(t, unfit, a.Refusal.Code)
	require.Equal(t, "growing", a.Observed.Why[0].Code)
}

// Quantiles of χ², from tables.
func TestChanceIsThatOfChiSquared(t *testing.T) {
	for n, x := range map[int]float64{1: 3.8415, 2: 5.9915, 3: 7.8147, 4: 9.4877, 5: 11.0705, 10: 18.3070} {
		require.InDelta(t, 0.05, exceeds(x, n), 1e-5, n)
	}
	require.InDelta(t, 1, exceeds(0, 7), 1e-12)
}

// Computation beside a message is slowed, and no other: by hand.
func TestContentionSlowsComputationBesideMessages(t *testing.T) {
	p := NewPass([]trainer.Message{{Launch: 1, Wait: trainer.Never}}, []float64{1, 0.5, 0}, Backward)
	for cost, want := range map[float64]float64{
		1:   5 + 1 + (5 - 2.0/3), // beside the message 2/3 of a second are computed
		6:   5 + 6 + (5 - 4),
		100: 5 + 100,
	} {
		require.InDelta(t, want, p.End(Times{Compute: 10, Slow: 1, Contention: 0.5}, []float64{cost}), 1e-9)
	}
	require.Equal(t, 10.0, p.End(Times{Compute: 10, Slow: 1}, []float64{1}))
}

// What was measured of contention stands in every scenario, in the place of what is assumed.
func TestMeasuredContentionIsInEveryScenario(t *testing.T) {
	for _, estimated := range []bool{false, true} {
		all := Question{Slower: 1.1, Contention: 0.2}.grid(estimated)
		require.Len(t, all, 3)
		for i, s := range Grid(true, estimated) {
			require.Equal(t, Scenario{Network: 1.1, Compute: s.Compute, Contention: 0.2}, all[i])
		}
	}
	require.Equal(t, Grid(false, false), Question{}.grid(false))
}
