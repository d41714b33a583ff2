package recommend

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/stat"
	"zbench/bench/base/unit"
)

// drawnCurve is T = 0.2 ms + S / 300 GB/s from 64 KiB to 16 GiB, each point with an error.
func drawnCurve(rng *rand.Rand, sigma float64, runs int, shape func(s float64) float64) Curve {
	c := Curve{Runs: runs}
	for s := 64 * unit.KiB; s <= 16*unit.GiB; s *= 2 {
		var medians []float64
		for range runs {
			medians = append(medians, (2e-4+float64(s)/300e9)*shape(float64(s))*math.Exp(sigma*rng.NormFloat64()))
		}
		p := Point{Bytes: s, Seconds: stat.Quantile(medians, 0.5), N: 1}
		p.Disagree = (slices.Max(medians) - slices.Min(medians)) / p.Seconds
		c.Points = append(c.Points, p)
	}
	return c
}

func smooth(float64) float64 { return 1 }

// The scatter is the error that was drawn, from one run and from two, whose median has less.
func TestScatterFindsTheNoise(t *testing.T) {
	for _, sigma := range []float64{0.02, 0.05, 0.1} {
		for runs, of := range map[int]float64{1: 1, 2: 1 / math.Sqrt2} {
			rng := rand.New(rand.NewPCG(1, uint64(runs)))
			var found []float64
			for range 200 {
				c := drawnCurve(rng, sigma, runs, smooth)
				s, ok := c.Scatter()
				require.True(t, ok)
				found = append(found, s.Sigma)
			}
			// The smaller of two estimates is a little below both.
			require.InEpsilon(t, sigma*of, stat.Quantile(found, 0.5), 0.25, "%d runs, %g", runs, sigma)
			require.Less(t, stat.Quantile(found, 0.95), 2*sigma*of)
		}
	}
}

// A curve without noise has next to none, even with a step and a dip in it; and where two
// runs repeat a ragged curve, that is how the library is.
func TestScatterOfWhatIsNoNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	dip := func(s float64) float64 {
		if 64e6 < s && s < 256e6 {
			return 1.5
		}
		return 1
	}
	for name, shape := range map[string]func(s float64) float64{"smooth": smooth, "dip": dip} {
		c := drawnCurve(rng, 0, 1, shape)
		s, ok := c.Scatter()
		require.True(t, ok)
		require.Less(t, s.Sigma, 0.01, name)
	}
	ragged := func(s float64) float64 { return 1 + 0.3*math.Sin(5*math.Log2(s)) }
	once, twice := drawnCurve(rng, 0.002, 1, ragged), drawnCurve(rng, 0.002, 2, ragged)
	s, _ := once.Scatter()
	require.Greater(t, s.Sigma, 0.05)
	s, _ = twice.Scatter()
	require.Less(t, s.Sigma, 0.005)
	once.Points = once.Points[:6]
	_, ok := once.Scatter()
	require.False(t, ok, "three residuals tell nothing")
}

// Times that no samples are known of are resampled by their scatter.
func TestResampledByTheScatter(t *testing.T) {
	c := drawnCurve(rand.New(rand.NewPCG(3, 1)), 0.05, 1, smooth)
	s, _ := c.Scatter()
	r := c.Resampler()
	require.Equal(t, FromScatter, r.From)
	rng := rand.New(rand.NewPCG(1, 2))
	var off []float64
	for range 1000 {
		for i, x := range r.Draw(rng) {
			off = append(off, math.Abs(math.Log(x/c.Points[i].Seconds)))
		}
	}
	require.InEpsilon(t, s.Sigma, stat.Quantile(off, 0.5)/madNormal, 0.2)
}

// Samples that agree with each other do not make a point surer than its neighbours do.
func TestSamplesOfOneRunDoNotShowTheScatter(t *testing.T) {
	c := drawnCurve(rand.New(rand.NewPCG(3, 1)), 0.05, 1, smooth)
	for i := range c.Points {
		p := &c.Points[i]
		lo, hi := p.Seconds*0.999, p.Seconds*1.001
		p.Lo, p.Hi, p.N = &lo, &hi, 30
	}
	require.Equal(t, FromScatter, c.Resampler().From)
	still := drawnCurve(rand.New(rand.NewPCG(3, 1)), 0, 1, smooth)
	for i := range still.Points {
		p := &still.Points[i]
		lo, hi := p.Seconds*0.95, p.Seconds*1.05
		p.Lo, p.Hi, p.N = &lo, &hi, 30
	}
	require.Equal(t, FromInterval, still.Resampler().From, "the samples vary by more")
}

// Dips of one or two sizes are filled; longer ones, steps and the sweep's end stay.
func TestFilled(t *testing.T) {
	between := func(lo, hi float64) func(s float64) float64 {
		return func(s float64) float64 {
			if lo <= s && s <= hi {
				return 1.5
			}
			return 1
		}
	}
	const mib = float64(unit.MiB)
	for name, x := range map[string]struct {
		shape func(s float64) float64
		dips  []int64
	}{
		"none":          {smooth, nil},
		"one size":      {between(64*mib, 64*mib), []int64{64 * unit.MiB}},
		"two sizes":     {between(64*mib, 128*mib), []int64{64 * unit.MiB, 128 * unit.MiB}},
		"four sizes":    {between(64*mib, 512*mib), nil},
		"a step":        {between(64*mib, math.Inf(1)), nil},
		"the last size": {between(16384*mib, math.Inf(1)), nil},
	} {
		c := drawnCurve(rand.New(rand.NewPCG(1, 1)), 0, 1, x.shape)
		flat := drawnCurve(rand.New(rand.NewPCG(1, 1)), 0, 1, smooth)
		filled, dips := c.Model().Filled()
		var sizes []int64
		for _, i := range dips {
			sizes = append(sizes, c.Points[i].Bytes)
			require.InEpsilon(t, flat.Points[i].Seconds, filled.Seconds(c.Points[i].Bytes), 0.15, name)
		}
		require.Equal(t, x.dips, sizes, name)
	}
}
