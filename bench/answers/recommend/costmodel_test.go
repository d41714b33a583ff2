package recommend

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func sizesOf(n int) []int64 {
	s := make([]int64, n)
	for i := range s {
		s[i] = 1 << (10 + i)
	}
	return s
}

func timesOf(sizes []int64, f func(s float64) float64) []float64 {
	t := make([]float64, len(sizes))
	for i, s := range sizes {
		t[i] = f(float64(s))
	}
	return t
}

// A power law is what the interpolation assumes, and swept sizes are hit.
func TestInsideIsAPowerLaw(t *testing.T) {
	law := func(s float64) float64 { return 1e-6 * math.Pow(s, 0.6) }
	sizes := []int64{1 << 10, 1 << 13, 1 << 16, 1 << 22}
	m := NewCostModel(sizes, timesOf(sizes, law))
	for s := int64(1 << 10); s <= 1<<22; s += 9973 {
		require.InEpsilon(t, law(float64(s)), m.Seconds(s), 1e-12)
		require.EqualValues(t, within, m.Place(s).zone)
	}
	for i, s := range sizes {
		require.InEpsilon(t, math.Exp(m.logTime[i]), m.Seconds(s), 1e-15)
	}
}

// Above the sweep T continues as α + S/B, exactly so for such a curve; below it is
// the least time; and both say that they were not swept.
func TestOutsideTheSweep(t *testing.T) {
	affine := func(s float64) float64 { return 30e-6 + s/180e9 }
	sizes := sizesOf(18)
	m := NewCostModel(sizes, timesOf(sizes, affine))
	for _, s := range []int64{1<<27 + 1, 1 << 30, 1 << 40} {
		require.InEpsilon(t, affine(float64(s)), m.Seconds(s), 1e-9)
		require.True(t, m.Place(s).Beyond())
	}
	require.InEpsilon(t, affine(1024), m.Seconds(1), 1e-12)
	require.NotEqualValues(t, within, m.Place(1).zone)
	require.False(t, m.Place(1).Beyond())
	require.EqualValues(t, within, m.Place(1<<27).zone)
}

// The tail's slope is a median: one bad last point moves it less than its own
// slope would, and a curve that flattens or falls still costs something.
func TestTailIsRobust(t *testing.T) {
	sizes := sizesOf(18)
	times := timesOf(sizes, func(s float64) float64 { return s / 100e9 })
	last := len(sizes) - 1
	times[last] /= 3 // faster than half the size
	m := NewCostModel(sizes, times)
	require.Greater(t, m.slope, leastSlope*times[last]/float64(sizes[last])*0.999)
	flat := NewCostModel(sizes, timesOf(sizes, func(float64) float64 { return 1e-3 }))
	require.InEpsilon(t, leastSlope*1e-3/float64(sizes[last]), flat.slope, 1e-12)
	require.Greater(t, flat.Seconds(1<<40), flat.Seconds(1<<30))
	two := NewCostModel([]int64{1, 2}, []float64{1, 2})
	require.InEpsilon(t, 8.0, two.Seconds(8), 1e-12)
	one := NewCostModel([]int64{4}, []float64{1})
	require.InEpsilon(t, 2.0, one.Seconds(8), 1e-12)
	require.InEpsilon(t, 1.0, one.Seconds(4), 1e-12)
}

// Rising times give rising answers, between neighbours and beyond.
func TestModelIsMonotoneWhereItsPointsAre(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		sizes, times := sizesOf(12), make([]float64, 12)
		last := 1e-6
		for i := range times {
			last *= 1 + rng.Float64()
			times[i] = last
		}
		m := NewCostModel(sizes, times)
		before := 0.0
		for s := int64(500); s < 1<<24; s = s*17/16 + 1 {
			now := m.Seconds(s)
			require.GreaterOrEqual(t, now, before*(1-1e-12))
			before = now
		}
	}
}

// With is the same places in other times.
func TestPlacesServeOtherTimes(t *testing.T) {
	sizes := sizesOf(10)
	a := NewCostModel(sizes, timesOf(sizes, func(s float64) float64 { return 1e-6 + s/1e9 }))
	double := timesOf(sizes, func(s float64) float64 { return 2 * (1e-6 + s/1e9) })
	b := a.With(double)
	for s := int64(100); s < 1<<22; s = s*3/2 + 1 {
		require.InEpsilon(t, NewCostModel(sizes, double).Seconds(s), b.At(a.Place(s)), 1e-15)
	}
}

func TestFitFindsAlphaAndBandwidth(t *testing.T) {
	c := Curve{}
	for _, s := range sizesOf(20) {
		c.Points = append(c.Points, Point{Bytes: s, Seconds: 40e-6 + float64(s)/200e9})
	}
	alpha, b := c.Fit()
	require.InEpsilon(t, 40e-6, alpha, 1e-9)
	require.InEpsilon(t, 200e9, b, 1e-9)
	for i := range c.Points {
		c.Points[i].Seconds = float64(c.Points[i].Bytes) / 5e9 * (1 - 0.3/float64(i+1))
	}
	alpha, b = c.Fit()
	require.Zero(t, alpha, "less than no latency is none")
	require.Greater(t, b, 5e9)
}

// A ring's curve at another number of ranks: T = steps · (l + S/(n·b)).
func TestRescaleOfARingIsExact(t *testing.T) {
	ring := func(n int) Curve {
		c := Curve{Ranks: n}
		for _, share := range sizesOf(15) {
			c.Points = append(c.Points, Point{Bytes: share * int64(n), Seconds: float64(n-1) * (5e-6 + float64(share)/40e9)})
		}
		return c
	}
	small := ring(8)
	lo, hi := 1e-3, 2e-3
	small.Points[3].Lo, small.Points[3].Hi = &lo, &hi
	small.Points[3].Samples = []float64{1, 2}
	got, want := small.Rescale(64), ring(64)
	for i, p := range got.Points {
		require.Equal(t, want.Points[i].Bytes, p.Bytes)
		require.InEpsilon(t, want.Points[i].Seconds, p.Seconds, 1e-12)
	}
	require.InEpsilon(t, 9e-3, *got.Points[3].Lo, 1e-12)
	require.Equal(t, []float64{9, 18}, got.Points[3].Samples)
}

// Between powers of two latency and bandwidth, and a pipeline's chunks beside them, are hit to 0.2 %: a straight line of
// logarithms is 1.5 % above. No time is outside of those around it.
func TestLatencyAndBandwidthBetweenPowersOfTwo(t *testing.T) {
	for _, root := range []float64{0, 2} {
		at := func(size float64) float64 { return 1e-3 + size/1e9 + root*math.Sqrt(1e-4*size/1e9) }
		var sizes []int64
		var seconds []float64
		for s := int64(1 << 14); s <= 1<<32; s *= 2 {
			sizes, seconds = append(sizes, s), append(seconds, at(float64(s)))
		}
		m := NewCostModel(sizes, seconds)
		for s := 1 << 14; s < 1<<32; s += 1 + s/37 {
			require.InEpsilon(t, at(float64(s)), m.Seconds(int64(s)), 0.002, "%d", s)
		}
	}
	dip := NewCostModel([]int64{1, 2, 4, 8, 16}, []float64{1, 3, 2, 2, 9})
	for s, bounds := range map[int64][2]float64{3: {2, 3}, 5: {2, 2}, 7: {2, 2}, 12: {2, 9}} {
		require.GreaterOrEqual(t, dip.Seconds(s), bounds[0]*(1-1e-12))
		require.LessOrEqual(t, dip.Seconds(s), bounds[1]*(1+1e-12))
	}
}
