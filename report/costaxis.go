package report

import (
	"math"
	"slices"
)

// What the axis of a setting's cost shows at least, and how much more than the
// dearest setting with a name. Settings that cost several times as much as the best
// are of no interest, and on a linear axis they would flatten all others.
const (
	leastCost = 0.05
	costRoom  = 1.3
)

// costTop is the highest cost over the best that the chart of settings shows, as a share.
func costTop(c Chart) float64 {
	top := leastCost
	for _, s := range c.Series[1:] {
		for _, p := range s.Points {
			top = max(top, p.Value*costRoom)
		}
	}
	dearest := 0.0
	for _, p := range c.Series[0].Points {
		dearest = max(dearest, p.Value)
	}
	return max(0.01, min(top, dearest*1.05))
}

// costAxis is linear and begins at the best setting.
func costAxis(c Chart, count int) axis {
	top := costTop(c)
	a := axis{lo: -top * 0.03, hi: top, title: "step time over the best"}
	a.ticks = percentTicks(a, count, "+")
	return a
}

// below cuts a curve where it leaves the axis at the top. What enters the plot again
// begins there: the x axis is logarithmic, and so is the interpolation.
func below(points []Point, top float64) []Point {
	first := slices.IndexFunc(points, func(p Point) bool { return p.Value <= top })
	if first < 0 {
		return nil
	}
	last := len(points) - 1
	for points[last].Value > top {
		last--
	}
	out := slices.Clone(points[first : last+1])
	for i := range out {
		out[i].Value = min(out[i].Value, top)
	}
	if first > 0 {
		out = slices.Insert(out, 0, crossing(points[first], points[first-1], top))
	}
	if last < len(points)-1 {
		out = append(out, crossing(points[last], points[last+1], top))
	}
	return out
}

// crossing is where the line from a point within to one above reaches the top.
func crossing(within, above Point, top float64) Point {
	part := (top - within.Value) / (above.Value - within.Value)
	lo, hi := math.Log(float64(within.Bytes)), math.Log(float64(above.Bytes))
	return Point{Bytes: int64(math.Round(math.Exp(lo + part*(hi-lo)))), Value: top, Extrapolated: above.Extrapolated}
}
