package rails

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"zbench/bench/base/slice"
)

// `few` judges measurements with too few values for a reference. If slow and fast values are far apart, it
// asks which ends explain the slow values. An end that is fast with another partner does not explain a slow
// value.
func (j *judgement) few(v *Verdict) {
	times := slices.SortedFunc(slices.Values(j.net.kindTimes.of), func(a, b timed) int { return cmp.Compare(a.y, b.y) })
	const leastGap = 0.2 // the logarithm of a slowdown
	cut, gap := 0, 0.0
	for i := 2; i < len(times); i++ { // at least two transfers must be fast
		if d := times[i].y - times[i-1].y; d > gap {
			cut, gap = i, d
		}
	}
	if cut == 0 || gap < max(leastGap, 2*(times[cut-1].y-times[0].y)) {
		return
	}
	fast, slow := map[Place]bool{}, map[Place]int{}
	for i, t := range times {
		for _, p := range []Place{t.Pair.A, t.Pair.B} {
			if i < cut {
				fast[p] = true
			} else {
				slow[p]++
			}
		}
	}
	for _, t := range times[cut:] {
		ends := slices.DeleteFunc([]Place{t.Pair.A, t.Pair.B}, func(p Place) bool { return fast[p] })
		slices.SortStableFunc(ends, func(a, b Place) int { return cmp.Compare(slow[b], slow[a]) })
		q := Question{Lost: 1 - math.Exp(times[0].y-t.y), Next: "measure these ends with other partners"}
		switch {
		case len(ends) == 0:
			q.What, ends = "the pair is slow, and each end is fast with another", []Place{t.Pair.A, t.Pair.B}
		case len(ends) == 2 && slow[ends[0]] > slow[ends[1]]:
			ends = ends[:1] // this end explains more slow transfers
			fallthrough
		default:
			q.What = fmt.Sprintf("slow in %d of %d transfers", slow[ends[0]], slow[ends[0]])
		}
		q.Candidates = slice.Map(ends, j.end)
		if !slices.ContainsFunc(v.Questions, func(o Question) bool { return o.Candidates[0] == q.Candidates[0] }) {
			v.Questions = append(v.Questions, q)
		}
	}
}
