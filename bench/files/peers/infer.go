package peers

import (
	"math"
	"slices"
	"sort"

	"zbench/bench/hardware/collective"
)

// interval is a closed range of bus factors. A bus factor is busbw over size/time.
type interval struct{ lo, hi float64 }

func (i interval) has(x float64) bool { return i.lo <= x && x <= i.hi }

// maxRanks is the largest world that zbench considers.
const maxRanks = 1 << 14

// ratio intersects the ranges of bus factors that the rows allow. Tables of tiny sizes allow every
// factor. A row that does not fit the earlier rows is left out. If most rows are left out, the rows
// disagree, and the range is empty (lo > hi).
func (t *test) ratio(unit float64) interval {
	out, odd := interval{0, math.Inf(1)}, 0
	for _, r := range t.rows {
		in := out
		for i := range r.sides[:r.n] {
			s := r.sides[i].ratio(r.bytes, unit)
			in = interval{max(in.lo, s.lo), min(in.hi, s.hi)}
		}
		if in.lo > in.hi {
			odd++
			continue
		}
		out = in
	}
	if 2*odd > len(t.rows) {
		return interval{1, 0}
	}
	return out
}

// Method `within` reports whether the busbw of every side fits a factor in the range.
func (r *row) within(ratio interval, unit float64) bool {
	return !slices.ContainsFunc(r.sides[:r.n], func(s side) bool {
		is := s.ratio(r.bytes, unit)
		return is.hi < ratio.lo || is.lo > ratio.hi
	})
}

// empty reports whether the range holds no factor.
func (i interval) empty() bool { return i.lo > i.hi }

// ratio returns the range of bus factors that the printed digits of a side allow.
func (s *side) ratio(bytes int64, unit float64) interval {
	gb := float64(bytes) / unit / 1e9
	// printf rounds exact values, so the margin only covers float arithmetic.
	const margin = 1e-9
	return interval{s.bus.lo() * s.time.lo() / gb * (1 - margin), s.bus.hi() * s.time.hi() / gb * (1 + margin)}
}

// Function least returns the smallest number of ranks whose bus factor is at least the lower end of
// the range. It considers numbers from the given one on. Factors never decrease with the number of
// ranks.
func least(c collective.Collective, from int, ratio interval) int {
	return from + sort.Search(maxRanks-from+1, func(i int) bool { return c.BusFactor(from+i) >= ratio.lo })
}

// uniqueRanks returns the number of ranks whose bus factor lies in the range. It returns 0 if there
// is none, or more than one.
func uniqueRanks(c collective.Collective, ratio interval) int {
	n := least(c, 1, ratio)
	if n > maxRanks || !ratio.has(c.BusFactor(n)) || n < maxRanks && ratio.has(c.BusFactor(n+1)) {
		return 0
	}
	return n
}

// fitsSome reports whether the range holds the bus factor of some number of ranks.
func fitsSome(c collective.Collective, ratio interval) bool {
	n := least(c, 2, ratio)
	return n <= maxRanks && ratio.has(c.BusFactor(n))
}
