package recommend

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/run/record"
)

// Limits on the points of a curve.
const (
	// maxCV is the coefficient of variation beyond which a median says nothing.
	maxCV = 0.5
	// minSamples is the number of samples below which a point's spread is unknown.
	minSamples = 5
	// outlier is the largest allowed ratio between a point's time and the time expected from its
	// neighbours. A point of unknown spread with a larger ratio is dropped. Sizes that a library handles
	// badly are up to 3.5 times as slow (2 ms and 7 ms for sizes of 6.29 MB, NVIDIA/nccl#413).
	outlier = 4.0
)

// drop removes misleading points, lists them in Dropped, and adds warnings.
func (c *Curve) drop() {
	c.Points = slices.DeleteFunc(c.Points, func(p Point) bool {
		noisy := p.CV != nil && *p.CV > maxCV && p.N >= minSamples
		if noisy {
			c.Dropped = append(c.Dropped, Drop{p.Bytes, fmt.Sprintf("its samples vary by %.0f %%", 100**p.CV)})
		}
		return noisy
	})
	c.dropOutliers()
	few := slice.Count(c.Points, func(p Point) bool { return p.N < minSamples })
	if len(c.Dropped) > 0 {
		d := c.Dropped[0]
		c.warn("dropped", fmt.Sprintf("%d of %d sizes left out, the first at %s: %s",
			len(c.Dropped), len(c.Dropped)+len(c.Points), unit.Bytes(d.Bytes), d.Reason), "repeat the sweep at these sizes")
	}
	if few > 0 {
		c.warn("few_samples", fmt.Sprintf("%d of %d sizes have fewer than %d samples: their spread is not known", few, len(c.Points), minSamples),
			"sweep with zbench, or raise --max-time")
	}
}

func (c *Curve) warn(code, message, hint string) {
	c.Warnings = append(c.Warnings, record.Warning{Code: code, Message: message, Hint: hint})
}

// dropOutliers removes points of unknown spread that cannot be right, one at a time. A wrong point makes
// its neighbours look wrong too, so each time it removes the point whose removal leaves the least error.
func (c *Curve) dropOutliers() {
	for {
		bad := outliers(c.Points)
		if len(bad) == 0 {
			return
		}
		worst := slices.MinFunc(bad, func(a, b int) int { return cmp.Compare(remainingError(c.Points, a), remainingError(c.Points, b)) })
		p := c.Points[worst]
		off := offBy(c.Points, worst)
		why := fmt.Sprintf("it takes %.0f times what its neighbours lead to expect", off)
		if off < 1 {
			why = fmt.Sprintf("it takes %.0f times less than its neighbours lead to expect", 1/off)
		}
		c.Dropped = append(c.Dropped, Drop{p.Bytes, why})
		c.Points = slices.Delete(c.Points, worst, worst+1)
	}
}

// outliers returns the indices of the points that are too slow or too fast by more than the factor
// `outlier`.
func outliers(points []Point) []int {
	var bad []int
	for i := range points {
		if math.Abs(math.Log(offBy(points, i))) > math.Log(outlier) {
			bad = append(bad, i)
		}
	}
	return bad
}

// remainingError returns the sum of the outliers' errors, as logarithms, if one point is removed.
func remainingError(points []Point, without int) float64 {
	rest := slices.Delete(slices.Clone(points), without, without+1)
	return slice.Sum(outliers(rest), func(i int) float64 { return math.Abs(math.Log(offBy(rest, i))) })
}

// offBy returns the time of a point of unknown spread divided by the time expected from its neighbours; 1 if
// it lies in the expected range, or if its spread is known.
func offBy(points []Point, i int) float64 {
	if points[i].N >= minSamples || len(points) < 3 {
		return 1
	}
	lo, hi := expected(points, i)
	switch t := points[i].Seconds; {
	case t > hi:
		return t / hi
	case t < lo:
		return t / lo
	}
	return 1
}

// exponentSlack is the distance by which a curve's exponent may lie outside the range 0 (latency) to 1
// (bandwidth). A curve with an exponent outside this range is not extrapolated.
const exponentSlack = 0.3

// `expected` bounds the time of a point by its two nearest neighbours: it lies between the power law and the
// straight line through them. If both neighbours lie on one side, the time also lies between the nearer
// neighbour's time and that time scaled in proportion to the size. If the times of the two neighbours do
// not rise like a curve, only the second bound counts, computed from both neighbours.
func expected(points []Point, i int) (lo, hi float64) {
	n := len(points)
	first := min(max(0, i-1), n-3)
	near := slices.Delete(slices.Clone(points[first:first+3]), i-first, i-first+1)
	a, b, s := near[0], near[1], float64(points[i].Bytes)
	u, v := float64(a.Bytes), float64(b.Bytes)
	exponent := math.Log(b.Seconds/a.Seconds) / math.Log(v/u)
	power := a.Seconds * math.Exp(exponent*math.Log(s/u))
	line := a.Seconds + (b.Seconds-a.Seconds)*(s-u)/(v-u)
	lo, hi = min(power, line), max(power, line)
	if 0 < i && i < n-1 {
		return lo, hi
	}
	nearest, far := a, b
	if i > 0 {
		nearest, far = b, a
	}
	bounds := func(p Point) (lo, hi float64) {
		t := p.Seconds * s / float64(p.Bytes)
		return min(t, p.Seconds), max(t, p.Seconds)
	}
	least, most := bounds(nearest)
	if exponent < -exponentSlack || exponent > 1+exponentSlack {
		otherLeast, otherMost := bounds(far)
		return min(least, otherLeast), max(most, otherMost)
	}
	return min(max(lo, least), most), min(max(hi, least), most)
}
