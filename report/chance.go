package report

import (
	"cmp"
	"math"
	"slices"
)

// beyond is the probability under which a count is no longer put down to
// chance, after the correction for looking at every rank.
const beyond = 1e-6

// beyondChance reports whether one of so many ranks came last more often in n
// launches than chance explains, were all ranks equally likely to. Looking at
// every rank makes a rare count of some rank likely, so the probability is
// multiplied by their number (Bonferroni).
func beyondChance(count, n, ranks int) bool {
	if ranks < 2 {
		return false // alone, a rank is last every time
	}
	return binomialTail(count, n, 1/float64(ranks))*float64(ranks) < beyond
}

// binomialTail is the probability of at least k successes in n trials of
// probability p. It starts at the term of k, in logarithms because the terms
// underflow, and adds those after it, each a known share of the one before.
func binomialTail(k, n int, p float64) float64 {
	switch {
	case k > n:
		return 0
	case float64(k) <= float64(n)*p:
		return 1 // at or below the mean there is nothing to explain
	}
	term := math.Exp(logChoose(n, k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
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

// logChoose is the logarithm of the number of ways to choose k of n.
func logChoose(n, k int) float64 {
	of := func(v int) float64 { l, _ := math.Lgamma(float64(v) + 1); return l }
	return of(n) - of(k) - of(n-k)
}

// weighted is a value that stands for so many equal ones.
type weighted struct {
	value  float64
	weight int
}

// weightedMedian is the value that half of the weight does not exceed, 0 where
// there is none.
func weightedMedian(of []weighted) float64 {
	sorted := slices.SortedFunc(slices.Values(of), func(a, b weighted) int { return cmp.Compare(a.value, b.value) })
	total := 0
	for _, w := range sorted {
		total += w.weight
	}
	passed := 0
	for _, w := range sorted {
		if passed += w.weight; 2*passed >= total {
			return w.value
		}
	}
	return 0
}
