package compare

import (
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
)

// observed holds one case of all runs that have it.
type observed struct {
	// pool names the cases that share a between-run variance, which pooled holds; nil if each side
	// has one run.
	pool   string
	pooled *pool
	// bytes is the size of a collective's case; 0 for others.
	bytes int64
	// test is nil if the case was not tested. allowance is then the difference that runs of the
	// same thing may have.
	test      *tested
	allowance float64
	// sides are log seconds, the logarithms of the run medians of BASE and of NEW.
	sides [2][]float64
	// rounding is the variance that the printed digits of an imported log leave, per run.
	rounding float64
	// within is the variance of a run's own median, by its interval; 0 where unknown.
	within float64
}

// difference is the log ratio of NEW over BASE.
func (c *observed) difference() float64 { return stat.Mean(c.sides[1]) - stat.Mean(c.sides[0]) }

// df is the degrees of freedom of the case's own variance.
func (c *observed) df() int { return max(0, len(c.sides[0])-1) + max(0, len(c.sides[1])-1) }

// residuals are the values less the mean of their side, BASE first.
func (c *observed) residuals() []float64 {
	out := make([]float64, 0, len(c.sides[0])+len(c.sides[1]))
	for _, side := range c.sides {
		m := stat.Mean(side)
		out = append(out, slice.Map(side, func(v float64) float64 { return v - m })...)
	}
	return out
}

// squares is the sum of the squared residuals.
func (c *observed) squares() float64 {
	return slice.Sum(c.residuals(), func(r float64) float64 { return r * r })
}

// enough reports whether both sides have enough runs for a verdict.
func (c *observed) enough() bool { return min(len(c.sides[0]), len(c.sides[1])) >= MinRuns }

// everywhere returns the cases that have a time in every run.
func everywhere(cases []*observed, runs [2]int) []*observed {
	return slices.DeleteFunc(slices.Clone(cases), func(c *observed) bool { return len(c.sides[0]) != runs[0] || len(c.sides[1]) != runs[1] })
}

// shift returns the change common to the cases of each run: the median over the cases of the run's
// distance from the middle of both sides of the case. The median ignores a few cases that changed a
// lot. The cases must have a time in every run.
func shift(whole []*observed, middle func([]float64) float64) *observed {
	out, values := &observed{}, make([]float64, len(whole))
	for s := range out.sides {
		for run := range whole[0].sides[s] {
			for i, c := range whole {
				values[i] = c.sides[s][run] - (stat.Mean(c.sides[0])+stat.Mean(c.sides[1]))/2
			}
			out.sides[s] = append(out.sides[s], middle(values))
		}
	}
	return out
}
