package report

import (
	"math"
	"slices"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/show/document"
)

// entry is a line of a legend. It stands for a series, or for several series whose lines coincide.
type entry struct {
	name   string
	series []int
}

// legendOf returns one entry per visible line. A series without points has no entry; series whose
// lines coincide share one.
func legendOf(c document.Chart) []entry {
	s := layOut(c, wide())
	var out []entry
	var lines [][]vec // the line of the first series of each entry
	for i, one := range c.Series {
		if len(one.Points) == 0 {
			continue
		}
		line := slice.Map(one.Points, func(p document.Point) vec { return s.at(float64(p.Bytes), p.Value) })
		at := slices.IndexFunc(lines, func(o []vec) bool { return c.Quantity != document.Setting && coincide(o, line) })
		if at < 0 {
			out, lines = append(out, entry{series: []int{i}}), append(lines, line)
			continue
		}
		out[at].series = append(out[at].series, i)
	}
	for i := range out {
		names := slice.Map(out[i].series, func(k int) string { return c.Series[k].Name })
		out[i].name = strings.Join(names, " and ")
		if len(names) > 1 {
			out[i].name += ": one line"
		}
	}
	return out
}

// coincide reports whether the distance between two lines is nowhere larger than the width of a
// line.
func coincide(a, b []vec) bool {
	const apart = 2.5 // pixels of the wide picture
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if math.Hypot(a[i].x-b[i].x, a[i].y-b[i].y) > apart {
			return false
		}
	}
	return true
}
