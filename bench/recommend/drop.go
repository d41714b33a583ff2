package recommend

import (
	"fmt"
	"slices"

	"zbench/bench/record"
	"zbench/bench/unit"
)

// Bounds on what a curve is drawn through.
const (
	// maxCV is the coefficient of variation beyond which a median says nothing.
	maxCV = 0.5
	// MinSamples is the number of samples below which a point's spread is unknown.
	MinSamples = 5
	// outlier is the factor over or under what its neighbours lead to expect beyond
	// which a point of unknown spread is an accident, not a property of the library:
	// sizes that are reproducibly slow are up to 3.5 times so (2 ms and 7 ms for
	// sizes of 6.29 MB, NVIDIA/nccl#413).
	outlier = 4.0
)

// drop leaves out what would mislead, names it, and doubts the rest.
func (c *Curve) drop() {
	out := func(reason func(i int) string) {
		bad := map[int64]string{}
		for i, p := range c.Points {
			if why := reason(i); why != "" {
				bad[p.Bytes] = why
			}
		}
		c.Points = slices.DeleteFunc(c.Points, func(p Point) bool {
			why, ok := bad[p.Bytes]
			if ok {
				c.Dropped = append(c.Dropped, Drop{p.Bytes, why})
			}
			return ok
		})
	}
	out(func(i int) string {
		if cv := c.Points[i].CV; cv != nil && *cv > maxCV && c.Points[i].N >= MinSamples {
			return fmt.Sprintf("its samples vary by %.0f %%", 100**cv)
		}
		return ""
	})
	c.dropOutliers()
	few := 0
	for _, p := range c.Points {
		if p.N < MinSamples {
			few++
		}
	}
	if len(c.Dropped) > 0 {
		d := c.Dropped[0]
		c.warn("dropped", fmt.Sprintf("%d of %d sizes left out, the first at %s: %s",
			len(c.Dropped), len(c.Dropped)+len(c.Points), unit.Bytes(d.Bytes), d.Reason), "repeat the sweep at these sizes")
	}
	if few > 0 {
		c.warn("few_samples", fmt.Sprintf("%d of %d sizes have fewer than %d samples: their spread is not known", few, len(c.Points), MinSamples),
			"sweep with zbench, or raise --max-time")
	}
}

func (c *Curve) warn(code, message, hint string) {
	c.Warnings = append(c.Warnings, record.Warning{Code: code, Message: message, Hint: hint})
}
