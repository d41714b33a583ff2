package report

import (
	"cmp"
	"slices"
	"strings"

	"zbench/bench/show/document"
)

// barForm is the geometry of a bar chart, in units of the picture.
type barForm struct {
	// width is the width of the picture. left and right are the text areas beside the bars. head is
	// the space for the title above them.
	width, left, right, head float64
	// thick is the height of a bar. letters is the height of a row of letters below a bar. The
	// space for the label above its bar is `above`; it is 0 if the label is beside the bar.
	thick, letters, above, font float64
}

// The forms: two for the page, of which the style sheet shows the one that fits, and one for a
// stand-alone picture.
var (
	wideBars   = barForm{width: 1060, left: 215, right: 300, thick: 15, letters: 13, font: 12.5}
	narrowBars = barForm{width: 366, left: 4, right: 20, thick: 12, letters: 13, above: 16, font: 11.5}
	aloneBars  = barForm{width: 1200, left: 270, right: 340, head: 40, thick: 18, letters: 16, font: 15}
)

// layOutBars computes all positions. The label of a bar says everything that its colour says.
func layOutBars(c document.Bars, f barForm) scene {
	step := f.above + f.thick + 9
	if slices.ContainsFunc(c.Bars, func(b document.Bar) bool {
		return slices.ContainsFunc(b.Marks, func(m document.BarMark) bool { return m.Letter != "" })
	}) {
		step += f.letters
	}
	s := scene{width: f.width, height: f.head + step*float64(len(c.Bars)) + 8, title: c.Title}
	if f.head > 0 {
		s.layers = append(s.layers, layer{series: -1, texts: []label{
			{role: "text", text: fitting(c.Title, f.width-2*f.font, f.font*1.4, true), at: vec{f.font, f.font * 1.8}, size: f.font * 1.4, anchor: start, bold: true},
		}})
	}
	var said []string
	for i, one := range c.Bars {
		s.layers = append(s.layers, f.one(one, f.head+step*float64(i)+4, c.Most))
		said = append(said, one.Label+": "+one.Value+".")
	}
	s.desc = strings.Join(said, " ")
	return s
}

// `one` draws a single bar, whose row begins at y.
func (f barForm) one(one document.Bar, y, most float64) layer {
	l := layer{series: -1}
	role := "s0"
	if one.Weak {
		role = "s5"
	}
	write := func(text string, x, y float64, anchor string) {
		l.texts = append(l.texts, label{role: "text", text: text, at: vec{x, y}, size: f.font, anchor: anchor})
	}
	if f.above > 0 {
		write(one.Label+": "+one.Value, f.left, y+f.above-5, start)
		y += f.above
	} else {
		write(one.Label, f.left-8, y+f.thick-3, end)
	}
	room := f.width - f.left - f.right
	length := room * one.Length / most
	l.areas = []area{{role: role, box: box{f.left, y, f.left + max(length, 1), y + f.thick}, round: 2}}
	if one.Hi > one.Lo {
		lo, hi, mid := f.left+room*one.Lo/most, f.left+room*one.Hi/most, y+f.thick/2
		// A stroke in the background colour separates the line from the bar below it.
		whisker := [][]vec{{{lo, mid}, {hi, mid}}, {{lo, mid - 4}, {lo, mid + 4}}, {{hi, mid - 4}, {hi, mid + 4}}}
		for _, points := range whisker {
			l.lines = append(l.lines, stroke{role: "bg", width: 4, points: points})
		}
		for _, points := range whisker {
			l.lines = append(l.lines, stroke{role: "text", width: 1.5, points: points})
		}
	}
	reach := max(length, room*one.Hi/most, f.marks(&l, one.Marks, y, room/most))
	if f.above == 0 {
		write(one.Value, f.left+reach+12, y+f.thick-3, start)
	}
	return l
}

// marks draws lines across a bar. Their letters are below it, in the same order, side by side. It
// returns how far the letters extend from the left end of the bars.
func (f barForm) marks(l *layer, marks []document.BarMark, y, scale float64) float64 {
	sorted := slices.Clone(marks)
	slices.SortStableFunc(sorted, func(a, b document.BarMark) int { return cmp.Compare(a.At, b.At) })
	reach, free := 0.0, 0.0
	for _, m := range sorted {
		x := f.left + scale*m.At
		reach = max(reach, scale*m.At)
		l.lines = append(l.lines, stroke{role: "roof", width: 2, points: []vec{{x, y - 3}, {x, y + f.thick + 3}}})
		if m.Letter == "" {
			continue
		}
		at := max(x-4, free)
		free = at + f.font
		l.texts = append(l.texts, label{role: "text", text: m.Letter, at: vec{at, y + f.thick + f.letters}, size: f.font, anchor: start})
	}
	return reach
}
