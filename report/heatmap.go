package report

import (
	"fmt"
	"html/template"
	"math"

	"zbench/bench/document"
)

// heatStep is one height of marks.
type heatStep struct {
	role   string
	height float64
	from   float64 // share, in limits
	says   string
}

// heatSteps are the heights: by shares of the limit, then of what is left.
var heatSteps = []heatStep{
	{"line", 0.12, math.Inf(-1), "below half of the limit"},
	{"s6", 0.34, 0.5, "from half of the limit"},
	{"s1", 0.62, 1, "from the limit"},
	{"s4", 0.92, 3, "from 3 times the limit"},
}

// heatStepOf is the height of a share; −1 without a value.
func heatStepOf(h document.HeatMap, share float64) int {
	if math.IsNaN(share) {
		return -1
	}
	at := 0
	for i, s := range heatSteps {
		if share >= s.from*h.Limit {
			at = i
		}
	}
	return at
}

// heatForm is the geometry of a heat map, in pixels.
type heatForm struct{ width, left, head, font, most float64 }

var (
	wideHeat   = heatForm{width: 1060, left: 150, head: 26, font: 12, most: 34}
	narrowHeat = heatForm{width: 366, left: 70, head: 22, font: 9, most: 24}
	aloneHeat  = heatForm{width: 1200, left: 180, head: 84, font: 15, most: 40}
)

// layOutHeat makes square cells. Neighbours of one height become one mark, so that a map of
// 128 × 128 without faults has 128.
func layOutHeat(h document.HeatMap, f heatForm) scene {
	n := max(len(h.Columns), 1)
	cell := min(f.most, (f.width-f.left-4)/float64(n))
	s := scene{width: f.width, height: f.head + cell*float64(len(h.Rows)) + 6, title: h.Title, desc: describeHeat(h)}
	if f == aloneHeat {
		s.layers = append(s.layers, layer{series: -1, texts: []label{{
			role: "text", text: fitting(h.Title, f.width-2*f.font, f.font*1.4, true), at: vec{f.font, f.font * 2}, size: f.font * 1.4, anchor: start, bold: true,
		}}})
	}
	marks := layer{series: -1}
	for i, row := range h.Shares {
		for from := 0; from < len(row); {
			step, to := heatStepOf(h, row[from]), from+1
			for to < len(row) && heatStepOf(h, row[to]) == step {
				to++
			}
			if step >= 0 {
				height := max(1, heatSteps[step].height*cell)
				top := f.head + cell*float64(i) + (cell-height)/2
				marks.areas = append(marks.areas, area{role: heatSteps[step].role, box: box{f.left + cell*float64(from), top, f.left + cell*float64(to) - cell*0.08, top + height}})
			}
			from = to
		}
	}
	s.layers = append(s.layers, marks, heatLabels(h, f, cell))
	return s
}

// heatLabels writes as many names as have room.
func heatLabels(h document.HeatMap, f heatForm, cell float64) layer {
	l := layer{series: -1}
	every := max(1, int(math.Ceil(f.font*1.15/cell)))
	for i, name := range h.Rows {
		if i%every == 0 {
			text := fitting(name, f.left-8, f.font, false)
			l.texts = append(l.texts, label{role: "muted", text: text, at: vec{f.left - 6, f.head + cell*(float64(i)+0.5) + f.font*0.35}, size: f.font, anchor: end})
		}
	}
	widest := 1.0
	for _, name := range h.Columns {
		widest = max(widest, textWidth(name, f.font, false))
	}
	every = max(1, int(math.Ceil((min(widest, 90)+6)/cell)))
	for i := 0; i < len(h.Columns); i += every {
		at := f.left + cell*(float64(i)+0.5)
		room := min(cell*float64(every)-4, 2*(f.width-at))
		l.texts = append(l.texts, label{role: "muted", text: fitting(h.Columns[i], room, f.font, false), at: vec{at, f.head - 8}, size: f.font, anchor: middle})
	}
	return l
}

// describeHeat names the worst cells.
func describeHeat(h document.HeatMap) string {
	var named spoken
	for i, row := range h.Shares {
		for k, share := range row {
			if heatStepOf(h, share) >= 2 {
				named.add(func() string { return fmt.Sprintf("%s, %s: %.0f %% lost.", h.Rows[i], h.Columns[k], 100*share) })
			}
		}
	}
	return named.or("No value has lost the limit.")
}

// heat is a heat map as HTML shows it.
type heat struct {
	document.HeatMap
	Picture template.HTML
	Keys    []key
	Folded  document.Block
}

func heatOf(h document.HeatMap) heat {
	wide, narrow := bothWidths(h.ID, false, layOutHeat(h, wideHeat), layOutHeat(h, narrowHeat))
	v := heat{HeatMap: h, Picture: wide + narrow}
	for _, s := range heatSteps {
		p := svgPainter{page: true}
		height := s.height * 14
		sample := p.key(layer{series: -1, areas: []area{{role: s.role, box: box{1, 7 - height/2, 27, 7 + height/2}}}}, 28, 14)
		v.Keys = append(v.Keys, key{Name: s.says, Sample: template.HTML(sample)})
	}
	if h.Table != nil {
		v.Folded = folds(h.Title+", as a table", *h.Table)
	}
	return v
}
