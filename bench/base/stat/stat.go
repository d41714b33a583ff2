// Package stat summarises samples of times and gives the uncertainty of each figure. A figure is
// null if there are too few samples for it.
package stat

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"zbench/bench/base/slice"
)

// Sample counts below which a figure is null.
const (
	// MinP95 and MinP99 are the smallest n at which the quantile lies inside the sample and is not
	// its maximum.
	MinP95 = 20
	MinP99 = 100
	// MinInterval is the smallest n at which [min, max] covers the median with 95 %: 1 − 2·0.5ⁿ ≥
	// 0.95 first holds at n = 6.
	MinInterval = 6
)

// Summary describes a series of seconds per launch. A figure is null if there are too few samples
// for it.
type Summary struct {
	// Number of samples.
	N int `json:"n" jsonschema:"minimum=1"`
	// NEff is the equivalent number of independent samples, from the autocorrelation in time; null
	// for n < 6.
	NEff *float64 `json:"n_eff"`
	// Median, in seconds.
	Median float64 `json:"median"`
	// Lower end of the 95 % interval of the median, in seconds; null for n_eff < 6.
	Lo *float64 `json:"lo"`
	// Upper end of the 95 % interval of the median, in seconds; null for n_eff < 6.
	Hi *float64 `json:"hi"`
	// Smallest sample, in seconds.
	Min float64 `json:"min"`
	// Largest sample, in seconds.
	Max float64 `json:"max"`
	// Arithmetic mean, in seconds.
	Mean float64 `json:"mean"`
	// 95 % quantile, in seconds; null for n < 20.
	P95 *float64 `json:"p95"`
	// 99 % quantile, in seconds; null for n < 100.
	P99 *float64 `json:"p99"`
	// CV is the standard deviation (n − 1) over the mean, a ratio; null for n < 2.
	CV *float64 `json:"cv"`
}

// Summarize describes the series and does not modify it. The series must be in time
// order, which determines NEff, and through it Lo and Hi. The other figures do not
// depend on the order. It returns nil for an empty series.
func Summarize(series []float64) *Summary {
	if len(series) == 0 {
		return nil
	}
	s, ranks := arrange(series)
	n, nEff := len(s), effectiveN(ranks)
	sum := Summary{N: n, Median: QuantileSorted(s, 0.5), Min: s[0], Max: s[n-1], Mean: Mean(s)}
	if n >= MinInterval {
		sum.NEff = &nEff
	}
	if lo, hi, ok := medianIntervalOf(s, nEff); ok {
		sum.Lo, sum.Hi = &lo, &hi
	}
	if n >= MinP95 {
		q := QuantileSorted(s, 0.95)
		sum.P95 = &q
	}
	if n >= MinP99 {
		q := QuantileSorted(s, 0.99)
		sum.P99 = &q
	}
	if n >= 2 && sum.Mean > 0 {
		cv := math.Sqrt(Variance(s, sum.Mean)) / sum.Mean
		sum.CV = &cv
	}
	return &sum
}

// Quantile returns the R-7 quantile (Hyndman & Fan 1996), the default of R, NumPy and spreadsheets:
// it interpolates linearly between order statistics at (n−1)·p. It is NaN for an empty sample and
// for p outside [0, 1].
func Quantile(sample []float64, p float64) float64 {
	var few [16]float64 // small samples need no allocation
	s := few[:min(len(sample), len(few))]
	if len(sample) > len(few) {
		s = make([]float64, len(sample))
	}
	copy(s, sample)
	if n := len(s); n > len(few) && 0 <= p && p <= 1 {
		at := int(float64(n-1) * p)
		selectNth(s, at)
		if at+1 < n {
			selectNth(s[at+1:], 0)
		}
		return QuantileSorted(s, p)
	}
	slices.Sort(s)
	return QuantileSorted(s, p)
}

// selectNth reorders the sample so that place n holds the element that ascending order would put
// there. No larger element precedes it, and no smaller element follows it.
func selectNth(s []float64, n int) {
	for rounds := 2 * bits.Len(uint(len(s))); len(s) > 12; rounds-- {
		if rounds == 0 { // the pivots were bad: sort instead
			break
		}
		ends := [3]float64{s[0], s[len(s)/2], s[len(s)-1]}
		slices.Sort(ends[:])
		low, high := 0, len(s)-1
		for low <= high {
			for cmp.Less(s[low], ends[1]) {
				low++
			}
			for cmp.Less(ends[1], s[high]) {
				high--
			}
			if low <= high {
				s[low], s[high] = s[high], s[low]
				low, high = low+1, high-1
			}
		}
		switch {
		case n <= high:
			s = s[:high+1]
		case n >= low:
			s, n = s[low:], n-low
		default:
			return
		}
	}
	slices.Sort(s)
}

// QuantileSorted returns the same as Quantile for a sample that is already in ascending order.
func QuantileSorted(s []float64, p float64) float64 {
	if len(s) == 0 || !(0 <= p && p <= 1) { // the negation is also true if p is NaN
		return math.NaN()
	}
	h := float64(len(s)-1) * p
	i := int(math.Floor(h))
	if i+1 >= len(s) {
		return s[len(s)-1]
	}
	return s[i] + (h-float64(i))*(s[i+1]-s[i])
}

// Mean returns the arithmetic mean, or 0 for an empty list. It adds up the distances to the first
// value, so that the mean of equal values is exactly that value and their variance is exactly 0.
func Mean(s []float64) float64 {
	if len(s) == 0 {
		return 0
	}
	return s[0] + slice.Sum(s, func(v float64) float64 { return v - s[0] })/float64(len(s))
}

// Variance returns the variance of the values about their mean m, with n − 1 degrees of freedom.
func Variance(s []float64, m float64) float64 {
	return slice.Sum(s, func(v float64) float64 { return (v - m) * (v - m) }) / float64(len(s)-1)
}
