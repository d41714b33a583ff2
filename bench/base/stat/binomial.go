package stat

import "math"

// BinomialTail returns the probability of at least k successes in n trials of probability p. It
// starts with the term of k and adds the following terms, each of which is a known multiple of the
// previous one. The first term is computed by logarithms, because it can underflow.
func BinomialTail(k, n int, p float64) float64 {
	switch {
	case k > n:
		return 0
	case float64(k) <= float64(n)*p:
		return 1 // at or below the mean the count is not unusual
	case p <= 0:
		return 0
	}
	term := math.Exp(LogChoose(n, k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
	sum := 0.0
	for i := k; i <= n && term > 0; i++ {
		sum += term
		if term < sum*1e-17 {
			break
		}
		term *= float64(n-i) / float64(i+1) * p / (1 - p)
	}
	return min(sum, 1)
}

// LogChoose returns the natural logarithm of the number of ways to choose k of n.
func LogChoose(n, k int) float64 {
	of := func(v int) float64 { l, _ := math.Lgamma(float64(v) + 1); return l }
	return of(n) - of(k) - of(n-k)
}

// BinomialUpper returns an upper confidence bound of a success probability after k successes in n
// trials: if the success probability were above this bound, at most k successes would occur with a
// probability below 1 − level.
func BinomialUpper(k, n int, level float64) float64 {
	lo, hi := float64(k)/float64(n), 1.0
	for hi-lo > 1e-6 {
		if p := (lo + hi) / 2; BinomialTail(n-k, n, 1-p) > 1-level {
			lo = p
		} else {
			hi = p
		}
	}
	return hi
}
