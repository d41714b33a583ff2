package stat

import "math"

// medianTail is the probability that the median lies beyond one given end of its interval.
const medianTail = 0.025

// MedianInterval returns the 95 % interval of the median of a sample that is equivalent to nEff
// independent samples (nEff = n if the samples are independent). ok is false if nEff is below
// MinInterval.
func MedianInterval(sample []float64, nEff float64) (lo, hi float64, ok bool) {
	sorted, _ := arrange(sample)
	return medianIntervalOf(sorted, nEff)
}

// medianIntervalOf returns a symmetric pair of order statistics of the sorted sample s. The number
// of samples below the median has mean n/2. If the samples are correlated, its variance is n/n_eff
// times the binomial n/4. Divided by n, this number is distributed as for n_eff independent
// samples. So the share of samples below the interval is the same as for n_eff independent
// samples. The number of samples below it is rounded down, so that the interval is never too
// narrow.
func medianIntervalOf(s []float64, nEff float64) (lo, hi float64, ok bool) {
	n := len(s)
	// If τ divides n, n/τ must not round below the whole number.
	m := int(math.Floor(min(nEff, float64(n)) + 1e-9))
	if m < MinInterval {
		return 0, 0, false
	}
	below := cut(m)*n/m - 1
	return s[below], s[n-1-below], true
}

// cut returns the rank, from 1, of the lower end of the narrowest symmetric interval of order
// statistics that covers the median of n ≥ 6 independent samples with at least 95 %. It uses the
// binomial distribution of the number of samples below the median (Hoefler & Belli 2015, rule 5).
// The terms are computed by logarithms, because 0.5ⁿ underflows at n ≥ 1,075.
func cut(n int) int {
	below := 0.0 // P(at most i samples lie below the median)
	logP := -float64(n) * math.Ln2
	for i := range n / 2 {
		below += math.Exp(logP)
		if below > medianTail {
			return i
		}
		logP += math.Log(float64(n-i)) - math.Log(float64(i+1))
	}
	return n / 2 // not reached: the sum passes medianTail before half of the samples
}
