package report

import (
	"math"
	"slices"

	"zbench/bench/document"
)

// costAxis is linear and begins beneath the best setting: the name of the band stands there, below the markers.
func costAxis(c document.Chart, count int) axis {
	top := document.CostTop(c)
	a := axis{lo: -top * 0.1, hi: top, title: "how much longer a step is"}
	a.ticks = percentTicks(a, count, "+")
	return a
}

// settingSpan is what the x axis of a chart of settings shows: the part of the curve that the axis of costs
// holds, every setting with a name, and the model's range.
func settingSpan(c document.Chart) (lo, hi int64) {
	shown := document.Chart{Series: slices.Clone(c.Series)}
	shown.Series[0].Points = below(c.Series[0].Points, document.CostTop(c))
	lo, hi = document.SizeRange(shown)
	if c.Range != nil {
		lo, hi = min(lo, c.Range.Lo), max(hi, c.Range.Hi)
	}
	return lo, hi
}

// below cuts a curve where it leaves the axis at the top. What enters the plot again
// begins there: the x axis is logarithmic, and so is the interpolation.
func below(points []document.Point, top float64) []document.Point {
	first := slices.IndexFunc(points, func(p document.Point) bool { return p.Value <= top })
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
func crossing(within, above document.Point, top float64) document.Point {
	part := (top - within.Value) / (above.Value - within.Value)
	lo, hi := math.Log(float64(within.Bytes)), math.Log(float64(above.Bytes))
	return document.Point{Bytes: int64(math.Round(math.Exp(lo + part*(hi-lo)))), Value: top, Extrapolated: above.Extrapolated}
}
