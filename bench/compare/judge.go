package compare

import "math"

// judged is what the tests of a family came to: of each case, and of the shift common
// to all, which is nil where too few cases have every run.
type judged struct {
	cases  []*tested
	common *tested
}

// judge tests every case and the common shift. A case that cannot be tested has nil:
// its sides have too few runs, and the variation between runs is not given.
func judge(cases []*observed, base, fresh int, o Criteria) judged {
	out := judged{cases: make([]*tested, len(cases))}
	groups := pools(cases)
	strength := prior(groups)
	pooled := map[*observed]*pool{}
	for _, p := range groups {
		for _, c := range p.cases {
			pooled[c] = p
		}
	}
	var family []*tested
	for i, c := range cases {
		var n noise
		switch {
		case o.BetweenRunCV > 0:
			n = noise{o.BetweenRunCV*o.BetweenRunCV + c.within, math.Inf(1)}
		case c.enough():
			n = pooled[c].of(c, strength)
		default:
			continue
		}
		t := test(c, n)
		out.cases[i], family = &t, append(family, &t)
	}
	weights := make([]float64, len(family))
	for i := range weights {
		weights[i] = 1 / float64(len(family))
	}
	if out.common = common(cases, base, fresh, o); out.common != nil {
		for i := range weights {
			weights[i] *= 1 - commonWeight
		}
		family, weights = append(family, out.common), append(weights, commonWeight)
	}
	holm(family, weights)
	return out
}

// common tests the shift that all cases share.
func common(cases []*observed, base, fresh int, o Criteria) *tested {
	whole := everywhere(cases, base, fresh)
	if len(whole) < minCommon {
		return nil
	}
	return ofRuns(shift(whole, base, fresh, median), o)
}

// ofRuns tests a shift by the variance of whole runs; nil where there are too few of them.
func ofRuns(c *observed, o Criteria) *tested {
	n := noise{o.BetweenRunCV * o.BetweenRunCV, math.Inf(1)}
	if o.BetweenRunCV == 0 {
		if !c.enough() {
			return nil
		}
		n = noise{c.squares() / float64(c.df()), float64(c.df())}
	}
	t := test(c, n)
	return &t
}
