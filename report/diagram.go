package report

import (
	"cmp"
	"strings"

	"zbench/bench/base/finding"
	"zbench/bench/base/slice"
	"zbench/bench/show/document"
)

// diagramForm is the geometry of a diagram, in pixels.
type diagramForm struct{ width, head, box, gap, font, side float64 }

// The forms: two for the page, and one for a stand-alone picture.
var (
	wideDiagram   = diagramForm{width: 1060, head: 30, box: 40, gap: 12, font: 13, side: 2}
	narrowDiagram = diagramForm{width: 366, head: 26, box: 34, gap: 10, font: 9, side: 1}
	aloneDiagram  = diagramForm{width: 1200, head: 84, box: 48, gap: 16, font: 15, side: 20}
)

// layOutDiagram gives all columns the same width, and equally wide gaps between them for the lines.
// The boxes of each column are spread over the height of the longest column.
func layOutDiagram(d document.Diagram, f diagramForm) scene {
	rows := max(1, slice.Most(d.Columns, func(c document.DiagramColumn) int { return len(c.Boxes) }))
	body := float64(rows) * (f.box + f.gap)
	s := scene{width: f.width, height: f.head + body + f.gap, title: d.Title, desc: describeDiagram(d)}
	if f == aloneDiagram {
		s.layers = append(s.layers, layer{series: -1, texts: []label{titleOf(d.Title, f.side, f.width, f.font)}})
	}
	n := float64(max(len(d.Columns), 1))
	width := (f.width - 2*f.side) / (n + (n-1)*0.45)
	at := map[string]box{}
	var boxes []layer
	for i, c := range d.Columns {
		left := f.side + float64(i)*width*1.45
		l := layer{series: -1, texts: []label{f.text("muted", c.Name, vec{left, f.head - f.font*0.7}, width, false)}}
		step := body / float64(max(len(c.Boxes), 1))
		for j, b := range c.Boxes {
			top := f.head + (float64(j)+0.5)*step - f.box/2
			where := box{left, top, left + width, top + f.box}
			at[b.Name] = where
			f.drawBox(&l, b, where)
		}
		boxes = append(boxes, l)
	}
	s.layers = append(append(s.layers, f.lines(d.Lines, at)), boxes...)
	return s
}

// describeDiagram describes the lines in words, for readers who cannot see the picture.
func describeDiagram(d document.Diagram) string {
	return strings.Join(slice.Map(d.Lines, func(l document.DiagramLine) string { return l.From + " to " + l.To + "." }), " ")
}

// Colours of boxes with a fault or a warning. All other boxes have the colours of a panel.
var (
	grounds = map[finding.Severity]string{finding.Fault: "badbg", finding.Warning: "warnbg"}
	inks    = map[finding.Severity]string{finding.Fault: "badtext", finding.Warning: "warntext"}
)

func (f diagramForm) drawBox(l *layer, b document.DiagramBox, where box) {
	l.areas = append(l.areas, area{role: cmp.Or(grounds[b.Severity], "panel"), box: where, round: 5})
	ink := cmp.Or(inks[b.Severity], "text")
	pad := f.font * 0.6
	line := 1.0
	if b.Severity == finding.Fault {
		line = 2
	}
	corners := where.corners()
	l.lines = append(l.lines, stroke{role: ink, width: line, points: append(corners, corners[0])})
	room := where.width() - 2*pad
	middle := (where.top + where.bottom) / 2
	if b.Note == "" {
		l.texts = append(l.texts, f.text(ink, b.Name, vec{where.left + pad, middle + f.font*0.35}, room, true))
		return
	}
	l.texts = append(l.texts,
		f.text(ink, b.Name, vec{where.left + pad, middle - f.font*0.25}, room, true),
		f.text(ink, b.Note, vec{where.left + pad, middle + f.font*1.05}, room, false))
}

// text returns a line of text, shortened to the available width.
func (f diagramForm) text(role, text string, at vec, room float64, bold bool) label {
	size := f.font
	if !bold {
		size *= 0.95
	}
	return label{role: role, text: fitting(text, room, size, bold), at: at, size: size, anchor: start, bold: bold}
}

// lines draws the lines, which are below the boxes. The line of a fault is also dashed, for readers
// who see no colour.
func (f diagramForm) lines(all []document.DiagramLine, at map[string]box) layer {
	l := layer{series: -1}
	for _, line := range all {
		a, okA := at[line.From]
		b, okB := at[line.To]
		if !okA || !okB {
			continue
		}
		s := stroke{role: "s0", width: 1.8, points: []vec{{a.right, (a.top + a.bottom) / 2}, {b.left, (b.top + b.bottom) / 2}}}
		if line.Severity >= finding.Warning {
			s.role, s.dash = inks[line.Severity], []float64{7, 3}
		}
		l.lines = append(l.lines, s)
	}
	return l
}
