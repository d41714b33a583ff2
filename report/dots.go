package report

import (
	"fmt"
	"math"

	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/show/document"
)

// dotForm is the geometry of a picture of dots, in pixels.
type dotForm struct{ width, height, left, right, head, foot, font float64 }

var (
	wideDots   = dotForm{width: 1060, height: 260, left: 66, right: 110, head: 24, foot: 26, font: 12}
	narrowDots = dotForm{width: 366, height: 210, left: 54, right: 74, head: 20, foot: 22, font: 9.5}
	aloneDots  = dotForm{width: 1200, height: 420, left: 80, right: 140, head: 90, foot: 34, font: 15}
)

// Numbers of series, which decide the colours and markers of dots.
const (
	plainDots = 0
	namedDots = 4
)

// mostShare is the largest share that is drawn at its own height. Larger shares are drawn at this
// height.
const mostShare = 1.5

// layOutDots draws the grid, the median, the limits and the dots. If zbench screen names a node,
// the name is written beside the node's dot.
func layOutDots(d document.Dots, f dotForm) scene {
	s := scene{width: f.width, height: f.height, title: d.Title, desc: describeDots(d)}
	p := box{f.left, f.head, f.width - f.right, f.height - f.foot}
	lo, hi := boundsOfDots(d)
	y := func(share float64) float64 { return p.bottom - (min(share, mostShare)-lo)/(hi-lo)*p.height() }
	x := func(node int) float64 { return p.left + (float64(node)+0.5)/float64(max(len(d.Nodes), 1))*p.width() }
	ground := layer{series: -1}
	if f == aloneDots {
		ground.texts = append(ground.texts, titleOf(d.Title, f.font, f.width, f.font))
	}
	if d.Mark != "" {
		ground.texts = append(ground.texts, label{role: "text", text: d.Mark, at: vec{p.left, p.top - f.font*0.6}, size: f.font, anchor: start, bold: true})
	}
	f.grid(&ground, p, lo, hi, y)
	f.limits(&ground, p, d.Limits, y)
	f.nodes(&ground, p, d.Nodes, x)
	dots := map[bool]*layer{false: {series: plainDots}, true: {series: namedDots}}
	radius := f.font * 0.3
	if len(d.Values) > 300 {
		radius = f.font * 0.2
	}
	names := layer{series: -1}
	for _, v := range d.Values {
		at := vec{x(v.Node), y(v.Share)}
		r := radius
		if v.Named {
			r = f.font * 0.42
			f.name(&names, ground.texts, p, d.Nodes[v.Node], at, r)
		}
		dots[v.Named].dots = append(dots[v.Named].dots, dot{at: at, radius: r, tip: v.Tip})
	}
	s.layers = []layer{ground, *dots[false], *dots[true], names}
	return s
}

// boundsOfDots returns the shares at the bottom and the top of the picture.
func boundsOfDots(d document.Dots) (lo, hi float64) {
	lo, hi = 1, 1.02
	for _, l := range d.Limits {
		lo = min(lo, 1-l)
	}
	for _, v := range d.Values {
		lo, hi = min(lo, v.Share), max(hi, min(v.Share, mostShare))
	}
	pad := 0.06 * (hi - lo)
	return max(0, lo-pad), hi + pad
}

// grid draws lines at round shares.
func (f dotForm) grid(l *layer, p box, lo, hi float64, y func(float64) float64) {
	step := niceStep((hi - lo) / 5)
	for i := math.Ceil(lo / step); i*step <= hi; i++ {
		at := y(i * step)
		l.lines = append(l.lines, stroke{role: "grid", width: 1, points: []vec{{p.left, at}, {p.right, at}}})
		l.texts = append(l.texts, label{role: "muted", text: unit.Shortest(math.Round(i*step*1e4)/100) + " %", at: vec{p.left - 6, at + f.font*0.35}, size: f.font, anchor: end})
	}
}

// limits draws the median and, below it, the limits beyond which a value is reported.
func (f dotForm) limits(l *layer, p box, limits []float64, y func(float64) float64) {
	free := y(1) + f.font*0.35
	write := func(text, role string, share float64, dash []float64) {
		at := y(share)
		l.lines = append(l.lines, stroke{role: role, width: 1.6, dash: dash, points: []vec{{p.left, at}, {p.right, at}}})
		place := max(free, at+f.font*0.35)
		free = place + f.font*1.3
		l.texts = append(l.texts, label{role: "text", text: fitting(text, f.right-8, f.font, false), at: vec{p.right + 6, place}, size: f.font, anchor: start})
	}
	write("median", "s2", 1, nil)
	for _, limit := range limits {
		if limit < 1 {
			write("limit −"+fmt.Sprintf("%.0f %%", 100*limit), "roof", 1-limit, []float64{7, 3})
		}
	}
}

// nodes writes the names of as many nodes as fit.
func (f dotForm) nodes(l *layer, p box, nodes []string, x func(int) float64) {
	const widest = 130
	room := slice.Most(nodes, func(name string) float64 { return min(textWidth(name, f.font, false), widest) + 8 })
	every := max(1, int(math.Ceil(room*float64(len(nodes))/p.width())))
	for i := 0; i < len(nodes); i += every {
		half := min(room-8, 2*(x(i)-2), 2*(f.width-x(i)-2))
		l.texts = append(l.texts, label{role: "muted", text: fitting(nodes[i], half, f.font, false), at: vec{x(i), f.height - f.font*0.6}, size: f.font, anchor: middle})
	}
}

// name writes the name of a node beside its dot, if there is space.
func (f dotForm) name(l *layer, others []label, p box, name string, at vec, radius float64) {
	for _, one := range []label{
		{at: vec{at.x + radius + 4, at.y + f.font*0.35}, anchor: start},
		{at: vec{at.x - radius - 4, at.y + f.font*0.35}, anchor: end},
	} {
		one.role, one.text, one.size, one.halo = "text", name, f.font, true
		b := one.bounds()
		free := b.left >= p.left && b.right <= p.right && b.top >= 0 && b.bottom <= f.height
		for _, o := range append(l.texts, others...) {
			free = free && !b.touches(o.bounds())
		}
		if free {
			l.texts = append(l.texts, one)
			return
		}
	}
}

// describeDots lists the named nodes.
func describeDots(d document.Dots) string {
	named := slice.Where(d.Values, func(v document.DotValue) bool { return v.Named })
	return spoken(slice.Map(named, func(v document.DotValue) string { return v.Tip + "." }), fmt.Sprintf("%s; none is named.", unit.Count(int64(len(d.Values)), "value")))
}
