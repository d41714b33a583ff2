package report

import (
	"fmt"
	"strings"

	"zbench/bench/document"
	"zbench/bench/plain"
	"zbench/bench/unit"
)

// bandLayer shades the settings that are as good.
func bandLayer(s scene, c document.Chart) layer {
	l := layer{series: -1, part: partBand}
	if c.Band == nil {
		return l
	}
	p := s.plot
	for _, x := range append([]document.Stretch{{Lo: c.Band.Lo, Hi: c.Band.Hi}}, c.Band.Others...) {
		left := max(p.left, s.at(float64(x.Lo), 1).x)
		right := min(p.right, s.at(float64(x.Hi), 1).x)
		if right-left < 2 { // one setting alone still shows
			left, right = left-1, left+1
		}
		l.areas = append(l.areas, area{role: "band", box: box{left, p.top, right, p.bottom}})
		for _, x := range []float64{left, right} {
			l.lines = append(l.lines, stroke{role: "muted", points: []vec{{x, p.top}, {x, p.bottom}}, width: 1, dash: []float64{1, 3}})
		}
	}
	return l
}

// bandLabel names the band at the foot of the plot, over everything else.
func bandLabel(s scene, c document.Chart, f format) layer {
	p := s.plot
	half := textWidth(c.Band.Label, f.font, false) / 2
	mid := (max(p.left, s.at(float64(c.Band.Lo), 1).x) + min(p.right, s.at(float64(c.Band.Hi), 1).x)) / 2
	return layer{series: -1, part: partLabel, texts: []label{{
		role: "muted", text: c.Band.Label, size: f.font, anchor: middle, halo: true,
		at: vec{min(max(mid, p.left+half), p.right-half), p.bottom - f.font*0.6},
	}}}
}

// markLayer draws a line through a setting that has a name, its point and its
// name; each name has a row of its own beneath the top, so that unit.None overlap.
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

// countAxis spans numbers of elements, with as many ticks at round numbers as have room
// for their names.
func countAxis(lo, hi int64, share func(label string) float64) axis {
	a := sizeAxis(lo, hi, func(string) float64 { return 0 })
	a.title = "bucket size in elements, log scale"
	for _, mantissas := range [][]int64{{1, 2, 3, 4, 6, 8}, {1, 2, 5}, {1, 3}, {1}} {
		a.ticks = countTicks(a, mantissas)
		if spaced(a, share) {
			return a
		}
	}
	for i := range a.ticks {
		if i%2 == 1 {
			a.ticks[i].label = ""
		}
	}
	return a
}

func countTicks(a axis, mantissas []int64) []tick {
	var out []tick
	for power := int64(1); power <= 1e15; power *= 10 {
		for _, m := range mantissas {
			if v := float64(m * power); a.norm(v) >= 0 && a.norm(v) <= 1 {
				out = append(out, tick{v, countLabel(m * power)})
			}
		}
	}
	return out
}

// countLabel is a round number without decimals: 5 M.
func countLabel(n int64) string {
	for _, u := range []scaleStep{{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}} {
		if float64(n) >= u.size {
			return unit.Shortest(float64(n)/u.size) + u.name
		}
	}
	return unit.Shortest(float64(n))
}

// describeSetting says in words what the chart of settings shows.
func describeSetting(c document.Chart) string {
	all := c.Series[0].Points
	first, last := all[0], all[len(all)-1]
	said := []string{fmt.Sprintf("Step time over bucket size, from %s: %s, to %s: %s.", document.Setting.Place(first), first.Words, document.Setting.Place(last), last.Words)}
	for _, m := range c.Series[1:] {
		said = append(said, m.Name+": "+m.Points[0].Words+".")
	}
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
