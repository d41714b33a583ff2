package recommend

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/unit"
)

// A sweep to 64 MiB says little of buckets of hundreds: what their settings cost is marked
// in every place, and so is all where the answer itself is beyond the sweep.
func TestBeyondTheSweep(t *testing.T) {
	q := sure(t, doubling(64*unit.KiB, 256*unit.MiB), affine)
	q.Backward, q.Forward, q.Current = 0.5, 0.25, 2_000_000_000
	a := ask(t, q)
	require.Equal(t, BeyondSweep, a.Current.Unfounded)
	require.Equal(t, BeyondSweep, a.Single.Unfounded)
	require.Equal(t, BeyondSweep, a.Table[len(a.Table)-1].Unfounded)
	require.Empty(t, a.Best.Unfounded)
	require.Empty(t, a.Default.Unfounded)

	q = sure(t, doubling(64*unit.KiB, 16*unit.MiB), affine)
	a = ask(t, q)
	for _, c := range append(a.Table, *a.Best, *a.Least, *a.Default, *a.Single) {
		require.Equal(t, BeyondSweep, c.Unfounded)
	}
	for _, h := range a.WouldHelp {
		require.Nil(t, h.Gain)
	}
	require.NotRegexp(t, `[0-9] % more`, a.WhyNotSmaller+a.WhyNotLarger)
	require.Contains(t, reasons(a), "extrapolated")

	all, err := json.Marshal(ask(t, sure(t, wide(), affine)))
	require.NoError(t, err)
	require.NotContains(t, string(all), "unfounded")
}

// The default's messages are in a dip. Of one run it says nothing; of two it counts, and
// so do four sizes in a row.
func TestDipOfOneRun(t *testing.T) {
	const mib = float64(unit.MiB)
	question := func(runs int, lo, hi float64) Question {
		q := sure(t, wide(), func(s float64) float64 { return dipped(2.5, lo*mib, hi*mib)(s) - 0.9e-3 })
		q.Params = evenly(t, wide(), affine, 0.1).Params
		q.Backward, q.Forward = 0.03, 0.015
		q.Curves[0].Runs = runs
		return q
	}
	once := ask(t, question(1, 24, 60))
	require.Greater(t, once.Default.Step/once.Best.Step, 1.02, "the dip is worth avoiding")
	require.Equal(t, OneDip, once.Default.Unfounded)
	require.Equal(t, Low, reasons(once)["dip"])
	for _, r := range once.Confidence.Reasons {
		if r.Code == "dip" {
			require.Equal(t, "all_reduce of 16 ranks: the answer depends on slow times at 32 MiB, which one run shows", r.Message)
		}
	}
	for _, q := range []Question{question(2, 24, 60), question(1, 10, 200)} {
		a := ask(t, q)
		require.Greater(t, a.Default.Step/a.Best.Step, 1.02)
		require.Empty(t, a.Default.Unfounded)
		require.NotContains(t, reasons(a), "dip")
	}
}

// Above 5 % noise the confidence is low, whatever the samples of one run say.
func TestNoiseOfThePointsLimitsTheConfidence(t *testing.T) {
	low := 0
	const draws = 20
	for seed := range uint64(draws) {
		rng := rand.New(rand.NewPCG(seed, 3))
		a := ask(t, sure(t, wide(), func(s float64) float64 { return affine(s) * math.Exp(0.1*rng.NormFloat64()) }))
		if reasons(a)["scattered"] == Low {
			require.Equal(t, Low, a.Confidence.Level)
			low++
		}
	}
	require.GreaterOrEqual(t, low, draws-1)
	a := ask(t, sure(t, wide(), affine))
	require.NotContains(t, reasons(a), "scattered")
	require.NotContains(t, reasons(a), "unstable")
}

// What is listed as within 1 % stays there by 95 % of the resampled curves together: a
// curve that is less sure lists less.
func TestListedIsBelieved(t *testing.T) {
	width := func(spread float64) float64 {
		q := ddp(allReduce(t, 16, wide()))
		q.Bootstrap, q.Backward, q.Forward = 200, 0.2, 0.1
		for i := range q.Curves[0].Points {
			p := &q.Curves[0].Points[i]
			lo, hi := p.Seconds*(1-spread), p.Seconds*(1+spread)
			p.Lo, p.Hi = &lo, &hi
		}
		a := ask(t, q)
		require.Contains(t, a.Within, *a.Plateau)
		require.True(t, a.Plateau.Holds(a.Elements))
		require.GreaterOrEqual(t, a.Bootstrap.Holds, believed, "%g", spread)
		sum := 0.0
		for _, r := range a.Within {
			sum += math.Log2(float64(r.Hi) / float64(r.Lo))
		}
		return sum
	}
	exact, unsure := width(1e-6), width(0.02)
	require.Greater(t, exact, unsure+0.3)
	require.Positive(t, unsure)
}
