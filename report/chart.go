package report

import (
	"strings"

	"zbench/bench/curve"
	"zbench/bench/record"
	"zbench/bench/unit"
)

// Quantity is what a chart shows over the message size.
type Quantity int

// The quantities: bus bandwidth on a linear axis from zero; the burst's time
// per launch and that of one launch alone on a logarithmic one; how launches
// alone are distributed, as per cent of their median; and the step time over the
// bucket size, where Point.Bytes counts elements.
const (
	BusBW Quantity = iota
	Time
	Alone
	Spread
	Setting
	// Rate is a memory's bandwidth, over the size of an array.
	Rate
	// Scale is bus bandwidth at one message size over the number of ranks, which
	// Point.Bytes counts.
	Scale
	// Change is the relative change of a time, over the message size.
	Change
	// Level is the relative change of all times over the order of the measurements, which
	// Point.Bytes counts from 1.
	Level
)

// isChange tells relative changes from values.
func (q Quantity) isChange() bool { return q == Change || q == Level }

// isRate tells quantities in bytes per second from times.
func (q Quantity) isRate() bool { return q == BusBW || q == Rate || q == Scale }

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
	// Axis is the title of a Change's or a Level's value axis.
	Axis   string
	Series []Series
	Roofs  []Roof
	// Band shades a stretch of the sizes; nil is none.
	Band *Band
	// Range is the stretch of settings that the model's bracket leaves open; nil is none.
	Range *Band
	// Short is true for one chart of several alike, which is drawn less high in a page.
	Short bool
	// Look is the first series' place in the looks, so that a chart of one
	// series shows it as the other charts do.
	Look int
}

// Series is one curve. Its place in Chart.Series decides its looks, so that a
// series looks the same in every chart of a page.
type Series struct {
	Name   string
	Points []Point
	// Knee is from where on the curve stays at kneeShare of its plateau, between two
	// points as a rule; nil is not known.
	Knee *Point
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
	// Words replace the printed value where it takes more than a number.
	Words string
	// Burst is the time in a burst beside that of a launch alone; 0 for none.
	Burst float64
	// Slow and Fast are the bus bandwidths at the two ends of the model; both 0 for none.
	Slow, Fast float64
	// N, Min, Max and P95 describe the distribution; 0 where not known.
	N             int
	Min, Max, P95 float64
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
	switch {
	case q.isChange():
		return signedPercent(v)
	case q.isRate():
		return unit.Rate(v)
	}
	return unit.Seconds(v)
}

// Place prints where a point lies on the x axis.
func (q Quantity) Place(p Point) string {
	switch q {
	case Setting:
		return unit.Number(float64(p.Bytes)) + " elements"
	case Scale:
		return unit.Count(p.Bytes, "rank")
	case Level:
		return "child run " + unit.Comma(p.Bytes)
	default:
	}
	return unit.Bytes(p.Bytes)
}

// Text prints the point's value with its interval.
func (p Point) Text(q Quantity) string {
	if p.Words != "" {
		return p.Words
	}
	s := q.Format(p.Value)
	if p.Bounded {
		s += " [" + q.Format(p.Lo) + ", " + q.Format(p.Hi) + "]"
	}
	if p.bracketed() {
		s += ", " + rangeName + " " + q.Format(p.Slow) + " to " + q.Format(p.Fast)
	}
	if p.Burst > 0 {
		s += ", in a burst " + q.Format(p.Burst)
	}
	if q == Spread {
		s = "median " + s + ", min " + q.Format(p.Min) + ", max " + q.Format(p.Max) + ", n " + unit.Comma(int64(p.N))
	}
	return s
}

// baseChart is what all charts of a record share.
func baseChart(rec *record.Record, drawn []curve.Curve) Chart {
	sub := []string{worldText(rec.World)}
	if words := curve.Shared(drawn); len(words) > 0 {
		sub = append(sub, strings.Join(words, ", "))
	}
	return Chart{Subtitle: strings.Join(sub, " · "), Mark: mark(rec)}
}

// points keeps what ended ok and can be placed on the axes.
func points(c curve.Curve, q Quantity) []Point {
	var out []Point
	for _, r := range c.Rows {
		burst := curve.BurstOf(r)
		t := burst
		if q == Alone || q == Spread {
			t = curve.IsolatedOf(r)
		}
		if r.Status != record.OK || r.Bytes <= 0 {
			continue
		}
		p := Point{Bytes: r.Bytes, Value: t.Median, Lo: t.Lo, Hi: t.Hi, Bounded: t.Bounded, Extrapolated: r.Extrapolated}
		known := t.Known
		switch {
		case q == BusBW:
			p.Value, known = curve.BusBW(r)
			bracket(&p, r)
			if t.Bounded {
				p.Lo, p.Hi = p.Value*(t.Median/t.Hi), p.Value*(t.Median/t.Lo)
			}
		case q == Alone && burst.Known && q.drawable(burst.Median):
			p.Burst = burst.Median
		case q == Spread && known:
			tails(&p, t)
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
	switch {
	case q.isChange():
		return v > -1 && v <= 1e3
	case !q.isRate():
		return v >= 1e-12 && v <= 1e9
	}
	return v >= 0 && v <= 1e18
}

// roofsOf letters the roofs of a record's fabric.
func roofsOf(rec *record.Record) []Roof {
	if rec.Fabric == nil {
		return nil
	}
	out := make([]Roof, len(rec.Fabric.Roofs))
	for i, r := range rec.Fabric.Roofs {
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
		s += unit.Comma(int64(i / 26))
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
