package stat

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	gonum "gonum.org/v1/gonum/stat"
)

// Values of R's quantile(x, p), whose default is type 7, and of NumPy's
// documentation of percentile.
func TestQuantileIsThatOfR(t *testing.T) {
	oneToTen := []float64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}
	for _, x := range []struct {
		sample  []float64
		p, want float64
	}{
		{oneToTen, 0, 1},
		{oneToTen, 0.25, 3.25},
		{oneToTen, 0.5, 5.5},
		{oneToTen, 0.75, 7.75},
		{oneToTen, 1, 10},
		{[]float64{1, 2, 3, 4}, 0.95, 3.85},
		{[]float64{1, 2}, 0.5, 1.5}, // type 4 gives 1
		{[]float64{1, 2, 3}, 0.5, 2},
		{[]float64{10, 7, 4, 3, 2, 1}, 0.5, 3.5},
		{[]float64{7}, 0.99, 7},
	} {
		require.InDelta(t, x.want, Quantile(x.sample, x.p), 1e-12, "%v at %g", x.sample, x.p)
	}
	for _, p := range []float64{-0.01, 1.01, math.NaN(), math.Inf(1)} {
		require.True(t, math.IsNaN(Quantile(oneToTen, p)))
	}
	require.True(t, math.IsNaN(Quantile(nil, 0.5)))
	require.Equal(t, 10.0, oneToTen[0], "the sample is not sorted in place")
}

// naive is the definition of Hyndman & Fan for type 7, with ranks from 1 and
// in exact arithmetic.
func naive(sample []float64, p float64) float64 {
	s := slices.Sorted(slices.Values(sample))
	h := new(big.Rat).SetFloat64(p)
	h.Mul(h, new(big.Rat).SetInt64(int64(len(s)-1)))
	j := new(big.Int).Quo(h.Num(), h.Denom()).Int64()
	gamma := new(big.Rat).Sub(h, new(big.Rat).SetInt64(j))
	next := min(j+1, int64(len(s)-1))
	a, b := new(big.Rat).SetFloat64(s[j]), new(big.Rat).SetFloat64(s[next])
	b.Sub(b, a).Mul(b, gamma).Add(b, a)
	v, _ := b.Float64()
	return v
}

// Selection gives what sorting gives, to the bit, and leaves the sample as it was.
func TestQuantileSelectsWhatSortingFinds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	shapes := map[string]func(i, n int) float64{
		"drawn":      func(int, int) float64 { return r.NormFloat64() },
		"equal":      func(int, int) float64 { return 3 },
		"few values": func(int, int) float64 { return float64(r.IntN(3)) },
		"ascending":  func(i, _ int) float64 { return float64(i) },
		"descending": func(i, n int) float64 { return float64(n - i) },
		"pipe":       func(i, n int) float64 { return float64(min(i, n-i)) },
		"saw":        func(i, _ int) float64 { return float64(i * 7919 % 101) },
		"not all":    func(i, _ int) float64 { return []float64{math.NaN(), math.Inf(1), math.Inf(-1), float64(i)}[r.IntN(4)] },
	}
	for name, shape := range shapes {
		for _, n := range []int{1, 2, 12, 13, 16, 17, 40, 333, 5000} {
			sample := make([]float64, n)
			for i := range sample {
				sample[i] = shape(i, n)
			}
			given, sorted := slices.Clone(sample), slices.Sorted(slices.Values(sample))
			for _, p := range []float64{0, 0.01, 0.25, 0.5, 0.77, 0.99, 1} {
				want, got := QuantileSorted(sorted, p), Quantile(sample, p)
				require.Equal(t, math.Float64bits(want), math.Float64bits(got), "%s n=%d p=%g: %g, not %g", name, n, p, got, want)
			}
			for i := range sample {
				require.Equal(t, math.Float64bits(given[i]), math.Float64bits(sample[i]))
			}
		}
	}
}

func BenchmarkQuantile(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	sample := make([]float64, 1000)
	for i := range sample {
		sample[i] = r.NormFloat64()
	}
	for b.Loop() {
		Quantile(sample, 0.5)
	}
}

func TestQuantileAgainstNaiveOracle(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for n := 1; n < 130; n++ {
		sample := lognormal(rng, n)
		for range 20 {
			p := rng.Float64()
			require.InEpsilon(t, naive(sample, p), Quantile(sample, p), 1e-12, "n=%d p=%g", n, p)
		}
	}
}

func lognormal(rng *rand.Rand, n int) []float64 {
	s := make([]float64, n)
	for i := range s {
		s[i] = 1e-5 * math.Exp(rng.NormFloat64())
	}
	return s
}

// ladder is 0, 1, … n−1, so that an order statistic is its own index.
func ladder(n int) []float64 {
	s := make([]float64, n)
	for i := range s {
		s[i] = float64(i)
	}
	return s
}

// The interval must cover the median with 95 % and be the narrowest symmetric
// one that does. With k samples cut off at either end its coverage is
// 1 − 2·P(X ≤ k−1), X binomial(n, ½): here in whole numbers, without rounding.
func TestMedianIntervalCoverageIsExact(t *testing.T) {
	sizes := []int{5000}
	step := 1
	if testing.Short() {
		step = 37
	}
	for n := MinInterval; n <= 2000; n += step {
		sizes = append(sizes, n)
	}
	for _, n := range sizes {
		lo, hi, ok := medianInterval(ladder(n))
		require.True(t, ok, n)
		require.Equal(t, float64(n-1), lo+hi, "not symmetric at n=%d", n)
		k := int(lo)
		// Σ C(n, i), i ≤ k; the interval covers when 2Σ·20 ≤ 2ⁿ.
		sum, c := new(big.Int), big.NewInt(1)
		for i := 0; i <= k; i++ {
			sum.Add(sum, c)
			c.Mul(c, big.NewInt(int64(n-i))).Quo(c, big.NewInt(int64(i+1)))
		}
		all := new(big.Int).Lsh(big.NewInt(1), uint(n))
		covers := func(sum *big.Int) bool { return new(big.Int).Mul(sum, big.NewInt(40)).Cmp(all) <= 0 }
		require.True(t, covers(sum), "n=%d covers less than 95 %%", n)
		require.False(t, covers(sum.Add(sum, c)), "n=%d could be narrower", n)
	}
}

// 0.5ⁿ is 0 in floating point from n = 1,075 on; the interval must stay narrow.
func TestMedianIntervalDoesNotUnderflow(t *testing.T) {
	for _, n := range []int{1074, 1075, 1076, 5000, 100000} {
		lo, hi, ok := medianInterval(ladder(n))
		require.True(t, ok)
		// The normal approximation: n/2 ± 0.98·√n.
		require.InDelta(t, float64(n)/2-0.98*math.Sqrt(float64(n)), lo, 2, n)
		require.InDelta(t, float64(n)/2+0.98*math.Sqrt(float64(n)), hi, 2, n)
	}
}

func TestFiguresAreNullBelowTheirSampleCount(t *testing.T) {
	require.Nil(t, Summarize(nil))
	for n := 1; n <= 101; n++ {
		s := Summarize(slices.Repeat([]float64{2}, n)) // constant: every sample counts in full
		require.Equal(t, n, s.N)
		require.Equal(t, n >= 6, s.Lo != nil, n)
		require.Equal(t, n >= 6, s.Hi != nil, n)
		require.Equal(t, n >= 20, s.P95 != nil, n)
		require.Equal(t, n >= 100, s.P99 != nil, n)
		require.Equal(t, n >= 2, s.CV != nil, n)
	}
}

func TestSummary(t *testing.T) {
	s := Summarize([]float64{4, 1, 3, 2, 6, 5})
	require.Equal(t, []float64{1, 6, 3.5, 3.5}, []float64{s.Min, s.Max, s.Median, s.Mean})
	require.Equal(t, []float64{1, 6}, []float64{*s.Lo, *s.Hi})
	require.InDelta(t, math.Sqrt(3.5)/3.5, *s.CV, 1e-15)
	require.Nil(t, Summarize([]float64{0, 0}).CV, "no variation about a mean of 0")
}

func TestMomentsAgainstGonum(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for n := 2; n < 300; n += 7 {
		sample := lognormal(rng, n)
		mean, sd := gonum.MeanStdDev(sample, nil)
		s := Summarize(sample)
		require.InEpsilon(t, mean, s.Mean, 1e-12)
		require.InEpsilon(t, sd/mean, *s.CV, 1e-12)
	}
}

// A deterministic clock gives equal samples, which vary by nothing at all.
func TestEqualSamplesDoNotVary(t *testing.T) {
	for _, v := range []float64{0.1, 1.3e-5, 1.0 / 3} {
		s := Summarize(slices.Repeat([]float64{v}, 37))
		require.Equal(t, []float64{v, v, v, v, v, v, v}, []float64{s.Min, s.Max, s.Mean, s.Median, *s.Lo, *s.Hi, *s.P95})
		require.Zero(t, *s.CV)
	}
}

// The order of a sample means nothing, scaling scales, and every figure lies
// where it must.
func TestSummaryProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for range 300 {
		sample := lognormal(rng, 1+rng.IntN(150))
		want := *Summarize(sample)
		before := slices.Clone(sample)
		rng.Shuffle(len(sample), func(i, j int) { sample[i], sample[j] = sample[j], sample[i] })
		shuffled := *Summarize(sample) // order decides what the samples are worth, and nothing else
		shuffled.NEff, shuffled.Lo, shuffled.Hi = want.NEff, want.Lo, want.Hi
		require.Equal(t, want, shuffled)
		for i := range sample {
			sample[i] = 4 * before[i] // a power of two scales without rounding
		}
		scaled := Summarize(sample)
		require.Equal(t, fmt.Sprint(4*want.Median, 4*want.Mean, 4*want.Max), fmt.Sprint(scaled.Median, scaled.Mean, scaled.Max))
		require.LessOrEqual(t, want.Min, want.Median)
		require.LessOrEqual(t, want.Median, want.Max)
		if want.Lo != nil {
			require.LessOrEqual(t, *want.Lo, want.Median)
			require.GreaterOrEqual(t, *want.Hi, want.Median)
		}
	}
}

// medianInterval is the interval of a sorted sample of independent values.
func medianInterval(s []float64) (lo, hi float64, ok bool) {
	return medianIntervalOf(s, float64(len(s)))
}
