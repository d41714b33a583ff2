package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/show/document"
)

// WriteSVG writes a stand-alone picture on a light background.
func WriteSVG(w io.Writer, picture document.Block) error {
	id, s, err := laidOut(picture)
	if err != nil {
		return err
	}
	p := svgPainter{id: id, tips: true}
	if _, err := io.WriteString(w, p.picture(s)); err != nil {
		return fmt.Errorf("write SVG chart %s: %w", id, err)
	}
	return nil
}

// svgPainter writes scenes as SVG. On a page, colours are CSS classes that follow the theme. A
// stand-alone picture contains its colours.
type svgPainter struct {
	b    strings.Builder
	page bool
	// id is the prefix of the ids of title and description. class is the class of the svg element.
	id, class string
	// tips gives each marker a title, which browsers show as a tool tip.
	tips bool
}

// picture writes the whole scene.
func (p *svgPainter) picture(s scene) string {
	fmt.Fprintf(&p.b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" role="img" aria-labelledby="%[3]s-t %[3]s-d"`,
		num(s.width), num(s.height), escaped(p.id))
	switch {
	case p.page && s.plot.width() > 0:
		// The script positions its guide by these numbers: the axes in octaves, the plot in pixels.
		fmt.Fprintf(&p.b, ` class="%s" data-x="%s %s" data-y="%s %s" data-plot="%s %s %s %s"`, p.class,
			exact(s.x.lo), exact(s.x.hi), exact(s.y.lo), exact(s.y.hi), num(s.plot.left), num(s.plot.right), num(s.plot.top), num(s.plot.bottom))
	case p.page:
		fmt.Fprintf(&p.b, ` class="%s"`, p.class)
	default:
		fmt.Fprintf(&p.b, ` width="%s" height="%s" font-family="Liberation Sans, Arial, Helvetica, sans-serif"`, num(s.width), num(s.height))
	}
	fmt.Fprintf(&p.b, `><title id="%[1]s-t">%[2]s</title><desc id="%[1]s-d">%[3]s</desc>`, escaped(p.id), escaped(s.title), escaped(s.desc))
	if !p.page {
		fmt.Fprintf(&p.b, `<rect width="%s" height="%s" fill="%s"/>`, num(s.width), num(s.height), light("bg"))
	}
	for _, l := range s.layers {
		p.layer(l)
	}
	p.b.WriteString("</svg>\n")
	return p.b.String()
}

// key writes the line sample of a legend's entry.
func (p *svgPainter) key(width, height float64, layers ...layer) string {
	fmt.Fprintf(&p.b, `<svg class="key" viewBox="0 0 %s %s" width="%[1]s" height="%[2]s" aria-hidden="true">`, num(width), num(height))
	for _, l := range layers {
		p.layer(l)
	}
	p.b.WriteString("</svg>")
	return p.b.String()
}

func (p *svgPainter) layer(l layer) {
	if len(l.areas)+len(l.fills)+len(l.lines)+len(l.dots)+len(l.texts) == 0 {
		return
	}
	p.b.WriteString("<g")
	if l.series >= 0 && p.page {
		fmt.Fprintf(&p.b, ` data-s="%d"`, l.series)
	}
	if l.part != "" && p.page {
		fmt.Fprintf(&p.b, ` data-part="%s"`, l.part)
	}
	p.b.WriteString(">")
	for _, a := range l.areas {
		fmt.Fprintf(&p.b, `<rect%s x="%s" y="%s" width="%s" height="%s"`, p.filled(a.role),
			num(a.box.left), num(a.box.top), num(a.box.width()), num(a.box.height()))
		if a.round > 0 {
			fmt.Fprintf(&p.b, ` rx="%s"`, num(a.round))
		}
		p.b.WriteString("/>")
	}
	for _, a := range l.fills {
		fmt.Fprintf(&p.b, `<path%s fill-opacity="%s" d="%s"/>`, p.filled(a.role), exact(shine), path(a.points, true))
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
	p.b.WriteString("</g>\n")
}

// stroked and filled return the attributes that give a shape its colour.
func (p *svgPainter) stroked(role string) string {
	if p.page {
		return ` class="k ` + role + `"`
	}
	return ` fill="none" stroke="` + light(role) + `"`
}

func (p *svgPainter) filled(role string) string {
	if p.page {
		return ` class="t ` + role + `"`
	}
	return ` fill="` + light(role) + `"`
}

func (p *svgPainter) marked(role string, hollow bool) string {
	class, ground := "m ", role
	if hollow {
		class, ground = "m h ", "bg"
	}
	if p.page {
		return ` class="` + class + role + `"`
	}
	return ` fill="` + light(ground) + `" stroke="` + light(role) + `" stroke-width="1.6"`
}

func (p *svgPainter) stroke(s stroke) {
	fmt.Fprintf(&p.b, `<path%s d="%s" stroke-width="%s"`, p.stroked(s.role), path(s.points, false), num(s.width))
	if len(s.dash) > 0 {
		parts := slice.Map(s.dash, num)
		fmt.Fprintf(&p.b, ` stroke-dasharray="%s"`, strings.Join(parts, " "))
	}
	p.b.WriteString("/>")
}

func (p *svgPainter) dot(d dot, series int) {
	look := p.marked(seriesRole(series), d.hollow)
	name, geometry := "circle", fmt.Sprintf(`cx="%s" cy="%s" r="%s"`, num(d.at.x), num(d.at.y), num(d.radius))
	if outline := markerOf(series); outline != nil {
		name, geometry = "path", `d="`+path(around(d, outline), true)+`"`
	}
	if !p.tips || d.tip == "" {
		fmt.Fprintf(&p.b, `<%s%s %s/>`, name, look, geometry)
		return
	}
	fmt.Fprintf(&p.b, `<%s%s %s><title>%s</title></%[1]s>`, name, look, geometry, escaped(d.tip))
}

// `around` scales the outline of a marker and moves it to the marker's place.
func around(d dot, outline []vec) []vec {
	return slice.Map(outline, func(v vec) vec { return vec{d.at.x + v.x*d.radius, d.at.y + v.y*d.radius} })
}

func (p *svgPainter) text(t label) {
	fmt.Fprintf(&p.b, `<text%s x="%s" y="%s" font-size="%s"`, p.filled(t.role), num(t.at.x), num(t.at.y), num(t.size))
	if t.anchor != start {
		fmt.Fprintf(&p.b, ` text-anchor="%s"`, t.anchor)
	}
	if t.bold {
		p.b.WriteString(` font-weight="bold"`)
	}
	if t.halo {
		p.b.WriteString(` paint-order="stroke" stroke-width="4" stroke-linejoin="round"`)
		if p.page {
			p.b.WriteString(` data-halo=""`)
		} else {
			p.b.WriteString(` stroke="` + light("bg") + `"`)
		}
	}
	p.b.WriteString(">" + escaped(t.text) + "</text>")
}

// path writes points as path data.
func path(points []vec, closed bool) string {
	var b strings.Builder
	for i, v := range points {
		b.WriteString("ML"[min(i, 1):min(i, 1)+1] + num(v.x) + " " + num(v.y))
	}
	if closed {
		b.WriteByte('Z')
	}
	return b.String()
}

// num formats a pixel coordinate with one decimal, which is finer than any screen shows.
func num(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

func exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// escaped makes a string safe as XML text or as an attribute value.
func escaped(s string) string {
	var b strings.Builder
	// Writing to a strings.Builder cannot fail.
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}
