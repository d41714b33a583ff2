package compare

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// judge tests every case, and the shift common to all cases. A case with too few runs gets an allowance instead of a
// test, unless the variation between runs is given. tests is the number of tested cases. shift is nil if too few cases
// have a time in every run.
func judge(cases []*observed, runs [2]int, o Criteria) (tests int, shift *tested) {
	strength := prior(pools(cases))
	var family []*tested
	var few []*observed
	for _, c := range cases {
		var n noise
		switch {
		case o.BetweenRunCV > 0:
			n = noise{o.BetweenRunCV*o.BetweenRunCV + c.within, math.Inf(1)}
		case c.enough():
			n = c.pooled.of(c, strength)
		default:
			few = append(few, c)
			continue
		}
		t := test(c, n)
		c.test, family = &t, append(family, &t)
	}
	for _, c := range few { // with probability α any of these cases exceeds its allowance by chance
		n := c.assumed()
		c.allowance = quantile(1-o.Alpha/float64(len(few)), n.df) * c.se(n)
	}
	tests = len(family)
	if shift = common(cases, runs, o); shift == nil {
		holm(family, slices.Repeat([]float64{1 / float64(tests)}, tests))
		return tests, nil
	}
	weights := slices.Repeat([]float64{1 / float64(tests) * (1 - commonWeight)}, tests)
	holm(append(family, shift), append(weights, commonWeight))
	return tests, shift
}

// common tests the shift that all cases share.
func common(cases []*observed, runs [2]int, o Criteria) *tested {
	whole := everywhere(cases, runs)
	if len(whole) < minCommon {
		return nil
	}
	return ofRuns(shift(whole, median), o)
}

// ofRuns tests a shift by the variance of whole runs; nil if there are too few runs.
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

// The limits of a comparison.
const (
	// MinRuns is the number of runs per side below which nothing is concluded, unless the variation
	// between runs is given.
	MinRuns = 3
	// HostRuns is the number of runs per side that is asked for if hosts differ. If runs have two equally
	// frequent modes, n runs per side have one mode in BASE and the other in NEW in 2 of 2^(2n)
	// comparisons: 3 % with 3 runs per side, 0.2 % with 5.
	HostRuns = 5
	// RankRuns is the least number of runs per side for which a rank test is shown, too.
	RankRuns = 10
	// minCommon is the least number of cases for which the common shift is tested.
	minCommon = 4
	// commonWeight is the share of α for the test of a common shift; the cases share the rest equally. A
	// common shift has the variance of whole runs and few degrees of freedom. If it got the same part of α
	// as each of a hundred cases, a shift of 3 % in 6 runs per side that vary by 1 % would be found in one
	// comparison of three.
	commonWeight = 0.25
	// level is the confidence level of the intervals.
	level = 0.95
)

// `tested` is the outcome of one test of the hypothesis that there is no difference.
type tested struct {
	difference, lo, hi float64
	noise              noise
	// p is two-sided; adjusted is p after Holm's procedure over the family.
	p, adjusted float64
}

// test compares the sides of a case, given its noise.
func test(c *observed, n noise) tested {
	t := tested{difference: c.difference(), noise: n}
	se := c.se(n)
	t.p = twoSided(t.difference, se, n.df)
	half := quantile((1+level)/2, n.df) * se
	t.lo, t.hi = t.difference-half, t.difference+half
	return t
}

// se returns the standard error of the case's difference, given its noise.
func (c *observed) se(n noise) float64 {
	return math.Sqrt(max(n.variance, c.rounding) * (1/float64(len(c.sides[0])) + 1/float64(len(c.sides[1]))))
}

// twoSided returns the probability that chance gives at least this difference, in either direction.
func twoSided(difference, se, df float64) float64 {
	switch {
	case difference == 0:
		return 1
	case se == 0:
		return 0
	}
	t := difference / se
	if math.IsInf(df, 1) {
		return math.Erfc(math.Abs(t) / math.Sqrt2)
	}
	// The regularised incomplete beta function keeps its precision in the tail, where 1 minus the
	// distribution function loses it.
	return mathext.RegIncBeta(df/2, 0.5, df/(df+t*t))
}

// quantile returns a quantile of Student's t; of the normal distribution if df is infinite.
func quantile(p, df float64) float64 {
	if math.IsInf(df, 1) {
		return distuv.UnitNormal.Quantile(p)
	}
	return distuv.StudentsT{Sigma: 1, Nu: df}.Quantile(p)
}

// holm adjusts the p-values by Holm's step-down procedure with weights (Holm 1979, §4),
// which need not sum to 1: a test is rejected at α if its adjusted p is at most α.
func holm(tests []*tested, weights []float64) {
	order := make([]int, len(tests))
	left := 0.0
	for i, w := range weights {
		order[i], left = i, left+w
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(tests[a].p/weights[a], tests[b].p/weights[b])
	})
	highest := 0.0
	for _, i := range order {
		highest = max(highest, min(1, tests[i].p/weights[i]*left))
		tests[i].adjusted = highest
		left = max(0, left-weights[i])
	}
}
