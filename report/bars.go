package report

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"
)

// barForm is the geometry of bars, in units of the picture.
type barForm struct {
	class string
	// width of the picture; left and right of the bars is room for text.
	width, left, right float64
	// thick is a bar's height, letters that of a row of letters below it, above
	// the room of a label that stands over its bar; 0 where it stands beside.
	thick, letters, above, font float64
}

var (
	wideBars   = barForm{class: "wide", width: 1060, left: 215, right: 300, thick: 15, letters: 13, font: 12.5}
	narrowBars = barForm{class: "narrow", width: 366, left: 4, right: 20, thick: 12, letters: 13, above: 16, font: 11.5}
)

// pictures draws bars for wide windows and for narrow ones.
func pictures(title string, bars []bar, most float64) template.HTML {
	return template.HTML(wideBars.draw(title, bars, most) + narrowBars.draw(title, bars, most))
}

// draw draws the bars as SVG, every text escaped. What colour tells, a bar's
// label says too.
func (f barForm) draw(title string, bars []bar, most float64) string {
	step := f.above + f.thick + 9
	if slices.ContainsFunc(bars, func(b bar) bool { return slices.ContainsFunc(b.marks, func(m barMark) bool { return m.letter != "" }) }) {
		step += f.letters
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="chart bars %s" viewBox="0 0 %s %s" role="img" aria-label="%s">`, f.class, num(f.width), num(step*float64(len(bars))+8), escaped(title))
	for i, one := range bars {
		f.one(&b, one, step*float64(i)+4, most)
	}
	b.WriteString("</svg>")
	return b.String()
}

// one draws a bar whose row begins at y.
func (f barForm) one(b *strings.Builder, one bar, y, most float64) {
	role := "s0"
	if one.weak {
		role = "s5"
	}
	if f.above > 0 {
		fmt.Fprintf(b, `<text class="t text" x="%s" y="%s" font-size="%s">%s: %s</text>`, num(f.left), num(y+f.above-5), num(f.font), escaped(one.label), escaped(one.value))
		y += f.above
	} else {
		fmt.Fprintf(b, `<text class="t text" x="%s" y="%s" text-anchor="end" font-size="%s">%s</text>`, num(f.left-8), num(y+f.thick-3), num(f.font), escaped(one.label))
	}
	room := f.width - f.left - f.right
	length := room * one.length / most
	fmt.Fprintf(b, `<rect class="t %s" x="%s" y="%s" width="%s" height="%s" rx="2"/>`, role, num(f.left), num(y), num(max(length, 1)), num(f.thick))
	end := max(length, f.marks(b, one.marks, y, room/most))
	if f.above == 0 {
		fmt.Fprintf(b, `<text class="t text" x="%s" y="%s" font-size="%s">%s</text>`, num(f.left+end+12), num(y+f.thick-3), num(f.font), escaped(one.value))
	}
}

// marks draws lines across a bar, their letters below it in the same order and
// side by side; it returns how far they reach from the bars' left.
func (f barForm) marks(b *strings.Builder, marks []barMark, y, scale float64) float64 {
	sorted := slices.Clone(marks)
	slices.SortStableFunc(sorted, func(a, b barMark) int { return cmp.Compare(a.at, b.at) })
	end, free := 0.0, 0.0
	for _, m := range sorted {
		x := f.left + scale*m.at
		end = max(end, scale*m.at)
		fmt.Fprintf(b, `<path class="k roof" stroke-width="2" d="M%s %sV%s"/>`, num(x), num(y-3), num(y+f.thick+3))
		if m.letter == "" {
			continue
		}
		at := max(x-4, free)
		free = at + f.font
		fmt.Fprintf(b, `<text class="t text" x="%s" y="%s" font-size="%s">%s</text>`, num(at), num(y+f.thick+f.letters), num(f.font), escaped(m.letter))
	}
	return end
}
