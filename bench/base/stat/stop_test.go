package stat

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDefaultRuleIsValidAndNonsenseIsNot(t *testing.T) {
	require.NoError(t, DefaultRule().Validate())
	require.NoError(t, Fixed(20).Validate())
	for name, change := range map[string]func(*Rule){
		"precision must":   func(r *Rule) { r.Precision = math.NaN() },
		"precision must b": func(r *Rule) { r.Precision = 1 },
		"largest number":   func(r *Rule) { r.MaxSamples = 0 },
		"smallest number":  func(r *Rule) { r.MinSamples = r.MaxSamples + 1 },
		"time per timing":  func(r *Rule) { r.MaxTime = -1 },
		"must be finite":   func(r *Rule) { r.MaxTime = math.Inf(1) },
		"expected time":    func(r *Rule) { r.Expected = math.NaN() },
		"largest batch":    func(r *Rule) { r.Batch = -1 },
	} {
		r := DefaultRule()
		change(&r)
		require.ErrorContains(t, r.Validate(), name)
	}
}

// timing runs a rule on a series of equal time per sample, and returns the
// batches and the decision that ended it.
func timing(t *testing.T, r Rule, source []float64) (batches []int, last Decision) {
	t.Helper()
	n, spent := 0, 0.0
	for range 1 + len(source) {
		d := r.Decide(source[:n], spent)
		require.Equal(t, d, r.Decide(slices.Clone(source[:n]), spent), "the same again")
		if d.Stop {
			require.Zero(t, d.Next)
			return batches, d
		}
		require.Positive(t, d.Next)
		require.Empty(t, d.Why)
		batches = append(batches, d.Next)
		for range d.Next {
			spent += source[n]
			n++
		}
	}
	t.Fatal("does not end")
	return nil, Decision{}
}

func total(batches []int) (n int) {
	for _, b := range batches {
		n += b
	}
	return n
}

func TestDecideOnPlainCases(t *testing.T) {
	equal := func(seconds float64) []float64 { return slices.Repeat([]float64{seconds}, 20_000) }
	noisy := autoregression(1, 20_000, 0.5)
	with := func(change func(*Rule)) Rule {
		r := DefaultRule()
		change(&r)
		return r
	}
	for _, x := range []struct {
		name    string
		rule    Rule
		source  []float64
		batches []int
		why     string
	}{
		{"the first batch is small while nothing is known", DefaultRule(), equal(1e-5), []int{10, 30}, StopPrecision},
		{"and is not when something is", with(func(r *Rule) { r.Expected = 1e-5 }), equal(1e-5), []int{40}, StopPrecision},
		{"a batch holds no more than it can", with(func(r *Rule) { r.Batch = 15 }), equal(1e-5), []int{10, 15, 15}, StopPrecision},
		{"never fewer than ten", with(func(r *Rule) { r.MinSamples = 0; r.Expected = 1e-5 }), equal(1e-5), []int{10}, StopPrecision},
		{"time wins over the least number", DefaultRule(), equal(0.03125), []int{10, 2}, StopMaxTime},
		{"what a sample takes is known beforehand", with(func(r *Rule) { r.Expected = 0.03125 }), equal(0.03125), []int{12}, StopMaxTime},
		{"but not over six samples", with(func(r *Rule) { r.Expected = 5 }), equal(5), []int{6}, StopMaxTime},
		{"no more than the largest number", with(func(r *Rule) { r.MaxSamples = 33; r.Precision = 1e-9 }), noisy, []int{10, 23}, StopMaxSamples},
		{"precise in the last batch", with(func(r *Rule) { r.MaxSamples = 40 }), equal(1e-5), []int{10, 30}, StopPrecision},
		{"a fixed number", Fixed(500), noisy, []int{500}, StopMaxSamples},
		{"a fixed number below ten", Fixed(3), noisy, []int{3}, StopMaxSamples},
		{"nor is what cannot be", with(func(r *Rule) { r.MaxSamples = 50 }), equal(-1e-5), []int{10, 30, 10}, StopMaxSamples},
		{"nothing measured is not precise", with(func(r *Rule) { r.MaxSamples = 50 }), equal(0), []int{10, 30, 10}, StopMaxSamples},
	} {
		batches, last := timing(t, x.rule, x.source)
		require.Equal(t, x.batches, batches, x.name)
		require.Equal(t, Decision{Stop: true, Why: x.why}, last, x.name)
	}
}

func TestDecideKeepsItsPromises(t *testing.T) {
	r := DefaultRule()
	r.MaxSamples = 2000
	for seed := range uint64(200) {
		for _, rho := range []float64{0, 0.5, 0.9, 0.99} {
			source := autoregression(seed, 2000, rho)
			batches, last := timing(t, r, source)
			n := total(batches)
			series := source[:n]
			require.LessOrEqual(t, len(batches), 10, "looks are few")
			require.GreaterOrEqual(t, n, r.MinSamples)
			spent := n * 1
			require.LessOrEqual(t, spent, 440, "0.4 s of about a millisecond each")
			s := Summarize(series)
			precise := s.Lo != nil && (*s.Hi-*s.Lo)/2 <= r.Precision*s.Median
			require.Equal(t, precise, last.Why == StopPrecision)
			for i := 2; i < len(batches)-1; i++ {
				before := total(batches[:i])
				require.GreaterOrEqual(t, batches[i], before/4, "a look that adds little")
				require.LessOrEqual(t, batches[i], 2*before, "more than a short series can tell")
			}
		}
	}
}

// The need is estimated: a rule without a time limit comes close to the n at
// which the series is precise, in few looks.
func TestBatchesAimAtTheNeed(t *testing.T) {
	r := DefaultRule()
	r.MaxTime = 0
	// (1.96·1.25·2 % / 0.2 %)² = 600 independent samples would do, were σ known
	// and n_eff = n; estimating both costs half as many again.
	r.Precision = 0.002
	mean := 0.0
	for seed := range uint64(20) {
		batches, last := timing(t, r, autoregression(seed, 10_000, 0))
		require.Equal(t, StopPrecision, last.Why)
		require.InDelta(t, 900, total(batches), 500)
		require.LessOrEqual(t, len(batches), 8)
		mean += float64(total(batches)) / 20
	}
	require.InDelta(t, 900, mean, 100)
}

// However noisy a series is, a timing ends within its bounds; the fewest are
// reached by a series without noise, the most by one that is never precise.
func TestTimingsEndWithinTheirBounds(t *testing.T) {
	for _, rule := range []Rule{
		DefaultRule(), Fixed(7), Fixed(100),
		{MaxTime: 0.1, MaxSamples: 1000},
		{Precision: 0.01, MaxSamples: 500},
		{Precision: 0.01, MinSamples: 6, MaxSamples: 5000, MaxTime: 0.2, Batch: 64},
	} {
		for _, sample := range []float64{1e-5, 3e-4, 1e-3, 0.0077, 0.03, 1} {
			rule.Expected = sample
			fewest, most := rule.Bounds(sample)
			require.LessOrEqual(t, fewest, most)
			none, least := rule.Bounds(0)
			require.LessOrEqual(t, none, fewest)
			require.GreaterOrEqual(t, least, most)
			for noise := range 3 { // the last never becomes precise
				source := make([]float64, 10_001)
				for i := range source {
					source[i] = sample * (1 + 0.4*float64(noise)*float64(i%2-i/2%2)/2)
				}
				batches, _ := timing(t, rule, source)
				n := total(batches)
				require.GreaterOrEqual(t, n, fewest, "%+v at %g s", rule, sample)
				if noise == 0 {
					require.LessOrEqual(t, n, most, "%+v at %g s", rule, sample)
				}
				require.LessOrEqual(t, n, most+most/50+1, "%+v at %g s", rule, sample)
			}
		}
	}
}
