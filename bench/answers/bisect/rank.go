package bisect

import "math"

// pairing is the state of two variants in a case.
type pairing struct {
	belief
	// a and b are indices of working variants. difference is the logarithm of b's time divided by a's time.
	a, b       int
	difference float64
	// At most one of `differ` and `same` is true. If neither is true, the pair is undecided.
	differ, same bool
}

// pair weighs each pair of variants in each case. Alpha is divided among all pairs and cases.
func (s *Search) pair(working []int) [][]pairing {
	n, normals := estimate(s.readings(working), len(working))
	hypotheses := either(s.MinEffect)
	tests := float64(s.cases*len(working)*(len(working)-1)) / 2
	out := make([][]pairing, s.cases)
	for i := range out {
		f := normals[i].solve()
		for a := range working {
			for b := a + 1; b < len(working); b++ {
				p := pairing{a: a, b: b}
				if of := f.between(a, b); of != nil && f.df > 0 {
					p.belief = n.weigh(of, hypotheses)
					p.difference = f.effects[b] - f.effects[a]
					p.differ = p.evidence >= math.Log(tests/s.Alpha)
					p.same = p.evidence <= math.Log(s.Miss)
				}
				out[i] = append(out[i], p)
			}
		}
	}
	return out
}

// nextOfPairs returns the variants and cases with an undecided pair.
func (s *Search) nextOfPairs(working []int) Round {
	var r Round
	wanted := make([]bool, len(working))
	for c, pairs := range s.pair(working) {
		open := false
		if s.gone[c] {
			continue
		}
		for _, p := range pairs {
			if !p.differ && !p.same {
				open, wanted[p.a], wanted[p.b] = true, true, true
			}
		}
		if open {
			r.Cases = append(r.Cases, c)
		}
	}
	for i, v := range working {
		if wanted[i] {
			r.Variants = append(r.Variants, v)
		}
	}
	return r
}
