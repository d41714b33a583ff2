package report

import (
	"cmp"
	"fmt"
	"strings"

	"zbench/bench/show/document"
)

// A scene is a chart with all positions in pixels, y downwards, but not yet painted. The SVG and
// the PNG writer paint the same scene, so that one test of the geometry covers both.
type scene struct {
	width, height float64
	plot          box
	x, y          axis
	layers        []layer
	title, desc   string
}

// laidOut lays out a stand-alone picture. id is valid as a file name without extension.
func laidOut(picture document.Block) (id string, s scene, err error) {
	switch p := picture.(type) {
	case document.Chart:
		return p.ID, layOut(p, alone()), nil
	case document.Bars:
		return p.ID, layOutBars(p, aloneBars), nil
	case document.Diagram:
		return p.ID, layOutDiagram(p, aloneDiagram), nil
	case document.Dots:
		return p.ID, layOutDots(p, aloneDots), nil
	case document.HeatMap:
		return p.ID, layOutHeat(p, aloneHeat), nil
	case document.Timeline:
		return p.ID, layOutTime(p, aloneTime), nil
	}
	return "", s, fmt.Errorf("draw a %T: it is no picture", picture)
}

// layer is a part of a scene that is painted in one go. series is −1 if the layer belongs to no
// series.
type layer struct {
	series int
	// part says what the script of the page does with the layer when it zooms: it draws a new grid,
	// moves lines and bands, and hides labels. Layers with an empty part stay.
	part  string
	areas []area
	fills []fill
	lines []stroke
	dots  []dot
	texts []label
}

// The values of layer.part.
const (
	partGrid  = "grid"
	partLines = "lines"
	partBand  = "band"
	partLabel = "label"
)

type vec struct{ x, y float64 }

// stroke is a line through points, in the colour of a role.
type stroke struct {
	role   string
	points []vec
	width  float64
	dash   []float64
}

// area is a filled rectangle in the colour of a role. Areas are painted first.
type area struct {
	role string
	box  box
	// round is the radius of the corners, if the painter supports it.
	round float64
}

// dot is a marker in the shape of its series.
type dot struct {
	at     vec
	radius float64
	hollow bool
	// tip is a tool tip, if the painter supports it.
	tip string
}

// Anchors of a label.
const (
	start  = "start"
	middle = "middle"
	end    = "end"
)

// label is one line of text. The point `at` is on its base line.
type label struct {
	role   string
	text   string
	at     vec
	size   float64
	anchor string
	bold   bool
	// halo paints the background colour around the letters, where lines may cross them.
	halo bool
}

// box is a rectangle.
type box struct{ left, top, right, bottom float64 }

func (b box) width() float64  { return b.right - b.left }
func (b box) height() float64 { return b.bottom - b.top }

// touches reports whether two boxes overlap.
func (b box) touches(o box) bool {
	return b.left < o.right && o.left < b.right && b.top < o.bottom && o.top < b.bottom
}

// `inside` returns true if b lies within o.
func (b box) inside(o box) bool {
	return b.left >= o.left && b.right <= o.right && b.top >= o.top && b.bottom <= o.bottom
}

// Extents of text, in units of its size. The reader's font is unknown, so these are upper bounds
// for the common sans-serif fonts (DejaVu Sans is the widest).
const (
	ascent  = 0.95
	descent = 0.25
)

// textWidth returns an upper bound of the width of s.
func textWidth(s string, size float64, bold bool) float64 {
	w := 0.0
	for _, r := range s {
		switch {
		case r == ' ' || r == '.' || r == ',' || r == '·' || r == 'i' || r == 'l' || r == 'I' || r == ':' || r == '|' || r == '(' || r == ')' || r == '/':
			w += 0.39
		case r >= 'A' && r <= 'Z' || r == 'm' || r == 'w' || r == '—' || r == '×' || r == '+' || r == '−':
			w += 0.85
		case r == '%':
			w += 0.96
		case r > 0x2e7f: // full-width scripts
			w += 1.1
		default:
			w += 0.65
		}
	}
	if bold {
		w *= 1.1
	}
	return w * size
}

// bounds returns the largest area that a label may cover.
func (l label) bounds() box {
	w := textWidth(l.text, l.size, l.bold)
	b := box{l.at.x, l.at.y - ascent*l.size, l.at.x + w, l.at.y + descent*l.size}
	switch l.anchor {
	case middle:
		b.left, b.right = b.left-w/2, b.right-w/2
	case end:
		b.left, b.right = b.left-w, b.right-w
	}
	return b
}

// labels returns all texts of the scene.
func (s scene) labels() []label {
	var out []label
	for _, l := range s.layers {
		out = append(out, l.texts...)
	}
	return out
}

// `at` returns the position of a pair of values in the picture.
func (s scene) at(x, y float64) vec {
	return vec{
		s.plot.left + s.x.norm(x)*s.plot.width(),
		s.plot.bottom - s.y.norm(y)*s.plot.height(),
	}
}

// corners returns the corners of the box, in outline order.
func (b box) corners() []vec {
	return []vec{{b.left, b.top}, {b.right, b.top}, {b.right, b.bottom}, {b.left, b.bottom}}
}

// titleOf returns the title of a stand-alone picture, shortened to the picture's width.
func titleOf(title string, left, width, font float64) label {
	size := font * 1.4
	return label{role: "text", text: fitting(title, width-2*left, size, true), at: vec{left, font * 2}, size: size, anchor: start, bold: true}
}

// mostSpoken is the largest number of sentences in a picture's description.
const mostSpoken = 20

// spoken joins sentences to a description, for readers who cannot see the picture. If there are no
// sentences, it returns the text `none`.
func spoken(sentences []string, none string) string {
	if more := len(sentences) - mostSpoken; more > 0 {
		return fmt.Sprintf("%s %d more.", strings.Join(sentences[:mostSpoken], " "), more)
	}
	return cmp.Or(strings.Join(sentences, " "), none)
}
