package stat

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Beyond longSeries the lags are summed over blocks. The estimate is the same.
func TestEffectiveNOfLongSeries(t *testing.T) {
	const seeds = 8
	for _, rho := range []float64{0, 0.5, 0.9, 0.99} {
		for i, n := range []int{longSeries, longSeries + 1, 3*longSeries + 17, 80_000} {
			tau := (1 + rho) / (1 - rho)
			sum := 0.0
			for seed := range uint64(seeds) {
				sum += EffectiveN(autoregression(uint64(i)*seeds+seed, n, rho))
			}
			require.InEpsilon(t, tau, float64(n)*seeds/sum, 0.25, "ρ = %g, n = %d", rho, n)
		}
	}
}

// A long drift has few independent samples, however many values.
func TestEffectiveNOfALongDrift(t *testing.T) {
	for _, n := range []int{longSeries, 20_000, 200_000} {
		x := make([]float64, n)
		for i := range x {
			x[i] = 1 + float64(i)/float64(n)
		}
		require.Less(t, EffectiveN(x), 10.0, n)
	}
}

// A time per value that does not grow with the series.
func BenchmarkSummarizeDrift(b *testing.B) {
	for _, n := range []int{1e3, 1e4, 1e5, 1e6} {
		x := make([]float64, n)
		for i := range x {
			x[i] = 1 + float64(i)/float64(n)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Summarize(x)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/value")
		})
	}
}
