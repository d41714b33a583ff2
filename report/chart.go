package report

import (
	"strings"

	"zbench/bench/record"
	"zbench/bench/unit"
)

// Quantity is what a chart shows over the message size.
type Quantity int

// The quantities: bus bandwidth on a linear axis from zero, time on a
// logarithmic one.
const (
	BusBW Quantity = iota
	Time
)

// Chart is a chart as data: what to draw, not how.
type Chart struct {
	// ID is unique within the page and a valid file stem.
	ID       string
	Title    string
	Subtitle string
	// Mark is what must travel with the picture: SIMULATED, imported from FILE.
	Mark string
	// Notes explain the signs used, one sentence each.
	Notes    []string
	Quantity Quantity
	Series   []Series
	Roofs    []Roof
}

// Series is one curve. Its place in Chart.Series decides its looks, so that a
// series looks the same in every chart of a page.
type Series struct {
	Name   string
	Points []Point
}

// Point is one result. Value is in base units.
type Point struct {
	Bytes int64
	Value float64
	// Lo and Hi bound the value where Bounded is true.
	Lo, Hi  float64
	Bounded bool
	// Extrapolated points are drawn hollow.
	Extrapolated bool
}

// Roof is a labelled horizontal line. Value is in bytes per second.
type Roof struct {
	// Letter ties the line to its entry in the list beneath the chart.
	Letter, Label string
	Value         float64
	Source        string
}

// Format prints a value of the chart with its unit.
func (q Quantity) Format(v float64) string {
	if q == Time {
		return unit.Seconds(v)
	}
	return unit.Rate(v)
}

// Text prints the point's value with its interval.
func (p Point) Text(q Quantity) string {
	s := q.Format(p.Value)
	if p.Bounded {
		s += " [" + q.Format(p.Lo) + ", " + q.Format(p.Hi) + "]"
	}
	return s
}

// charts makes the charts of a record: bus bandwidth and time.
func charts(rec *record.Record, curves []curve, roofs []Roof) []Chart {
	sub := []string{worldText(rec.World)}
	if words := shared(rec); len(words) > 0 {
		sub = append(sub, strings.Join(words, ", "))
	}
	base := Chart{Subtitle: strings.Join(sub, " · "), Mark: mark(rec)}
	bw, tm := base, base
	bw.ID, bw.Title, bw.Quantity, bw.Roofs = "busbw", "Bus bandwidth by message size", BusBW, usable(roofs)
	tm.ID, tm.Title, tm.Quantity = "time", "Time per launch by message size", Time
	for _, c := range curves {
		bw.Series = append(bw.Series, Series{c.name, points(c, BusBW)})
		tm.Series = append(tm.Series, Series{c.name, points(c, Time)})
	}
	out := []Chart{bw, tm}
	for i := range out {
		out[i].Notes = notesOf(out[i], rec)
	}
	return out
}

// points keeps what ended ok and can be placed on the axes.
func points(c curve, q Quantity) []Point {
	var out []Point
	for _, r := range c.rows {
		t := timingOf(r)
		if r.Status != record.OK || r.Bytes <= 0 {
			continue
		}
		p := Point{Bytes: r.Bytes, Value: t.median, Lo: t.lo, Hi: t.hi, Bounded: t.bounded, Extrapolated: r.Extrapolated}
		known := t.known
		if q == BusBW {
			p.Value, known = busBWOf(r)
			if t.bounded {
				p.Lo, p.Hi = p.Value*(t.median/t.hi), p.Value*(t.median/t.lo)
			}
		}
		p.Bounded = p.Bounded && q.drawable(p.Lo) && q.drawable(p.Hi)
		if known && q.drawable(p.Value) {
			out = append(out, p)
		}
	}
	return out
}

// drawable keeps an absurd figure of a damaged record, which the tables show
// as it is, from stretching the axis until nothing else can be read.
func (q Quantity) drawable(v float64) bool {
	if q == Time {
		return v >= 1e-12 && v <= 1e9
	}
	return v >= 0 && v <= 1e18
}

// notesOf explains only the signs that occur.
func notesOf(c Chart, rec *record.Record) []string {
	var bars, hollow, filled, plotted bool
	for _, s := range c.Series {
		for _, p := range s.Points {
			plotted = true
			bars = bars || p.Bounded
			hollow = hollow || p.Extrapolated
			filled = filled || !p.Extrapolated
		}
	}
	var notes []string
	if !plotted {
		return []string{"No case ended with a figure to draw."}
	}
	if bars {
		notes = append(notes, "Vertical bars bound the median with at least 95 % confidence; a bar shorter than its marker does not show.")
	}
	switch {
	case hollow && filled:
		notes = append(notes, "Hollow markers are extrapolated: the model was fitted at other node counts or for another collective.")
	case hollow:
		notes = append(notes, "All points are extrapolated (hollow markers): the model was fitted at other node counts or for another collective.")
	}
	if c.Quantity == BusBW && rec.World.Ranks == 1 {
		notes = append(notes, "One rank has no bus traffic: its bus bandwidth is zero by definition.")
	}
	return notes
}

// roofsOf letters the roofs.
func roofsOf(in []record.Roof) []Roof {
	out := make([]Roof, len(in))
	for i, r := range in {
		out[i] = Roof{Letter: letter(i), Label: r.Label, Value: r.BusBW, Source: r.Source}
	}
	return out
}

// usable keeps the roofs that can be drawn.
func usable(roofs []Roof) []Roof {
	var out []Roof
	for _, r := range roofs {
		if BusBW.drawable(r.Value) && r.Value > 0 {
			out = append(out, r)
		}
	}
	return out
}

// letter counts A, B, … Z, A1, B1, …
func letter(i int) string {
	s := string(rune('A' + i%26))
	if i >= 26 {
		s += comma(int64(i / 26))
	}
	return s
}

// Empty is true when there is nothing to draw.
func (c Chart) Empty() bool {
	for _, s := range c.Series {
		if len(s.Points) > 0 {
			return false
		}
	}
	return true
}
