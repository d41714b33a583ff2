package bisect

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// The mean over a span is that of a sum over many levels of it: within it, beside it and far
// from it, narrow or wide beside the noise.
func TestMeanOverASpan(t *testing.T) {
	s := span{0.02, 0.05}
	for _, best := range []float64{-0.3, 0, 0.019, 0.02, 0.03, 0.05, 0.06, 0.2} {
		for _, spread := range []float64{1e-4, 1e-3, 0.01, 0.1, 10} {
			const steps = 20000
			nearest := min(max(best, s.lo), s.hi)
			if square(spread) < 1e-5*math.Abs(nearest-best) {
				continue // the sum is too coarse for what is left of the curve
			}
			off := func(x float64) float64 { return square((x-best)/spread) / 2 }
			sum := 0.0
			for i := range steps {
				sum += math.Exp(off(nearest) - off(s.lo+(float64(i)+0.5)/steps*(s.hi-s.lo)))
			}
			require.InDelta(t, math.Log(sum/steps), s.logMean(best, 1/square(spread)), 0.05, "best %g, spread %g", best, spread)
		}
	}
	require.Zero(t, s.logMean(0.03, 0))
}

func square(x float64) float64 { return x * x }

// The ranges of slowdowns touch: none between the smallest and the largest is left out.
func TestRangesTouch(t *testing.T) {
	for _, factor := range []float64{growth, coarseStep} {
		spans, _ := ranges(0.02, 5, factor)
		require.Equal(t, math.Log1p(0.02), spans[0].lo)
		for i := range spans[1:] {
			require.InDelta(t, spans[i].hi, spans[i+1].lo, 1e-12)
		}
	}
}
