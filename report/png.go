package report

import (
	"fmt"
	"image/color"
	"image/png"
	"io"
	"math"

	"zbench/bench/base/slice"
	"zbench/bench/show/document"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
)

// pixel is the size of a pixel in points, at the canvas's 96 dpi.
const pixel = vg.Length(0.75)

// WritePNG writes a stand-alone picture on a light background, 1,200 pixels wide. A chart is 700
// pixels high, or more if its legend has many rows.
func WritePNG(w io.Writer, picture document.Block) error {
	id, s, err := laidOut(picture)
	if err != nil {
		return err
	}
	canvas := vgimg.NewWith(vgimg.UseWH(vg.Length(s.width)*pixel, vg.Length(s.height)*pixel), vgimg.UseDPI(96))
	regular, bold := sansFonts()
	p := pngPainter{canvas: canvas, height: s.height, fonts: font.NewCache(liberation.Collection()), regular: regular, bold: bold}
	for _, l := range s.layers {
		p.layer(l)
	}
	// Better compression would double the time and save 4 % of the file.
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := encoder.Encode(w, canvas.Image()); err != nil {
		return fmt.Errorf("write PNG chart %s: %w", id, err)
	}
	return nil
}

// sansFonts returns the two sans-serif fonts among plot's own, so that the picture is the same on
// every machine.
func sansFonts() (regular, bold font.Font) {
	for _, face := range liberation.Collection() {
		if face.Font.Variant != "Sans" || face.Font.Style != 0 {
			continue
		}
		if face.Font.Weight > 0 {
			bold = face.Font
		} else {
			regular = face.Font
		}
	}
	return regular, bold
}

type pngPainter struct {
	canvas        vg.Canvas
	height        float64
	fonts         *font.Cache
	regular, bold font.Font
}

// point converts pixels (y downwards) to points (y upwards).
func (p pngPainter) point(v vec) vg.Point {
	return vg.Point{X: vg.Length(v.x) * pixel, Y: vg.Length(p.height-v.y) * pixel}
}

func (p pngPainter) layer(l layer) {
	for _, a := range l.areas {
		p.canvas.SetColor(rgb(light(a.role)))
		p.canvas.Fill(p.outline(a.box.corners(), true))
	}
	for _, a := range l.fills {
		own := rgb(light(a.role))
		own.A = uint8(math.Round(shine * 0xff))
		p.canvas.SetColor(own)
		p.canvas.Fill(p.outline(a.points, true))
	}
	for _, s := range l.lines {
		p.stroke(s)
	}
	for _, d := range l.dots {
		p.dot(d, l.series)
	}
	for _, t := range l.texts {
		p.text(t)
	}
}

func (p pngPainter) outline(points []vec, closed bool) vg.Path {
	var path vg.Path
	for i, v := range points {
		if i == 0 {
			path.Move(p.point(v))
		} else {
			path.Line(p.point(v))
		}
	}
	if closed {
		path.Close()
	}
	return path
}

func (p pngPainter) stroke(s stroke) {
	dash := slice.Map(s.dash, func(d float64) vg.Length { return vg.Length(d) * pixel })
	p.canvas.SetColor(rgb(light(s.role)))
	p.canvas.SetLineWidth(vg.Length(s.width) * pixel)
	p.canvas.SetLineDash(dash, 0)
	p.canvas.Stroke(p.outline(s.points, false))
}

func (p pngPainter) dot(d dot, series int) {
	var path vg.Path
	if shape := markerOf(series); shape != nil {
		path = p.outline(around(d, shape), true)
	} else {
		at := p.point(d.at)
		path.Move(vg.Point{X: at.X + vg.Length(d.radius)*pixel, Y: at.Y})
		path.Arc(at, vg.Length(d.radius)*pixel, 0, 2*math.Pi)
		path.Close()
	}
	own := rgb(light(seriesRole(series)))
	p.canvas.SetColor(own)
	if d.hollow {
		p.canvas.SetColor(rgb(light("bg")))
	}
	p.canvas.Fill(path)
	p.canvas.SetColor(own)
	p.canvas.SetLineWidth(1.6 * pixel)
	p.canvas.SetLineDash(nil, 0)
	p.canvas.Stroke(path)
}

func (p pngPainter) text(t label) {
	name := p.regular
	if t.bold {
		name = p.bold
	}
	face := p.fonts.Lookup(name, vg.Length(t.size)*pixel)
	at, width := p.point(t.at), face.Width(t.text)
	switch t.anchor {
	case middle:
		at.X -= width / 2
	case end:
		at.X -= width
	}
	if t.halo {
		gap, size := 2*pixel, vg.Length(t.size)*pixel
		p.canvas.SetColor(rgb(light("bg")))
		p.canvas.Fill(vg.Rectangle{
			Min: vg.Point{X: at.X - gap, Y: at.Y - size*0.22}, Max: vg.Point{X: at.X + width + gap, Y: at.Y + size*0.78},
		}.Path())
	}
	p.canvas.SetColor(rgb(light(t.role)))
	p.canvas.FillString(face, at, t.text)
}

// rgb reads a colour of the palette, "#rrggbb".
func rgb(s string) color.NRGBA {
	c := color.NRGBA{A: 0xff}
	_, _ = fmt.Sscanf(s, "#%02x%02x%02x", &c.R, &c.G, &c.B)
	return c
}
