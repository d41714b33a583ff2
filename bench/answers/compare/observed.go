package compare

import (
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
)

// `observed` holds one case of all runs that have it.
type observed struct {
	// pool is the name of the cases that share a variance between runs. pooled has that variance; nil if
	// each side has a single run.
	pool   string
	pooled *pool
	// bytes is the size of a collective's case; 0 for others.
	bytes int64
	// test is nil if the case was not tested. allowance is then the difference, as a logarithm, that runs
	// of the same thing may have.
	test      *tested
	allowance float64
	// sides has the logarithms of the run medians in seconds, of BASE and of NEW.
	sides [2][]float64
	// rounding is the variance per run that comes from the rounding of an imported log.
	rounding float64
	// `within` is the variance of a run's own median, from its interval; 0 if unknown.
	within float64
}

// difference returns the logarithm of the ratio of NEW to BASE.
func (c *observed) difference() float64 { return stat.Mean(c.sides[1]) - stat.Mean(c.sides[0]) }

// df returns the number of degrees of freedom of the case's own variance.
func (c *observed) df() int { return max(0, len(c.sides[0])-1) + max(0, len(c.sides[1])-1) }

// residuals returns the values minus the mean of their side, BASE first.
func (c *observed) residuals() []float64 {
	out := make([]float64, 0, len(c.sides[0])+len(c.sides[1]))
	for _, side := range c.sides {
		m := stat.Mean(side)
		out = append(out, slice.Map(side, func(v float64) float64 { return v - m })...)
	}
	return out
}

// squares returns the sum of the squared residuals.
func (c *observed) squares() float64 {
	return slice.Sum(c.residuals(), func(r float64) float64 { return r * r })
}

// `enough` reports whether both sides have enough runs for a verdict.
func (c *observed) enough() bool { return min(len(c.sides[0]), len(c.sides[1])) >= MinRuns }

// `everywhere` returns the cases that have a time in every run.
func everywhere(cases []*observed, runs [2]int) []*observed {
	return slices.DeleteFunc(slices.Clone(cases), func(c *observed) bool { return len(c.sides[0]) != runs[0] || len(c.sides[1]) != runs[1] })
}

// shift returns for each run the change common to its cases: `middle`, over the cases, of the difference between the
// run's value and the mean of both sides. If `middle` is the median, a few cases that changed a lot do not matter. The
// cases must have a time in every run.
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
