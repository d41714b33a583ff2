package judge

import (
	"cmp"
	"math"
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
)

// `beyond` is the probability below which a count is no longer attributed to chance, after the correction for
// the number of ranks.
const beyond = 1e-6

// beyondChance reports whether a part that came last in `count` of n launches did so more often than chance
// explains if all parts are equally likely. The probability is multiplied by the number of parts, because all
// parts are tested (Bonferroni).
func beyondChance(count, n, parts int) bool {
	if parts < 2 {
		return false // a single part is always last
	}
	return stat.BinomialTail(count, n, 1/float64(parts))*float64(parts) < beyond
}

// correlatedChance is the probability below which a number of correlated cases is not attributed to
// chance.
const correlatedChance = 0.05

// CorrelatedByChance reports whether independent samples explain that so many of the timed cases have the
// warning "correlated".
func CorrelatedByChance(cases, timed int) bool {
	return stat.BinomialTail(cases, timed, stat.CorrelatedByChance) > correlatedChance
}

// parts holds parts of a world, all of equal size: single ranks, or nodes. Each part is a list of ranks.
type parts [][]int

// lastOf returns how often any rank of a part came last.
func lastOf(part, counts []int) int {
	return slice.Sum(part, func(rank int) int { return counts[rank] })
}

// `often` returns two lists. `each` has the parts that came last more often than chance explains. `together` is
// a set of parts that came last more often than chance explains as a set, but not one by one. A part is
// compared with the parts that did not come last too often, so that several late parts do not hide each other.
func (p parts) often(counts []int) (each, together parts) {
	for {
		set, without := p.unlikely(counts)
		found := slice.Where(set, func(part []int) bool {
			count := lastOf(part, counts)
			return beyondChance(count, without+count, len(p)-len(set)+1)
		})
		if len(found) == 0 {
			return each, set
		}
		each = append(each, found...)
		p = p.without(found)
	}
}

// `without` returns the parts that have no rank in common with `these`.
func (p parts) without(these parts) parts {
	return slices.DeleteFunc(slices.Clone(p), func(part []int) bool {
		return slices.ContainsFunc(these, func(other []int) bool { return slices.Contains(other, part[0]) })
	})
}

// `unlikely` returns the set of parts that is least likely to come last so often by chance; nil if chance
// explains every set. The result `without` is the number of launches in which other parts came last. The
// probability is Chernoff's bound times the number of sets of that size.
func (p parts) unlikely(counts []int) (set parts, without int) {
	sorted := slices.Clone(p)
	slices.SortStableFunc(sorted, func(a, b []int) int { return cmp.Compare(lastOf(b, counts), lastOf(a, counts)) })
	n := slice.Sum(p, func(part []int) int { return lastOf(part, counts) })
	least, sum := math.Log(beyond), 0
	for k := 1; k < len(p); k++ {
		sum += lastOf(sorted[k-1], counts)
		if log := likely(sum, n, k, len(p)); log < least {
			least, set, without = log, sorted[:k], n-sum
		}
	}
	return set, without
}

// `likely` returns an upper bound of the logarithm of the probability that some set of k parts comes last in at
// least `count` of n launches.
func likely(count, n, k, of int) float64 {
	q, share := float64(k)/float64(of), float64(count)/float64(max(n, 1))
	if share <= q {
		return 0
	}
	distance := share * math.Log(share/q)
	if share < 1 {
		distance += (1 - share) * math.Log((1-share)/(1-q))
	}
	least := -float64(n) * distance
	if tail := stat.BinomialTail(count, n, q); k == 1 && tail > 0 { // a tighter bound; far out it underflows to 0
		least = math.Log(tail)
	}
	return stat.LogChoose(of, k) + least
}

// lateParts returns the ranks and nodes that came last more often than chance explains. The candidates came
// last more often than chance explains only as a set. A node is late as a whole if it is also late without its
// latest ranks. `per` is the number of ranks per node, 0 if unknown.
func lateParts(counts []int, per int) (late, candidates parts) {
	ranks := slice.Numbers(len(counts))
	lateNodes, candidates := nodesOf(ranks, per).often(counts)
	for _, node := range lateNodes {
		late = append(late, inNode(node, counts)...)
	}
	each, together := singles(ranks).without(lateNodes).often(counts)
	if late = append(late, each...); candidates == nil || len(each) > 0 {
		candidates = together
	}
	return late, candidates
}

// nodesOf returns the ranks of each node; nil for a single node, or if the number of ranks per node is unknown.
func nodesOf(ranks []int, per int) parts {
	if per < 2 || per >= len(ranks) || len(ranks)%per != 0 {
		return nil
	}
	return slices.Collect(slices.Chunk(ranks, per))
}

// inNode returns the late part of a late node: some of its ranks, or the whole node if it is late even without
// these ranks.
func inNode(node, counts []int) parts {
	each, together := singles(node).often(counts)
	some := slices.Concat(each, together)
	rest, without := slices.Clone(counts), 0
	for _, part := range some {
		rest[part[0]] = 0
	}
	for _, count := range rest {
		without += count
	}
	chance := float64(len(node)-len(some)) / float64(len(counts)-len(some))
	tail := stat.BinomialTail(lastOf(node, rest), without, chance) * float64(len(counts)/len(node))
	if len(each) == 0 || len(some) == len(node) || tail < beyond {
		return parts{node}
	}
	return each
}

func singles(ranks []int) parts { return slices.Collect(slices.Chunk(ranks, 1)) }

// weighted is a value with a weight.
type weighted struct {
	value  float64
	weight int
}

// weightedMedian returns the smallest value v such that the values up to v have at least half of the weight; 0
// for an empty list.
func weightedMedian(of []weighted) float64 {
	sorted := slices.SortedFunc(slices.Values(of), func(a, b weighted) int { return cmp.Compare(a.value, b.value) })
	total := slice.Sum(sorted, func(w weighted) int { return w.weight })
	passed := 0
	for _, w := range sorted {
		if passed += w.weight; 2*passed >= total {
			return w.value
		}
	}
	return 0
}
