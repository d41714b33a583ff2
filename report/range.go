package report

import (
	"slices"

	"zbench/bench/show/document"
)

// fill is the area between two lines, in the translucent colour of a role.
type fill struct {
	role   string
	points []vec
}

// shine is the opacity of a fill. Even six overlapping fills leave the grid visible.
const shine = 0.13

// rangeFills returns the areas between the slow and the fast end of the model, one per run of
// neighbouring points that have both ends.
func rangeFills(s scene, c document.Chart, i int) []fill {
	var out []fill
	var slow, fast []vec
	end := func() {
		if len(slow) > 1 {
			slices.Reverse(slow)
			out = append(out, fill{seriesRole(i), append(fast, slow...)})
		}
		slow, fast = nil, nil
	}
	for _, p := range c.Series[i].Points {
		if !p.Bracketed() {
			end()
			continue
		}
		slow = append(slow, s.at(float64(p.Bytes), p.Slow))
		fast = append(fast, s.at(float64(p.Bytes), p.Fast))
	}
	end()
	return out
}

// rangeLabel names the shaded areas once. It looks for a point where the area is wide enough, and
// puts the label where it hides the fewest points: to the left above the fast end, or below the
// slow end.
func rangeLabel(s scene, c document.Chart, f format) []label {
	most := 0.0
	for _, one := range c.Series {
		for _, p := range one.Points {
			most = max(most, p.Fast-p.Slow)
		}
	}
	var best []label
	least := 0
	for _, one := range c.Series {
		for _, p := range one.Points {
			if !p.Bracketed() || p.Fast-p.Slow < most/4 {
				continue
			}
			for _, l := range besideRange(s, c.Quantity.RangeName(), p, f) {
				cost, free := 2*hides(l.bounds(), s, -1), l.bounds().inside(s.plot)
				if shaded(s, l.bounds()) {
					cost++
				}
				free = free && !slices.ContainsFunc(s.labels(), func(o label) bool { return l.bounds().touches(o.bounds()) })
				if free && (best == nil || cost < least) {
					best, least = []label{l}, cost
				}
			}
		}
	}
	return best // if the label does not fit, the note beneath the chart has it
}

// shaded returns true if a corner of a box lies in a fill.
func shaded(s scene, b box) bool {
	for _, l := range s.layers {
		for _, f := range l.fills {
			if slices.ContainsFunc(b.corners(), f.holds) {
				return true
			}
		}
	}
	return false
}

// holds reports whether a point lies in the area: a ray from the point then crosses the outline an
// odd number of times.
func (f fill) holds(p vec) bool {
	in := false
	for i, a := range f.points {
		b := f.points[(i+1)%len(f.points)]
		if (a.y > p.y) != (b.y > p.y) && p.x < a.x+(p.y-a.y)/(b.y-a.y)*(b.x-a.x) {
			in = !in
		}
	}
	return in
}

// besideRange returns the possible places of a label next to a point's range.
func besideRange(s scene, name string, p document.Point, f format) []label {
	fast, slow := s.at(float64(p.Bytes), p.Fast), s.at(float64(p.Bytes), p.Slow)
	l := label{role: "muted", text: name, size: f.font, anchor: end, halo: true, at: vec{fast.x - f.font, fast.y}}
	beneath := l
	beneath.at = vec{slow.x, slow.y + f.font*1.6}
	return []label{l, beneath}
}
