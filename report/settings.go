package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/show/document"
)

// bandLayer shades the settings that are equally good.
func bandLayer(s scene, c document.Chart) layer {
	l := layer{series: -1, part: partBand}
	if c.Band == nil {
		return l
	}
	p := s.plot
	for _, x := range append([]document.Stretch{{Lo: c.Band.Lo, Hi: c.Band.Hi}}, c.Band.Others...) {
		left := max(p.left, s.at(float64(x.Lo), 1).x)
		right := min(p.right, s.at(float64(x.Hi), 1).x)
		if right-left < 2 { // a single setting must still be visible
			left, right = left-1, left+1
		}
		l.areas = append(l.areas, area{role: "band", box: box{left, p.top, right, p.bottom}})
		for _, x := range []float64{left, right} {
			l.lines = append(l.lines, stroke{role: "muted", points: []vec{{x, p.top}, {x, p.bottom}}, width: 1, dash: []float64{1, 3}})
		}
	}
	return l
}

// bandLabel writes the name of the band at the bottom of the plot, above everything else.
func bandLabel(s scene, c document.Chart, f format) layer {
	p := s.plot
	half := textWidth(c.Band.Label, f.font, false) / 2
	mid := (max(p.left, s.at(float64(c.Band.Lo), 1).x) + min(p.right, s.at(float64(c.Band.Hi), 1).x)) / 2
	return layer{series: -1, part: partLabel, texts: []label{{
		role: "muted", text: c.Band.Label, size: f.font, anchor: middle, halo: true,
		at: vec{min(max(mid, p.left+half), p.right-half), p.bottom - f.font*0.6},
	}}}
}

// markLayer draws a line through a named setting, its point and its name. Each name has a row of
// its own below the top, so that names do not overlap.
func markLayer(s scene, c document.Chart, i int, f format) layer {
	l := layer{series: i}
	pt := c.Series[i].Points[0]
	at := s.at(float64(pt.Bytes), min(pt.Value, s.y.hi))
	y := s.plot.top + f.font*1.3*float64(i)
	l.lines = append(l.lines, stroke{role: seriesRole(i), points: []vec{{at.x, y}, {at.x, s.plot.bottom}}, width: 1.4, dash: dashOf(i)})
	l.dots = append(l.dots, dot{at: at, radius: f.font * 0.42, hollow: i > 1, tip: c.Series[i].Name + ": " + pt.Words})
	text := label{role: "text", text: c.Series[i].Name, size: f.font, anchor: start, at: vec{at.x + f.font*0.4, y}, halo: true, bold: i == 1}
	left := i > 1 && pt.Bytes < c.Series[1].Points[0].Bytes && at.x-s.plot.left > textWidth(text.text, f.font, true)+f.font
	if left || text.bounds().right > s.plot.right {
		text.anchor, text.at.x = end, at.x-f.font*0.4
	}
	l.texts = append(l.texts, text)
	return l
}

// describeSetting describes the chart of settings in words.
func describeSetting(c document.Chart) string {
	all := c.Series[0].Points
	first, last := all[0], all[len(all)-1]
	said := []string{fmt.Sprintf("Step time over bucket size, from %s: %s, to %s: %s.", document.Setting.Place(first), first.Words, document.Setting.Place(last), last.Words)}
	said = append(said, slice.Map(c.Series[1:], func(m document.Series) string { return m.Name + ": " + m.Points[0].Words + "." })...)
	if c.Band != nil {
		for _, x := range append([]document.Stretch{{Lo: c.Band.Lo, Hi: c.Band.Hi}}, c.Band.Others...) {
			said = append(said, fmt.Sprintf("%s from %s to %s elements.", c.Band.Label, unit.Number(float64(x.Lo)), unit.Number(float64(x.Hi))))
		}
	}
	if c.Range != nil {
		said = append(said, plain.Capital(c.Range.Label)+" elements.")
	}
	if c.Mark != "" {
		said = append(said, c.Mark+".")
	}
	return strings.Join(said, " ")
}

// settingSpan returns the range of the x axis in a chart of settings: the part of the curve within
// the cost axis, and every named setting. The model's range may be wider, because its ends have no
// points there.
func settingSpan(c document.Chart) (lo, hi int64) {
	shown := document.Chart{Series: slices.Clone(c.Series)}
	shown.Series[0].Points = below(c.Series[0].Points, document.CostTop(c))
	return document.SizeRange(shown)
}

// `below` removes the parts of a curve that are above the top of the axis. Where the curve enters
// the plot, it begins at an interpolated point. The interpolation is logarithmic, as the x axis is.
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

// crossing returns the point at which a line reaches the top, from a point within the plot to a
// point above it.
func crossing(within, above document.Point, top float64) document.Point {
	part := (top - within.Value) / (above.Value - within.Value)
	lo, hi := math.Log(float64(within.Bytes)), math.Log(float64(above.Bytes))
	return document.Point{Bytes: int64(math.Round(math.Exp(lo + part*(hi-lo)))), Value: top, Extrapolated: above.Extrapolated}
}

// settingRangeLayers draws the range as a line with its name. Ends within the plot have names, too.
// The line is below the rows with the names of settings.
func settingRangeLayers(s scene, c document.Chart, f format) []layer {
	if c.Range == nil {
		return nil
	}
	p := s.plot
	y := p.top + f.font*(1.3*float64(len(c.Series))+1.2)
	from, to := s.at(float64(c.Range.Lo), 1).x, s.at(float64(c.Range.Hi), 1).x
	left, right := min(max(p.left, from), p.right), max(min(p.right, to), p.left)
	l := layer{series: -1, part: partBand, lines: []stroke{{role: "text", points: []vec{{left, y}, {right, y}}, width: 1.6}}}
	for _, x := range slice.Where([]float64{from, to}, func(x float64) bool { return x >= p.left && x <= p.right }) {
		l.lines = append(l.lines, stroke{role: "text", points: []vec{{x, y - f.font*0.4}, {x, y + f.font*0.4}}, width: 1.6})
	}
	half := textWidth(c.Range.Label, f.font, false) / 2
	name := label{role: "text", text: c.Range.Label, size: f.font, anchor: middle, halo: true}
	name.at = vec{min(max((left+right)/2, p.left+half), p.right-half), y + f.font*1.4}
	return []layer{l, {series: -1, part: partLabel, texts: []label{name}}}
}
