package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"zbench/bench/base/unit"
	"zbench/bench/show/document"
)

// format is the size of a picture, and what is around the plot.
type format struct {
	width, height float64
	font          float64
	// framed adds title, subtitle and legend for a stand-alone picture. On a page these are text
	// around the picture.
	framed bool
}

// The forms: two for the page, of which the style sheet shows the one that fits, a small one for
// many similar charts, and one for a stand-alone picture.
func wide() format   { return format{width: 1060, height: 430, font: 13} }
func narrow() format { return format{width: 366, height: 330, font: 12} }
func small() format  { return format{width: 366, height: 250, font: 12} }
func alone() format  { return format{width: 1200, height: 700, font: 15, framed: true} }

// margin returns the width of the empty strip at the left. The page has a margin of its own.
func (f format) margin() float64 {
	if f.framed {
		return f.font
	}
	return 1
}

// layOut computes the positions of the whole chart.
func layOut(c document.Chart, f format) scene {
	s := scene{width: f.width, title: c.Title, desc: describe(c)}
	top := f.font * 2
	if f.framed {
		var head layer
		head, top = heading(c, f)
		s.layers = append(append(s.layers, head), keys(c, f, head)...)
		// A legend with many rows makes the picture taller, so that the plot keeps its height.
		f.height += max(0, top-f.height*0.4)
	}
	if c.Short && !f.framed {
		f.height *= 0.8
	}
	s.height = f.height
	margin := f.margin()
	s.plot = box{margin, top, f.width - f.font*1.9, f.height - f.font*3.6}
	s.y = valueAxis(c, s.plot.height(), f.font)
	if f.framed && c.Quantity == document.Spread {
		// On a page, a sentence above all charts of this kind explains the marks.
		s.y.title += ": thin line from min to max, short lines at median and p95, bar over the median’s 95 % interval"
	}
	for _, t := range s.y.ticks {
		s.plot.left = max(s.plot.left, textWidth(t.label, f.font, false)+margin+f.font*0.6)
	}
	s.x = placeAxis(c, func(text string) float64 {
		return (textWidth(text, f.font, false) + f.font) / s.plot.width()
	})
	s.layers = append(s.layers, bandLayer(s, c), grid(s, f), frame(s, c, f), roofLines(s, c))
	for i := range c.Series {
		s.layers = append(s.layers, seriesLayer(s, c, i, f))
	}
	if c.Band != nil {
		s.layers = append(s.layers, bandLabel(s, c, f))
	}
	s.layers = append(s.layers, settingRangeLayers(s, c, f)...)
	s.layers = append(s.layers, layer{series: -1, part: partLabel, texts: roofLabels(s, c, f)})
	s.layers = append(s.layers, layer{series: -1, part: partLabel, texts: rangeLabel(s, c, f)})
	if c.Empty() {
		mid := vec{(s.plot.left + s.plot.right) / 2, (s.plot.top + s.plot.bottom) / 2}
		s.layers = append(s.layers, layer{series: -1, texts: []label{
			{role: "muted", text: "no case ended with a figure", at: mid, size: f.font, anchor: middle, halo: true},
		}})
	}
	return s
}

// seriesLayer draws a series in the style of the chart's quantity.
func seriesLayer(s scene, c document.Chart, i int, f format) layer {
	switch {
	case c.Quantity == document.Spread:
		return boxLayer(s, c, i, f)
	case c.Quantity == document.Setting && i > 0:
		return markLayer(s, c, i, f)
	}
	return curveLayer(s, c, i, f)
}

// grid draws the ticks, their labels, and the lines across the plot.
func grid(s scene, f format) layer {
	l := layer{series: -1, part: partGrid}
	p, small := s.plot, f.font
	for _, t := range s.y.ticks {
		y := s.at(1, t.value).y
		l.lines = append(l.lines, stroke{role: "grid", points: []vec{{p.left, y}, {p.right, y}}, width: 1})
		l.texts = append(l.texts, label{
			role: "muted", text: t.label, size: small, anchor: end,
			at: vec{p.left - small*0.6, y + small*0.35},
		})
	}
	for _, t := range s.x.ticks {
		x := p.left + s.x.norm(t.value)*p.width()
		length := small * 0.3
		if t.label != "" {
			length = small * 0.5
			l.lines = append(l.lines, stroke{role: "grid", points: []vec{{x, p.top}, {x, p.bottom}}, width: 1})
			text := label{role: "muted", text: t.label, size: small, anchor: middle, at: vec{x, p.bottom + small*1.7}}
			if text.bounds().inside(box{0, 0, s.width, s.height}) {
				l.texts = append(l.texts, text)
			}
		}
		l.lines = append(l.lines, stroke{role: "line", points: []vec{{x, p.bottom}, {x, p.bottom + length}}, width: 1})
	}
	return l
}

// frame draws the axes and their titles.
func frame(s scene, c document.Chart, f format) layer {
	l := layer{series: -1}
	p, small := s.plot, f.font
	l.lines = append(l.lines, stroke{role: "muted", points: []vec{{p.left, p.bottom}, {p.right, p.bottom}}, width: 1})
	title := s.y.title
	if first, _, _ := strings.Cut(c.Mark, " · "); first != "" && !f.framed { // the mark of a simulation is never shortened
		title = fitting(title, p.right-f.margin()-textWidth(first, small, true)-2*small, small, false)
	}
	l.texts = append(
		l.texts,
		label{role: "text", text: title, size: small, anchor: start, at: vec{f.margin(), p.top - small*0.9}},
		label{role: "text", text: s.x.title, size: small, anchor: end, at: vec{p.right, s.height - small*0.5}},
	)
	if room := p.right - l.texts[len(l.texts)-2].bounds().right - small; c.Mark != "" && !f.framed {
		l.texts = append(l.texts, label{
			role: "warntext", text: fittingMark(c.Mark, room, small), size: small, anchor: end, bold: true,
			at: vec{p.right, p.top - small*0.9},
		})
	}
	return l
}

// fitting shortens text to a width and ends it with an ellipsis.
func fitting(text string, room, size float64, bold bool) string {
	if utf8.RuneCountInString(text) < 2 || textWidth(text, size, bold) <= room {
		return text
	}
	used, fits := textWidth("…", size, bold), 0
	for i, r := range text {
		if used > room {
			break
		}
		fits = i
		used += textWidth(string(r), size, bold)
	}
	return text[:fits] + "…"
}

// fittingMark shortens a mark to a width, by whole phrases if possible: half of "faults planted"
// says less than "SIMULATED" alone.
func fittingMark(mark string, room, size float64) string {
	for textWidth(mark, size, true) > room {
		at := strings.LastIndex(mark, " · ")
		if at < 0 {
			break
		}
		mark = mark[:at]
	}
	return fitting(mark, room, size, true)
}

// mostDots is the largest number of markers on a curve. More markers would look like a ribbon.
const mostDots = 60

// curveLayer draws the line of a series, its interval bars and its markers.
func curveLayer(s scene, c document.Chart, i int, f format) layer {
	l := layer{series: i, fills: rangeFills(s, c, i)}
	role := seriesRole(i)
	line := stroke{role: role, width: f.font * 0.14, dash: dashOf(i)}
	burst := stroke{role: role, width: 1}
	every := 1 + len(c.Series[i].Points)/mostDots
	points := c.Series[i].Points
	if c.Quantity == document.Setting {
		points = below(points, s.y.hi)
	}
	for k, p := range points {
		at := s.at(float64(p.Bytes), p.Value)
		line.points = append(line.points, at)
		if p.Burst > 0 {
			burst.points = append(burst.points, s.at(float64(p.Bytes), p.Burst))
		}
		if p.Bounded {
			l.lines = append(l.lines, stroke{role: role, width: 1.2, points: []vec{
				s.at(float64(p.Bytes), p.Lo), s.at(float64(p.Bytes), p.Hi),
			}})
		}
		if k%every == 0 && (c.Quantity != document.Setting || p.Value < s.y.hi) {
			l.dots = append(l.dots, dot{
				at: at, radius: f.font * 0.28, hollow: p.Extrapolated,
				tip: c.Series[i].Name + ", " + c.Quantity.Place(p) + ": " + p.Text(c.Quantity),
			})
		}
	}
	if knee := c.Series[i].Knee; knee != nil {
		l.dots = append(l.dots, dot{
			at: s.at(float64(knee.Bytes), knee.Value), radius: f.font * 0.55, hollow: true,
			tip: c.Series[i].Name + ", " + c.Quantity.Place(*knee) + ": " + unit.Percent(document.KneeShare) + " of the plateau from here on",
		})
	}
	for _, whole := range []stroke{line, burst} {
		if len(whole.points) > 1 && !c.Series[i].Loose {
			l.lines = append([]stroke{whole}, l.lines...)
		}
	}
	return l
}

// describe describes the chart in one sentence, for readers who cannot see it.
func describe(c document.Chart) string {
	if c.Empty() {
		return "No case ended with a figure to draw."
	}
	if c.Quantity == document.Setting {
		return describeSetting(c)
	}
	lo, hi := document.SizeRange(c)
	from, to := c.Quantity.Place(document.Point{Bytes: lo}), c.Quantity.Place(document.Point{Bytes: hi})
	parts := []string{fmt.Sprintf("%s of %s from %s to %s.", c.Quantity.Row().Name, unit.Count(int64(len(c.Series)), "curve"), from, to)}
	for _, s := range c.Series {
		if n := len(s.Points); n > 0 {
			parts = append(parts, fmt.Sprintf("%s: %s at %s, %s at %s.", s.Name, c.Quantity.Format(s.Points[0].Value),
				c.Quantity.Place(s.Points[0]), c.Quantity.Format(s.Points[n-1].Value), c.Quantity.Place(s.Points[n-1])))
		}
	}
	if c.Mark != "" {
		parts = append(parts, c.Mark+".")
	}
	return strings.Join(parts, " ")
}
