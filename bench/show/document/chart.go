package document

import (
	"math"
	"slices"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
)

// Band is a shaded and named stretch of the x axis, with others that are shaded in the same way.
type Band struct {
	Lo, Hi int64
	Label  string
	Others []Stretch
}

// Stretch is a part of the x axis.
type Stretch struct{ Lo, Hi int64 }

// signedPercent prints a relative change: +3.2 %, −0.41 %.
func signedPercent(v float64) string {
	text := unit.Shortest(math.Round(v*1e4)/100 + 0) // no negative zero
	if v > 0 {
		text = "+" + text
	}
	return strings.Replace(text, "-", "−", 1) + " %"
}

// Quantity is the value that a chart shows over the message size.
type Quantity int

// The quantities: bus bandwidth on a linear axis from zero; the burst's time per launch and the
// isolated time of one launch on a logarithmic one; the distribution of isolated launches, in per
// cent of their median; and the step time over the bucket size, where Point.Bytes counts elements.
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
	// StepTime is the time of a training step over the bucket size, where Point.Bytes counts elements.
	StepTime
	// ByTokens and ByBackward are the time of a training step over the computation of a microbatch.
	// Point.Bytes counts tokens, or microseconds of backward.
	ByTokens
	ByBackward
	// SmallBW is bus bandwidth of messages so small that it is flat on a linear axis.
	SmallBW
)

// MostSmall is the largest message of a chart of small ones, in bytes.
const MostSmall = unit.MiB

// QuantityRow describes a quantity.
type QuantityRow struct {
	// Name is the chart's subject, Column the first column of the chart as a table.
	Name, Column string
	format       func(value float64) string
	place        func(x int64) string
}

var quantities = [...]QuantityRow{
	BusBW:      {"Bus bandwidth", "size", unit.Rate, unit.Bytes},
	Time:       {"Time per launch in a burst", "size", unit.Seconds, unit.Bytes},
	Alone:      {"Time of one launch alone", "size", unit.Seconds, unit.Bytes},
	Spread:     {"Distribution of launches alone", "size", unit.Seconds, unit.Bytes},
	Setting:    {"Step time over the best", "size", unit.Seconds, elements},
	Rate:       {"Bandwidth", "size", unit.Rate, unit.Bytes},
	Scale:      {"Bus bandwidth", "ranks", unit.Rate, func(n int64) string { return unit.Count(n, "rank") }},
	Change:     {"Change of the time", "size", signedPercent, unit.Bytes},
	Level:      {"Change of all times", "order", signedPercent, func(n int64) string { return "child run " + unit.Comma(n) }},
	StepTime:   {"Time of a training step", "size", unit.Seconds, elements},
	ByTokens:   {"Time of a training step", "tokens", unit.Seconds, unit.Comma[int64]},
	SmallBW:    {"Bus bandwidth", "size", unit.Rate, unit.Bytes},
	ByBackward: {"Time of a training step", "backward", unit.Seconds, func(n int64) string { return unit.Seconds(float64(n) * 1e-6) }},
}

func elements(n int64) string { return unit.Number(float64(n)) + " elements" }

// Row returns the row of the quantity.
func (q Quantity) Row() QuantityRow { return quantities[q] }

// Format prints a value of the chart with its unit.
func (q Quantity) Format(v float64) string { return quantities[q].format(v) }

// Place prints the position of a point on the x axis.
func (q Quantity) Place(p Point) string { return quantities[q].place(p.Bytes) }

// IsChange reports whether the quantity is a relative change, not a value.
func (q Quantity) IsChange() bool { return q == Change || q == Level }

// IsRate reports whether the quantity is in bytes per second, not a time.
func (q Quantity) IsRate() bool { return q == BusBW || q == SmallBW || q == Rate || q == Scale }

// Chart is a chart as data: what to draw, not how.
type Chart struct {
	// ID is unique within the page and a valid file stem.
	ID       string
	Title    string
	Subtitle string
	// Mark must accompany the picture: SIMULATED, imported from FILE.
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
	// Range is the range of settings that the model's bracket allows; nil is none.
	Range *Band
	// Short is true for one of several similar charts, which a page draws less high.
	Short bool
	// Look is the first series' number in the looks, so that a chart of one series looks as in the
	// other charts.
	Look int
}

// Series is one curve. Its position in Chart.Series decides its looks, so that a series looks the
// same in every chart of a page.
type Series struct {
	Name   string
	Points []Point
	// Loose points are not joined by a line.
	Loose bool
	// Knee is the size from which the curve stays at kneeShare of its plateau, usually between two
	// points; nil if unknown.
	Knee *Point
}

// Point is one result. Value is in base units.
type Point struct {
	Bytes int64
	Value float64
	// Lo and Hi bound the value if Bounded is true.
	Lo, Hi  float64
	Bounded bool
	// Extrapolated points are drawn hollow.
	Extrapolated bool
	// Words replace the printed value if it needs more than a number.
	Words string
	// Burst is the time in a burst, shown beside the isolated time of a launch; 0 for none.
	Burst float64
	// Slow and Fast are the bus bandwidths at the two ends of the model; both 0 for none.
	Slow, Fast float64
	// N, Min, Max and P95 describe the distribution; 0 if unknown.
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

// Text prints the point's value with its interval.
func (p Point) Text(q Quantity) string {
	if p.Words != "" {
		return p.Words
	}
	s := q.Format(p.Value)
	if p.Bounded {
		s += " [" + q.Format(p.Lo) + ", " + q.Format(p.Hi) + "]"
	}
	if p.Bracketed() {
		s += ", " + q.RangeName() + " " + q.Format(p.Slow) + " to " + q.Format(p.Fast)
	}
	if p.Burst > 0 {
		s += ", in a burst " + q.Format(p.Burst)
	}
	if q == Spread {
		s = "median " + s + ", min " + q.Format(p.Min) + ", max " + q.Format(p.Max) + ", n " + unit.Comma(p.N)
	}
	return s
}

// Drawable excludes an absurd figure of a damaged record, which would stretch the axis until
// nothing else is readable. The tables show it as it is.
func (q Quantity) Drawable(v float64) bool {
	switch {
	case q.IsChange():
		return v > -1 && v <= 1e3
	case !q.IsRate():
		return v >= 1e-12 && v <= 1e9
	}
	return v >= 0 && v <= 1e18
}

// Letter counts A, B, … Z, A1, B1, …
func Letter(i int) string {
	s := string(rune('A' + i%26))
	if i >= 26 {
		s += unit.Comma(i / 26)
	}
	return s
}

// Empty reports whether there is nothing to draw.
func (c Chart) Empty() bool {
	return !slices.ContainsFunc(c.Series, func(s Series) bool { return len(s.Points) > 0 })
}

// SeriesPerChart is the most curves in one chart; with more, each collective gets its own chart.
const SeriesPerChart = 6

// Split makes one chart for each distinct name if the chart has more series than seriesPerChart.
// names[i] is the name for series i.
func Split(c Chart, names []string) []Chart {
	order := slices.Compact(slices.Clone(names))
	if len(c.Series) <= SeriesPerChart || len(order) < 2 {
		return []Chart{c}
	}
	var out []Chart
	index := map[string]int{}
	for i, s := range c.Series {
		at, known := index[names[i]]
		if !known {
			at = len(out)
			index[names[i]] = at
			one := c
			one.ID, one.Title, one.Series, one.Short = c.ID+"-"+Slug(names[i]), names[i]+": "+plain.Lower(c.Title), nil, true
			out = append(out, one)
		}
		// The title names the collective already.
		s.Name = strings.TrimLeft(strings.TrimPrefix(s.Name, names[i]), ", ")
		out[at].Series = append(out[at].Series, s)
	}
	return out
}

// KneeShare is the share of the plateau whose size is marked in a chart.
const KneeShare = 0.9

// Plots returns charts as blocks. Of charts that differ only in the collective, the first is open
// and the others unfold.
func Plots(all []Chart) []Block {
	var out, more []Block
	var titles []string
	for i, c := range all {
		if i > 0 && c.Short && all[i-1].Quantity == c.Quantity {
			name, _, _ := strings.Cut(c.Title, ":")
			titles, more = append(titles, name), append(more, Plot{Chart: c})
			continue
		}
		out = append(out, Plot{Chart: c})
	}
	if len(more) > 0 {
		out = append(out, Details{"The same of " + plain.And(slices.Compact(titles)), more})
	}
	return out
}

// FirstOpen returns charts of curves of which the first is open and the others unfold.
func FirstOpen(charts []Block) []Block {
	if len(charts) < 2 {
		return charts
	}
	return []Block{charts[0], Details{"The same of " + unit.Count(len(charts)-1, "other curve"), charts[1:]}}
}

// Clip shortens intervals to three times the largest change, or 6 %, so that the changes remain
// visible. A point's text keeps its whole interval.
func (c *Chart) Clip() {
	far := 0.02
	for _, s := range c.Series {
		for _, p := range s.Points {
			far = max(far, math.Abs(p.Value))
		}
	}
	for _, s := range c.Series {
		for i := range s.Points {
			p := &s.Points[i]
			if p.Lo < -3*far || p.Hi > 3*far {
				p.Words = p.Text(c.Quantity)
				p.Lo, p.Hi = max(p.Lo, -3*far), min(p.Hi, 3*far)
			}
		}
	}
}

// The axis of a setting's cost shows at least leastCost, and costRoom times the cost of the most
// expensive named setting. Settings that cost several times the best are cut off: they would
// flatten all others.
const (
	leastCost = 0.05
	costRoom  = 1.3
)

// CostTop returns the highest cost over the best that the chart of settings shows, as a share.
func CostTop(c Chart) float64 {
	top := leastCost
	for _, s := range c.Series[1:] {
		for _, p := range s.Points {
			top = max(top, p.Value*costRoom)
		}
	}
	return max(0.01, min(top, slice.Most(c.Series[0].Points, func(p Point) float64 { return p.Value })*1.05))
}

// BeyondAxis is the number of medians up to which a launch is drawn. A stray launch beyond is only
// in the table, because it would flatten all others.
const BeyondAxis = 20

// Slug makes a name fit for an id and a file.
func Slug(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '-'
	}, strings.ToLower(plain.Clip(name, 40)))
}

// SizeRange returns the span of sizes, or a default span if there are none.
func SizeRange(c Chart) (lo, hi int64) {
	for _, s := range c.Series {
		for _, p := range s.Points {
			if lo == 0 || p.Bytes < lo {
				lo = p.Bytes
			}
			hi = max(hi, p.Bytes)
		}
	}
	if lo == 0 {
		return unit.KiB, unit.GiB
	}
	return lo, hi
}

// StepChart returns the chart of training steps by setting: the predicted line, with this name, and
// the measured points, still empty.
func StepChart(predicted string, simulated bool) Chart {
	return Chart{
		ID: "steps", Title: "Step time by bucket size, predicted and measured", Mark: MarkOf(simulated), Quantity: StepTime,
		Series: []Series{{Name: predicted}, {Name: "measured", Loose: true}},
	}
}

// MeasuredStep is the median of n steps with a setting, in seconds and elements, with its interval,
// if it has one.
func MeasuredStep(elements int64, median float64, lo, hi *float64, n int) Point {
	p := Point{Bytes: elements, Value: median, N: n}
	if lo != nil && hi != nil {
		p.Lo, p.Hi, p.Bounded = *lo, *hi, true
	}
	return p
}

// RangeName is the chart's label for the range between both ends of a model.
const RangeName = "model's range"

// RangeName is the chart's label for the area around a curve.
func (q Quantity) RangeName() string {
	if q == StepTime {
		return "95 % of steps"
	}
	return RangeName
}

// Bracketed reports whether the model gives the point two ends.
func (p Point) Bracketed() bool { return p.Fast > p.Slow }

func (Chart) block() string { return "chart" }
