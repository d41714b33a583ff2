package report

import (
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/show/document"
)

// heading adds the title, subtitle and legend of a stand-alone picture, and returns their height.
// The plot begins below them, so that the legend covers no data.
func heading(c document.Chart, f format) (layer, float64) {
	l := layer{series: -1}
	left, room := f.font, f.width-2*f.font
	y := f.font * 2
	title := titleOf(c.Title, left, f.width, f.font)
	l.texts = append(l.texts, title)
	if c.Mark != "" {
		after := title.bounds().right + f.font
		m := label{role: "warntext", text: c.Mark, at: vec{f.width - f.font, y}, size: f.font * 1.2, anchor: end, bold: true}
		m.text = fitting(m.text, f.width-f.font-after, m.size, true)
		l.texts = append(l.texts, m)
	}
	y += f.font * 1.6
	l.texts = append(l.texts, label{
		role: "muted", text: fitting(c.Subtitle, room, f.font, false), at: vec{left, y}, size: f.font, anchor: start,
	})
	y += f.font * 1.9
	if c.Quantity == document.Spread {
		return l, y + f.font*1.5 // the title names the only series
	}
	x := left
	for _, e := range legendOf(c) {
		name := fitting(e.name, room-f.font*4, f.font, false)
		need := f.font*3.4 + textWidth(name, f.font, false) + f.font
		if x > left && x+need > f.width-f.font {
			x, y = left, y+f.font*1.6
		}
		l.texts = append(l.texts, label{role: "text", text: name, at: vec{x + f.font*3, y}, size: f.font, anchor: start})
		x += need
	}
	return l, y + f.font*3
}

// keys draws the line samples of the legend, with one layer per series, so that each sample has the
// marker and colour of its series.
func keys(c document.Chart, f format, head layer) []layer {
	if c.Quantity == document.Spread {
		return nil
	}
	var out []layer
	entries := legendOf(c)
	for k, n := range head.texts[len(head.texts)-len(entries):] {
		at := vec{n.at.x - f.font*3, n.at.y - f.font*0.35}
		for _, i := range entries[k].series {
			out = append(out, swatch(i, c.Series[i], at, f.font*2.4, f.font*0.28))
		}
	}
	return out
}

// swatch is a short piece of a series' line with a marker.
func swatch(i int, s document.Series, at vec, length, radius float64) layer {
	l := layer{series: i, dots: []dot{{at: vec{at.x + length/2, at.y}, radius: radius, hollow: hollow(s)}}}
	if !s.Loose {
		l.lines = []stroke{{role: seriesRole(i), points: []vec{at, {at.x + length, at.y}}, width: 1.8, dash: dashOf(i)}}
	}
	return l
}

// hollow returns true if all points of a series are extrapolated.
func hollow(s document.Series) bool {
	return len(s.Points) > 0 && !slices.ContainsFunc(s.Points, func(p document.Point) bool { return !p.Extrapolated })
}

// roofLines are the dashed horizontal lines behind the curves.
func roofLines(s scene, c document.Chart) layer {
	l := layer{series: -1, part: partLines}
	for _, r := range c.Roofs {
		y := s.at(1, r.Value).y
		l.lines = append(l.lines, stroke{role: "roof", points: []vec{{s.plot.left, y}, {s.plot.right, y}}, width: 1.2, dash: []float64{4, 4}})
	}
	return l
}

// roofLabels labels each roof on its line, where the label hides the fewest points. If all full
// labels fit, it uses these. Otherwise a label has the letter and the value, or only the letter.
// Labels that do not fit are in the list beneath the chart.
func roofLabels(s scene, c document.Chart, f format) []label {
	var out []label
	for _, text := range []func(document.Roof) string{
		roofText,
		func(r document.Roof) string { return r.Letter + "  " + unit.Rate(r.Value) },
		func(r document.Roof) string { return r.Letter },
	} {
		out = out[:0]
		for _, r := range c.Roofs {
			l := label{role: "roof", text: text(r), size: f.font, anchor: start, halo: true}
			fits := textWidth(l.text, f.font, false) <= s.plot.width()*0.62
			if fits && place(&l, s, s.at(1, r.Value).y, out) {
				out = append(out, l)
			}
		}
		if len(out) == len(c.Roofs) {
			break
		}
	}
	return out
}

// roofText returns the full label of a roof.
func roofText(r document.Roof) string { return r.Letter + "  " + r.Label + ", " + unit.Rate(r.Value) }

// namesRoofs reports whether the full label of every roof is in the picture.
func namesRoofs(s scene, c document.Chart) bool {
	named := slice.Where(s.labels(), func(l label) bool { return l.role == "roof" })
	return !slices.ContainsFunc(c.Roofs, func(r document.Roof) bool {
		return !slices.ContainsFunc(named, func(l label) bool { return l.text == roofText(r) })
	})
}

// place puts the label just above or below the line at y. It chooses the position that hides least.
// If several positions hide equally little, it chooses the leftmost. The label must stay inside the
// plot and must not touch earlier labels.
func place(l *label, s scene, y float64, placed []label) bool {
	best, found := 0, false
	var at vec
	for _, dy := range []float64{-l.size * 0.4, l.size * 1.1} {
		for x := s.plot.left + l.size*0.5; x < s.plot.right; x += l.size * 2 {
			l.at = vec{x, y + dy}
			b := l.bounds()
			if !b.inside(s.plot) || slices.ContainsFunc(placed, func(o label) bool { return b.touches(o.bounds()) }) {
				continue
			}
			if cost := hides(b, s, y); !found || cost < best {
				best, at, found = cost, l.at, true
			}
		}
	}
	l.at = at
	return found
}

// hides counts the points, and the lines of other roofs, that a label would cover.
func hides(b box, s scene, own float64) int {
	n := 0
	for _, l := range s.layers {
		for _, d := range l.dots {
			if b.touches(box{d.at.x - d.radius, d.at.y - d.radius, d.at.x + d.radius, d.at.y + d.radius}) {
				n++
			}
		}
		for _, k := range l.lines {
			if k.role == "roof" && k.points[0].y != own && k.points[0].y > b.top && k.points[0].y < b.bottom {
				n += 2
			}
		}
	}
	return n
}
