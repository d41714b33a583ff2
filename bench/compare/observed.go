package compare

import (
	"math"
	"slices"

	"zbench/bench/stat"
)

// observed is one case in all runs that have it.
type observed struct {
	// pool names the cases that share a between-run variance, which is that of pooled; nil where
	// the case has one run a side.
	pool   string
	pooled *pool
	// test is nil where the case was not tested.
	test *tested
	// base and new are log seconds, the logarithms of the run medians.
	base, new []float64
	// rounding is the variance that the printed digits of an imported log leave, per run.
	rounding float64
	// within is the variance of a run's own median, by its interval; 0 where unknown.
	within float64
}

// difference is the log ratio of NEW over BASE.
func (c *observed) difference() float64 { return stat.Mean(c.new) - stat.Mean(c.base) }

// df is the degrees of freedom of the case's own variance.
func (c *observed) df() int { return max(0, len(c.base)-1) + max(0, len(c.new)-1) }

// residuals are the values less the mean of their side, base first.
func (c *observed) residuals() []float64 {
	out := make([]float64, 0, len(c.base)+len(c.new))
	for _, side := range [][]float64{c.base, c.new} {
		m := stat.Mean(side)
		for _, v := range side {
			out = append(out, v-m)
		}
	}
	return out
}

// squares is the sum of the squared residuals.
func (c *observed) squares() float64 {
	sum := 0.0
	for _, r := range c.residuals() {
		sum += r * r
	}
	return sum
}

// enough tells whether both sides have the runs that a verdict takes.
func (c *observed) enough() bool { return len(c.base) >= MinRuns && len(c.new) >= MinRuns }

// spread is the variance of the difference, per variance of one run.
func (c *observed) spread() float64 { return 1/float64(len(c.base)) + 1/float64(len(c.new)) }

// everywhere are the cases that have a time of every run.
func everywhere(cases []*observed, base, fresh int) []*observed {
	return slices.DeleteFunc(slices.Clone(cases), func(c *observed) bool { return len(c.base) != base || len(c.new) != fresh })
}

// shift is what the cases of each run have in common: the middle, over the cases, of how far the run is
// from the middle of both sides of the case. With the median as the middle, a few cases that changed a
// lot do not move it. The cases must have a time of every run.
func shift(whole []*observed, base, fresh int, middle func([]float64) float64) *observed {
	out := &observed{}
	at := func(side func(*observed) []float64, run int) float64 {
		values := make([]float64, len(whole))
		for i, c := range whole {
			values[i] = side(c)[run] - (stat.Mean(c.base)+stat.Mean(c.new))/2
		}
		return middle(values)
	}
	for i := range base {
		out.base = append(out.base, at(func(c *observed) []float64 { return c.base }, i))
	}
	for i := range fresh {
		out.new = append(out.new, at(func(c *observed) []float64 { return c.new }, i))
	}
	return out
}

// logOf is the logarithm of seconds; false unless they are positive and finite.
func logOf(seconds float64) (float64, bool) {
	if !(seconds > 0) || math.IsInf(seconds, 1) {
		return 0, false
	}
	return math.Log(seconds), true
}
