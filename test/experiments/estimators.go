package experiments

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"zbench/bench/base/stat"
)

// Estimator is a way to compute an effective n.
type Estimator struct {
	Name string
	Of   func(series []float64) float64
}

// Estimators returns stat.EffectiveN and the alternatives from which it was chosen.
func Estimators() []Estimator {
	return []Estimator{
		{"stat.EffectiveN", stat.EffectiveN},
		{"n itself", func(s []float64) float64 { return float64(len(s)) }},
		{"Geyer, of values", geyer},
		{"Geyer, of ranks", func(s []float64) float64 { return geyer(ranks(s)) }},
		{"AR(1), of ranks", func(s []float64) float64 { return first(ranks(s)) }},
		{"batch means of √n", batchMeans},
	}
}

// Coverage is the outcome of an estimator at a fixed n.
type Coverage struct {
	Estimator string
	Noise     Noise
	N         int
	// Covered and NoInterval count seeds.
	Covered, NoInterval int
}

// FixedSizes are the values of n at which estimators are compared.
var FixedSizes = []int{6, 10, 20, 30, 50, 100, 200, 500}

// FixedN compares the intervals that follow from the estimators, without a stopping rule.
func FixedN(seeds int) []Coverage {
	var out []Coverage
	for _, noise := range []Noise{
		{Name: "independent", Shape: Lognormal, Sigma: 0.02},
		{Name: "ρ = 0.5", Shape: Lognormal, Sigma: 0.02, Rho: 0.5},
		{Name: "ρ = 0.5, 2 % outliers ×3", Shape: HeavyTail, Sigma: 0.02, Rho: 0.5},
		{Name: "ρ = 0.9", Shape: Lognormal, Sigma: 0.02, Rho: 0.9},
		{Name: "drift under white noise", Shape: Lognormal, Sigma: 0.02, Rho: 0.9, White: 0.5},
	} {
		for _, e := range Estimators() {
			for _, n := range FixedSizes {
				c := Coverage{Estimator: e.Name, Noise: noise, N: n}
				for seed := range seeds {
					series, _ := noise.source(seed).take(make([]float64, 0, n), 0, n)
					switch lo, hi, ok := stat.MedianInterval(series, e.Of(series)); {
					case !ok:
						c.NoInterval++
					case lo <= Operation && Operation <= hi:
						c.Covered++
					}
				}
				out = append(out, c)
			}
		}
	}
	return out
}

// FixedTable returns the outcome of FixedN as a table: the share of the intervals that cover the
// median and, in brackets, the share of seeds without an interval.
func FixedTable(all []Coverage, seeds int) string {
	var b strings.Builder
	b.WriteString("| noise | estimator |")
	for _, n := range FixedSizes {
		fmt.Fprintf(&b, " n = %d |", n)
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(FixedSizes)))
	for i, c := range all {
		if i%len(FixedSizes) == 0 {
			fmt.Fprintf(&b, "\n| %s | %s |", c.Noise.Name, c.Estimator)
		}
		covers := 100 * float64(c.Covered) / float64(max(1, seeds-c.NoInterval))
		fmt.Fprintf(&b, " %.0f (%.0f) |", covers, 100*float64(c.NoInterval)/float64(seeds))
	}
	return b.String() + "\n"
}

// autocorrelation returns a function of the lag that computes the autocorrelation by its
// definition.
func autocorrelation(s []float64) func(lag int) float64 {
	mean := 0.0
	for _, v := range s {
		mean += v / float64(len(s))
	}
	sum := func(lag int) float64 {
		t := 0.0
		for i := lag; i < len(s); i++ {
			t += (s[i] - mean) * (s[i-lag] - mean)
		}
		return t
	}
	c0 := sum(0)
	return func(lag int) float64 { return sum(lag) / c0 }
}

// geyer returns n/τ by Geyer's initial monotone sequence estimate (1992).
func geyer(s []float64) float64 {
	r := autocorrelation(s)
	tau, previous := -1.0, math.Inf(1)
	for k := 0; k+1 < len(s); k += 2 {
		pair := r(k) + r(k+1)
		if pair <= 0 {
			break
		}
		previous = min(previous, pair)
		tau += 2 * previous
	}
	return float64(len(s)) / max(1, tau)
}

// `first` returns n/τ of a first-order autoregression, with its bias corrected.
func first(s []float64) float64 {
	n := float64(len(s))
	rho := (n*autocorrelation(s)(1) + 1) / (n - 4)
	return n * min(1, max(1-rho, 1/n)/max(1+rho, 1/n))
}

// batchMeans estimates τ from ⌊√n⌋ batches: the variance of their means times their length, divided
// by the variance of the samples.
func batchMeans(s []float64) float64 {
	k := int(math.Sqrt(float64(len(s))))
	size := len(s) / k
	means := make([]float64, k)
	for i := range means {
		for _, v := range s[i*size : (i+1)*size] {
			means[i] += v / float64(size)
		}
	}
	return float64(len(s)) / max(1, float64(size)*variance(means)/variance(s))
}

func variance(s []float64) float64 {
	mean, t := 0.0, 0.0
	for _, v := range s {
		mean += v / float64(len(s))
	}
	for _, v := range s {
		t += (v - mean) * (v - mean)
	}
	return t / float64(len(s)-1)
}

// ranks returns the ranks of distinct values.
func ranks(s []float64) []float64 {
	sorted := slices.Sorted(slices.Values(s))
	r := make([]float64, len(s))
	for i, v := range s {
		at, _ := slices.BinarySearch(sorted, v)
		r[i] = float64(at)
	}
	return r
}
