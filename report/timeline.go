package report

import (
	"fmt"
	"math"

	"zbench/bench/base/unit"
	"zbench/bench/show/document"
)

// timeForm is the geometry of a timeline, in pixels.
type timeForm struct{ width, left, head, lane, font float64 }

var (
	wideTime   = timeForm{width: 1060, left: 150, head: 10, lane: 34, font: 12}
	narrowTime = timeForm{width: 366, left: 84, head: 8, lane: 26, font: 9.5}
	aloneTime  = timeForm{width: 1200, left: 190, head: 60, lane: 42, font: 15}
)

// spanRoles and spanHeights are the colours and heights of the kinds of spans. The heights are for
// readers who see no colour.
var (
	spanRoles   = []string{"s2", "s1", "s4", "s6"}
	spanHeights = []float64{0.38, 0.78, 0.6, 0.5}
)

// layOutTime draws the lanes, and a scale in seconds below them.
func layOutTime(t document.Timeline, f timeForm) scene {
	s := scene{width: f.width, height: f.head + f.lane*float64(len(t.Lanes)) + f.font*2.4, title: t.Title, desc: describeTime(t)}
	p := box{f.left, f.head, f.width - f.font, s.height - f.font*2}
	x := func(seconds float64) float64 {
		return p.left + min(max(seconds/max(t.Seconds, math.SmallestNonzeroFloat64), 0), 1)*p.width()
	}
	ground := layer{series: -1}
	if f == aloneTime {
		ground.texts = append(ground.texts, titleOf(t.Title, f.font, f.width, f.font))
	}
	step := niceStep(t.Seconds / 5)
	for i := 0.0; step > 0 && i*step <= t.Seconds; i++ {
		at := x(i * step)
		ground.lines = append(ground.lines, stroke{role: "grid", width: 1, points: []vec{{at, p.top}, {at, p.bottom}}})
		one := label{role: "muted", text: unit.Seconds(i * step), at: vec{at, s.height - f.font*0.6}, size: f.font * 0.95, anchor: middle}
		if b := one.bounds(); b.right > f.width {
			one.anchor, one.at.x = end, f.width-1
		}
		ground.texts = append(ground.texts, one)
	}
	marks := layer{series: -1}
	for i, lane := range t.Lanes {
		middleOf := p.top + f.lane*(float64(i)+0.5)
		ground.texts = append(ground.texts, label{role: "text", text: fitting(lane.Name, f.left-8, f.font, false), at: vec{p.left - 6, middleOf + f.font*0.35}, size: f.font, anchor: end})
		for _, one := range lane.Spans {
			kind := one.Kind % len(spanRoles)
			half := spanHeights[kind] * f.lane / 2
			marks.areas = append(marks.areas, area{role: spanRoles[kind], box: box{x(one.Start), middleOf - half, max(x(one.End), x(one.Start)+0.6), middleOf + half}})
		}
	}
	s.layers = []layer{ground, marks}
	return s
}

// describeTime describes the first spans of each lane in words.
func describeTime(t document.Timeline) string {
	var said []string
	for _, lane := range t.Lanes {
		for _, one := range lane.Spans {
			if one.Tip != "" {
				said = append(said, fmt.Sprintf("%s: %s, from %s to %s.", lane.Name, one.Tip, unit.Seconds(one.Start), unit.Seconds(one.End)))
			}
		}
	}
	return spoken(said, "Nothing ran.")
}

func timeOf(t document.Timeline) picture {
	var keys []key
	for i, name := range t.Kinds {
		height := spanHeights[i%len(spanHeights)] * 14
		keys = append(keys, keyOf(name, 28, layer{series: -1, areas: []area{{role: spanRoles[i%len(spanRoles)], box: box{1, 7 - height/2, 27, 7 + height/2}}}}))
	}
	return pictureOf(t.ID, t.Title, t.Table, joined(bothWidths(t.ID, false, layOutTime(t, wideTime), layOutTime(t, narrowTime))), keys)
}
