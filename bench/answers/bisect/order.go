package bisect

import (
	"cmp"
	"math"
	"slices"
)

// `judged` is the state of a case of ordered variants, numbered among the working variants.
type judged struct {
	belief
	// `first` is the most likely first slow variant.
	first int
	// `slow` is true if some variant is slow. `same` is true if no variant is slow. `located` is true if
	// `first` is certain.
	slow, same, located bool
	// unseen lists the variant `first` and the variant before it, as far as they have no reading. If there
	// is such a variant, `first` is not certain. On a quiet machine the tried slowdowns are far apart in
	// units of the noise, and a hypothesis about an unmeasured variant may fit best.
	unseen []int
}

// `undecided` reports whether the case needs more readings.
func (j *judged) undecided() bool { return !j.same && (!j.slow || !j.located) }

// judge weighs each case of ordered variants.
func (s *Search) judge(working []int) (noise, []*normal, []judged) {
	readings := s.readings(working)
	n, normals := estimate(readings, len(working))
	hypotheses := s.hypotheses(len(working))
	out := make([]judged, s.cases)
	for i := range out {
		if normals[i].n < 2*firstReadings {
			continue
		}
		b := n.weigh(normals[i], hypotheses)
		j := judged{belief: b}
		for k, p := range b.from {
			if p > b.from[j.first] {
				j.first = k
			}
		}
		j.slow = b.evidence >= math.Log(float64(s.cases)/s.Alpha)
		for _, v := range []int{j.first, j.first - 1} {
			if v >= 0 && !slices.ContainsFunc(readings[i], func(r reading) bool { return r.variant == v }) {
				j.unseen = append(j.unseen, v)
			}
		}
		j.located = b.from[j.first] >= 1-s.Alpha && len(j.unseen) == 0
		out[i] = j
	}
	s.rule(out)
	return n, normals, out
}

// rule marks cases as same, the least suspicious first, while the probability that one of them is slow
// stays below Miss. The prior assumes that slow and healthy are equally likely, and that any case may be
// the slow case.
func (s *Search) rule(cases []judged) {
	var order []int
	for i := range cases {
		if !cases[i].slow && cases[i].from != nil {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(cases[a].evidence, cases[b].evidence) })
	sum := 0.0
	for _, i := range order {
		sum += math.Exp(cases[i].evidence) / float64(len(cases))
		cases[i].same = sum <= s.Miss
	}
}

func (s *Search) hypotheses(variants int) []hypothesis {
	if s.plan[variants] == nil {
		s.plan[variants] = ordered(variants, s.MinEffect)
	}
	return s.plan[variants]
}

// A pair of variants measures a case if the pair's gain is at least `share` times the highest gain of any
// pair. Values between 0.3 and 0.8 change the cost of a search by only a few per cent.
const share = 0.5

// nextOfOrder returns the pair of variants and the cases with the highest gain for their cost.
// Gains are relative to the case's best pair, because every undecided case has to be decided in the
// end.
func (s *Search) nextOfOrder(working []int) Round {
	n, normals, cases := s.judge(working)
	var open []int
	for i := range cases {
		if !s.gone[i] && cases[i].undecided() {
			open = append(open, i)
		}
	}
	pairs := pairsOf(len(working))
	gains, most := make([][]float64, len(pairs)), make([]float64, len(open))
	for p, ab := range pairs {
		gains[p] = make([]float64, len(open))
		for i, c := range open {
			gains[p][i] = s.gain(&cases[c], normals[c], n.variance(), ab)
			most[i] = max(most[i], gains[p][i])
		}
	}
	var best Round
	start, each := s.costs()
	highest := -1.0
	for p, ab := range pairs {
		sum, chosen := 0.0, []int(nil)
		for i, c := range open {
			if gains[p][i] >= share*most[i] {
				chosen = append(chosen, c)
				if most[i] > 0 {
					sum += gains[p][i] / most[i]
				}
			}
		}
		if ratio := sum / (start + each*float64(len(chosen))); ratio > highest {
			highest, best = ratio, Round{[]int{working[ab[0]], working[ab[1]]}, chosen}
		}
	}
	return best
}

// pairsOf returns the pairs of n variants, the widest apart first.
func pairsOf(n int) [][2]int {
	var out [][2]int
	for apart := n - 1; apart > 0; apart-- {
		for a := 0; a+apart < n; a++ {
			out = append(out, [2]int{a, a + apart})
		}
	}
	return out
}

// gain returns the expected information of a pair of readings about a case: the probability that two
// hypotheses, drawn by weight, differ and that the readings distinguish them. Normal readings whose
// expectations are d standard deviations apart are confused with probability exp(−d²/8) (Bhattacharyya's
// coefficient).
func (s *Search) gain(of *judged, at *normal, variance float64, pair [2]int) float64 {
	// Only readings of the variant `first` and of the variant before it can make `first` certain, so only
	// these readings count.
	if of.slow && len(of.unseen) > 0 && of.from[of.first] >= 1-s.Alpha {
		if slices.ContainsFunc(of.unseen, func(v int) bool { return !slices.Contains(pair[:], v) }) {
			return 0
		}
		return 1
	}
	rows := at.ahead(len(s.trials), pair[:]...)
	odds := math.Exp(min(of.evidence, 100)) / float64(s.cases)
	slow := odds / (1 + odds)
	apart := func(h, k int) float64 { // h and k are first slow variants; len(of.from) means no slow variant
		sum := 0.0
		for _, row := range rows {
			d := 0.0
			for v := min(h, k); v < max(h, k); v++ {
				d += row[v]
			}
			sum += d * d
		}
		return 1 - math.Exp(-sum*of.slowdown*of.slowdown/8/variance)
	}
	variants := len(of.from)
	out := 0.0
	for h := 1; h < variants; h++ {
		p := slow * of.from[h]
		out += p * (1 - slow) * apart(h, variants)
		for k := h + 1; k < variants; k++ {
			out += p * slow * of.from[k] * apart(h, k)
		}
	}
	return out
}
