package compare

import "math"

// judge tests every case, and the shift common to all. A case has no test where its sides have too few
// runs and the variation between runs is not given; tests counts those that have one. The shift is nil
// where too few cases have every run.
func judge(cases []*observed, base, fresh int, o Criteria) (tests int, shift *tested) {
	strength := prior(pools(cases))
	var family []*tested
	for _, c := range cases {
		var n noise
		switch {
		case o.BetweenRunCV > 0:
			n = noise{o.BetweenRunCV*o.BetweenRunCV + c.within, math.Inf(1)}
		case c.enough():
			n = c.pooled.of(c, strength)
		default:
			continue
		}
		t := test(c, n)
		c.test, family = &t, append(family, &t)
	}
	tests = len(family)
	weights := make([]float64, len(family))
	for i := range weights {
		weights[i] = 1 / float64(len(family))
	}
	if shift = common(cases, base, fresh, o); shift != nil {
		for i := range weights {
			weights[i] *= 1 - commonWeight
		}
		family, weights = append(family, shift), append(weights, commonWeight)
	}
	holm(family, weights)
	return tests, shift
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
