package stat

import "math"

// Fisher returns the two-sided p-value of Fisher's exact test for two groups. The first group has
// n trials and `a` successes, and the second group has m trials and b successes. The p-value is
// the probability of a difference at least as large if both groups have the same rate.
func Fisher(a, n, b, m int) float64 {
	all, of := n+m, a+b
	total := LogChoose(all, of)
	log := func(k int) float64 { return LogChoose(n, k) + LogChoose(m, of-k) - total }
	observed, p := log(a), 0.0
	for k := max(0, of-m); k <= min(of, n); k++ {
		if l := log(k); l <= observed+1e-9 {
			p += math.Exp(l)
		}
	}
	return min(p, 1)
}
