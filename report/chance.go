package report

import (
	"cmp"
	"slices"

	"zbench/bench/stat"
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
	return stat.BinomialTail(count, n, 1/float64(ranks))*float64(ranks) < beyond
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
