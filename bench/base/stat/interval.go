package stat

import "math"

// medianTail is the probability that the median is beyond a given end of its interval.
const medianTail = 0.025

// MedianInterval returns the 95 % interval of the median of a sample that is equivalent
// to nEff independent ones (nEff = n if they are independent). There is none below
// MinInterval.
func MedianInterval(sample []float64, nEff float64) (lo, hi float64, ok bool) {
	sorted, _ := arrange(sample)
	return medianIntervalOf(sorted, nEff)
}

// medianIntervalOf returns a symmetric pair of order statistics. The number of samples below the
// median has mean n/2 and, if they are correlated, a variance n/n_eff times the binomial n/4. In
// units of n its distribution is that of n_eff independent samples. So the interval has the same
// share of the sample below it as theirs would, rounded down and never narrower.
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

// cut returns the rank, from 1, of the lower end of the narrowest symmetric
// interval of order statistics of n ≥ 6 independent samples that covers the
// median with at least 95 %, by the binomial distribution of the number of
// samples below it (Hoefler & Belli 2015, rule 5). The sum is kept in
// logarithms: 0.5ⁿ underflows at n ≥ 1,075.
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
	return n / 2 // not reached: half of the distribution is more than the tail
}
