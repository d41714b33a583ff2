package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// autoregression is a stationary one of first order, exponentiated: times of a
// millisecond ± 2 %.
func autoregression(seed uint64, n int, rho float64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 3))
	s := make([]float64, n)
	z := rng.NormFloat64()
	for i := range s {
		s[i] = 1e-3 * math.Exp(0.02*z)
		z = rho*z + math.Sqrt(1-rho*rho)*rng.NormFloat64()
	}
	return s
}

// Theory: n(1−ρ)/(1+ρ) for a first-order autoregression (e.g. Priestley 1981,
// §5.3). Ranks see 0.955 of a small correlation (Pearson's 6/π·asin(ρ/2)), and
// the larger of two estimates exceeds either: so 15 %.
func TestEffectiveNAgainstTheoryOfAutoregressions(t *testing.T) {
	const n, seeds = 5000, 10
	for _, rho := range []float64{-0.5, 0, 0.3, 0.5, 0.7, 0.9, 0.95} {
		got := 0.0
		for seed := range seeds {
			got += EffectiveN(autoregression(uint64(seed), n, rho)) / seeds
		}
		want := min(n, n*(1-rho)/(1+rho)) // what negative correlation gains is not counted
		require.InEpsilon(t, want, got, 0.15, "ρ = %g", rho)
	}
}

// The estimate by its definition: autocorrelations of ranks about their mean,
// found by counting.
func TestEffectiveNAgainstItsDefinition(t *testing.T) {
	for seed := range uint64(60) {
		n := fewSamples + int(seed)*3
		s := autoregression(seed, n, float64(seed%10)/10)
		if seed%3 == 0 { // ties
			for i := range s {
				s[i] = math.Round(s[i] * 1e5)
			}
		}
		ranks, r := make([]float64, n), make([]float64, n)
		for i := range ranks {
			ranks[i] = countedRank(s, i) - float64(n-1)/2
		}
		for k := range r {
			for i := range n - k {
				r[k] += ranks[i] * ranks[i+k]
			}
		}
		tau, previous := -1.0, math.Inf(1)
		for k := 0; k+1 < n && r[k]+r[k+1] > 0; k += 2 {
			previous = min(previous, (r[k]+r[k+1])/r[0])
			tau += 2 * previous
		}
		rho := (float64(n)*r[1]/r[0] + 1) / float64(n-4)
		if rho < 1 {
			tau = max(tau, (1+rho)/(1-rho))
		} else {
			tau = math.Inf(1)
		}
		want := min(float64(n), max(1, float64(n)/tau))
		require.InEpsilon(t, want, EffectiveN(s), 1e-9, "n=%d", n)
	}
}

// countedRank is the number of smaller values and half of the other equal ones.
func countedRank(s []float64, i int) float64 {
	r := -0.5 // itself
	for _, v := range s {
		if v < s[i] {
			r++
		}
		if v == s[i] {
			r += 0.5
		}
	}
	return r
}

func TestArrangeRanksAndSorts(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 5))
	for n := range 200 {
		s := make([]float64, n)
		for i := range s {
			s[i] = float64(rng.IntN(30)-15) * math.Pow(10, float64(rng.IntN(3)))
		}
		before := slices.Clone(s)
		sorted, ranks := arrange(s)
		require.Equal(t, before, s)
		require.Equal(t, slices.Sorted(slices.Values(s)), slices.Concat(sorted))
		for i := range s {
			require.Equal(t, countedRank(s, i)-float64(n-1)/2, ranks[i])
		}
	}
	// Values that share a rank are sorted all the same.
	above := math.Nextafter(1, 2)
	sorted, ranks := arrange([]float64{above, 1, 2, 1})
	require.Equal(t, []float64{1, 1, above, 2}, sorted)
	require.Equal(t, []float64{-0.5, -0.5, 1.5, -0.5}, ranks)
}

func TestEffectiveNProperties(t *testing.T) {
	for seed := range uint64(300) {
		n := 1 + int(seed)
		s := autoregression(seed, n, float64(seed%20)/20)
		got := EffectiveN(s)
		require.GreaterOrEqual(t, got, 1.0)
		require.LessOrEqual(t, got, float64(n))
		back := slices.Clone(s)
		slices.Reverse(back)
		require.Equal(t, got, EffectiveN(back), "time reversed, n=%d", n)
		other := make([]float64, n)
		for i, v := range s {
			other[i] = 60 * v
		}
		require.Equal(t, got, EffectiveN(other), "in other units, n=%d", n)
		for i, v := range s {
			other[i] = math.Sqrt(v) - 1
		}
		require.Equal(t, got, EffectiveN(other), "on a monotone scale, n=%d", n)
		require.Equal(t, float64(n), EffectiveN(slices.Repeat([]float64{1e-3}, n)), "constant")
	}
	require.Zero(t, EffectiveN(nil))
}

// Drift and noise in every proportion, up to the point where ρ̂ is all but 1.
func TestEffectiveNIsNeverBelowOne(t *testing.T) {
	for seed := range uint64(2000) {
		s := autoregression(seed, 30+int(seed%50), 0)
		for i := range s {
			s[i] += 1e-3 * float64(i) * math.Pow(10, -float64(seed%40)/10)
		}
		require.GreaterOrEqual(t, EffectiveN(s), 1.0)
	}
}

// A short series has its whole n unless its correlation is more than one
// independent series in five shows; else hardly any had an interval.
func TestShortIndependentSeriesKeepTheirN(t *testing.T) {
	const seeds = 2000
	for _, n := range []int{6, 10, 20, 29} {
		kept := 0
		for seed := range uint64(seeds) {
			if EffectiveN(autoregression(seed, n, 0)) == float64(n) {
				kept++
			}
		}
		require.InDelta(t, 0.8, float64(kept)/seeds, 0.07, "n=%d", n) // the normal quantile is rough at six
	}
}

// Order is all that EffectiveN looks at: shuffled, the samples of a correlated
// series are independent.
func TestShufflingMakesIndependent(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 7))
	kept, shuffled := 0.0, 0.0
	const n, seeds = 400, 50
	for seed := range uint64(seeds) {
		s := autoregression(seed, n, 0.9)
		kept += EffectiveN(s) / n / seeds
		rng.Shuffle(n, func(i, j int) { s[i], s[j] = s[j], s[i] })
		shuffled += EffectiveN(s) / n / seeds
	}
	require.Less(t, kept, 0.08)
	require.Greater(t, shuffled, 0.85)
}

// One sample in fifty a thousand times longer: of values, the autocorrelation
// would be gone, and n_eff the whole n.
func TestOutliersDoNotHideCorrelation(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	clean, dirty := 0.0, 0.0
	for seed := range uint64(20) {
		s := autoregression(seed, 1000, 0.9)
		clean += EffectiveN(s)
		for i := range s {
			if rng.Float64() < 0.02 {
				s[i] *= 1000
			}
		}
		dirty += EffectiveN(s)
	}
	require.InEpsilon(t, clean, dirty, 0.25) // white noise it is, though: 2 % of the places are wrong
}

func TestCorrelatedFlagsWhatItShould(t *testing.T) {
	const seeds = 1000
	rate := func(n int, rho float64) float64 {
		flagged := 0
		for seed := range uint64(seeds) {
			if _, f := Correlated(autoregression(seed, n, rho)); f {
				flagged++
			}
		}
		return float64(flagged) / seeds
	}
	for _, n := range []int{6, 10, 15, 20, 30, 40, 60, 100, 300} {
		require.LessOrEqual(t, rate(n, 0), 0.02, "independent, n=%d", n)
	}
	for _, n := range []int{30, 40, 100, 300} {
		require.GreaterOrEqual(t, rate(n, 0.9), 0.95, "ρ = 0.9, n=%d", n)
	}
	require.Zero(t, rate(9, 0.9), "too few")
	require.Less(t, rate(300, 0.15), 0.1, "real but harmless: n_eff is above n/2")
}

func TestCorrelatedOfPlainShapes(t *testing.T) {
	rising := make([]float64, 50)
	turns := make([]float64, 50)
	step := slices.Concat(slices.Repeat([]float64{1}, 30), slices.Repeat([]float64{2}, 20))
	for i := range rising {
		rising[i], turns[i] = float64(i), float64(i%2)
	}
	for name, x := range map[string]struct {
		s    []float64
		flag bool
	}{"rising": {rising, true}, "step": {step, true}, "in turns": {turns, false}, "constant": {step[:30], false}, "none": {nil, false}} {
		rho, flag := Correlated(x.s)
		require.Equal(t, x.flag, flag, name)
		require.False(t, math.IsNaN(rho), name)
	}
	rho, _ := Correlated(autoregression(1, 5000, 0.5))
	require.InDelta(t, 6/math.Pi*math.Asin(0.25), rho, 0.03, "Pearson's relation of rank to plain correlation")
	sum := Summarize(rising)
	require.Nil(t, sum.Lo)
	require.Less(t, *sum.NEff, 6.0, "drift over the whole series has no interval")
}

// Rank 0 does this for every case: 50 µs at n = 1,000 are the budget.
func BenchmarkSummary(b *testing.B) {
	for _, n := range []int{100, 1000} {
		var series [16][]float64
		for i := range series {
			series[i] = autoregression(uint64(i), n, 0.5)
		}
		i := 0
		b.Run(fmt.Sprintf("EffectiveN/%d", n), func(b *testing.B) {
			for b.Loop() {
				EffectiveN(series[i%16])
				i++
			}
		})
		b.Run(fmt.Sprintf("Summarize/%d", n), func(b *testing.B) {
			for b.Loop() {
				Summarize(series[i%16])
				i++
			}
		})
	}
}
