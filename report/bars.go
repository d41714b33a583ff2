package report

import (
	"cmp"
	"slices"
	"strings"
)

// Bars is a chart of bars as data: what to draw, not how. All lengths share a unit.
type Bars struct {
	// ID is unique within the page and a valid file stem.
	ID, Title string
	bars      []bar
	// most is the length that takes the whole room.
	most float64
}

// bar is one result, with what it is held against, all in bytes per second; or
// one ratio, with no marks.
type bar struct {
	label, value string
	length       float64
	weak         bool // another's configuration, or unfused
	marks        []barMark
}

// barMark is a line across a bar.
type barMark struct {
	at     float64
	letter string
}

// barForm is the geometry of bars, in units of the picture.
type barForm struct {
	// width of the picture; left and right of the bars is room for text, head above
	// all of them for the title.
	width, left, right, head float64
	// thick is a bar's height, letters that of a row of letters below it, above
	// the room of a label that stands over its bar; 0 where it stands beside.
	thick, letters, above, font float64
}

// The forms: two in the page, of which the style sheet shows the one that fits, and
// one that stands alone.
var (
	wideBars   = barForm{width: 1060, left: 215, right: 300, thick: 15, letters: 13, font: 12.5}
	narrowBars = barForm{width: 366, left: 4, right: 20, thick: 12, letters: 13, above: 16, font: 11.5}
	aloneBars  = barForm{width: 1200, left: 270, right: 340, head: 40, thick: 18, letters: 16, font: 15}
)

// alone lays the bars out as a picture of their own.
func (c Bars) alone() (id string, s scene) { return c.ID, c.layOut(aloneBars) }

// layOut decides where everything goes. What colour tells, a bar's label says too.
func (c Bars) layOut(f barForm) scene {
	step := f.above + f.thick + 9
	if slices.ContainsFunc(c.bars, func(b bar) bool { return slices.ContainsFunc(b.marks, func(m barMark) bool { return m.letter != "" }) }) {
		step += f.letters
	}
	s := scene{width: f.width, height: f.head + step*float64(len(c.bars)) + 8, title: c.Title}
	if f.head > 0 {
		s.layers = append(s.layers, layer{series: -1, texts: []label{
			{role: "text", text: fitting(c.Title, f.width-2*f.font, f.font*1.4, true), at: vec{f.font, f.font * 1.8}, size: f.font * 1.4, anchor: start, bold: true},
		}})
	}
	var said []string
	for i, one := range c.bars {
		s.layers = append(s.layers, f.one(one, f.head+step*float64(i)+4, c.most))
		said = append(said, one.label+": "+one.value+".")
	}
	s.desc = strings.Join(said, " ")
	return s
}

// one draws a bar whose row begins at y.
func (f barForm) one(one bar, y, most float64) layer {
	l := layer{series: -1}
	role := "s0"
	if one.weak {
		role = "s5"
	}
	write := func(text string, x, y float64, anchor string) {
		l.texts = append(l.texts, label{role: "text", text: text, at: vec{x, y}, size: f.font, anchor: anchor})
	}
	if f.above > 0 {
		write(one.label+": "+one.value, f.left, y+f.above-5, start)
		y += f.above
	} else {
		write(one.label, f.left-8, y+f.thick-3, end)
	}
	room := f.width - f.left - f.right
	length := room * one.length / most
	l.areas = []area{{role: role, box: box{f.left, y, f.left + max(length, 1), y + f.thick}, round: 2}}
	reach := max(length, f.marks(&l, one.marks, y, room/most))
	if f.above == 0 {
		write(one.value, f.left+reach+12, y+f.thick-3, start)
	}
	return l
}

// marks draws lines across a bar, their letters below it in the same order and
// side by side; it returns how far they reach from the bars' left.
func (f barForm) marks(l *layer, marks []barMark, y, scale float64) float64 {
	sorted := slices.Clone(marks)
	slices.SortStableFunc(sorted, func(a, b barMark) int { return cmp.Compare(a.at, b.at) })
	reach, free := 0.0, 0.0
	for _, m := range sorted {
		x := f.left + scale*m.at
		reach = max(reach, scale*m.at)
		l.lines = append(l.lines, stroke{role: "roof", width: 2, points: []vec{{x, y - 3}, {x, y + f.thick + 3}}})
		if m.letter == "" {
			continue
		}
		at := max(x-4, free)
		free = at + f.font
		l.texts = append(l.texts, label{role: "text", text: m.letter, at: vec{at, y + f.thick + f.letters}, size: f.font, anchor: start})
	}
	return reach
}
