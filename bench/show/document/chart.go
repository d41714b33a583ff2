package document

import (
	"math"
	"slices"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
)

// Band is a shaded and labelled range of the x axis. Others are further ranges with the same
// shading.
type Band struct {
	Lo, Hi int64
	Label  string
	Others []Stretch
}

// Stretch is a range of the x axis.
type Stretch struct{ Lo, Hi int64 }

// signedPercent prints a relative change: +3.2 %, −0.41 %.
func signedPercent(v float64) string {
	text := unit.Shortest(math.Round(v*1e4)/100 + 0) // no negative zero
	if v > 0 {
		text = "+" + text
	}
	return strings.Replace(text, "-", "−", 1) + " %"
}

// Quantity is the kind of value that a chart shows over its x axis.
type Quantity int

// The first four quantities. BusBW is on a linear axis from zero. Time is a burst's time per
// launch. Alone is the time of one isolated launch. Both are on a logarithmic axis. Spread is the
// distribution of isolated launches, in per cent of their median. All of them are over the message
// size.
const (
	BusBW Quantity = iota
	Time
	Alone
	Spread
	Setting
	// Rate is memory bandwidth over the array size.
	Rate
	// Scale is the bus bandwidth of one message size over the number of ranks, which is in
	// Point.Bytes.
	Scale
	// Change is the relative change of a time, over the message size.
	Change
	// Level is the relative change of all times over the order of the measurements. Point.Bytes is
	// the position in that order, from 1.
	Level
	// StepTime is the time of a training step over the bucket size. Point.Bytes is the bucket's
	// number of elements.
	StepTime
	// ByTokens and ByBackward are the time of a training step over the computation of a microbatch.
	// Point.Bytes is the number of tokens, or the time of the backward pass in microseconds.
	ByTokens
	ByBackward
	// SmallBW is the bus bandwidth of small messages, in a chart of their own. In the chart of all
	// sizes their curve would be flat.
	SmallBW
)

// MostSmall is the largest message in the chart of small messages, in bytes.
const MostSmall = unit.MiB

// QuantityRow describes a quantity.
type QuantityRow struct {
	// Name is the chart's subject. Column is the name of the first column when the chart is shown
	// as a table.
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

// Place prints a point's position on the x axis.
func (q Quantity) Place(p Point) string { return quantities[q].place(p.Bytes) }

// IsChange reports whether the quantity is a relative change, not a value.
func (q Quantity) IsChange() bool { return q == Change || q == Level }

// IsRate reports whether the quantity is in bytes per second, not a time.
func (q Quantity) IsRate() bool { return q == BusBW || q == SmallBW || q == Rate || q == Scale }

// Chart is a chart as data: it says what to draw, not how.
type Chart struct {
	// ID is unique within the page and valid as a file name without extension.
	ID       string
	Title    string
	Subtitle string
	// Mark is a text that must be shown with the picture, such as SIMULATED or "imported from
	// FILE".
	Mark string
	// Notes explain the signs in the chart, one sentence each.
	Notes    []string
	Quantity Quantity
	// Axis is the title of the value axis, for Change and Level.
	Axis   string
	Series []Series
	Roofs  []Roof
	// Band shades a range of sizes; nil means none.
	Band *Band
	// Range is the range of settings between the two ends of the model; nil means none.
	Range *Band
	// Short is true for one of several similar charts. A page draws it less high.
	Short bool
	// Look is the style number of the first series. It lets a chart with one series use the same
	// style as the other charts.
	Look int
}

// Series is one curve. Its position in Chart.Series decides its style, so that a series looks the
// same in every chart of a page.
type Series struct {
	Name   string
	Points []Point
	// Loose is true if no line joins the points.
	Loose bool
	// Knee is the smallest size from which the curve stays above KneeShare of its plateau; nil if
	// unknown. It usually lies between two points.
	Knee *Point
}

// Point is one result. Value is in base units.
type Point struct {
	Bytes int64
	Value float64
	// Lo and Hi bound the value; they are valid if Bounded is true.
	Lo, Hi  float64
	Bounded bool
	// Extrapolated is true if the point is drawn hollow, because part of the model behind it was
	// never measured.
	Extrapolated bool
	// Words replace the printed value where a number is not enough.
	Words string
	// Burst is the time per launch in a burst, shown beside the isolated time; 0 for none.
	Burst float64
	// Slow and Fast are the bus bandwidths at the slow and the fast end of the model; both are 0 if
	// there are none.
	Slow, Fast float64
	// N, Min, Max and P95 describe the distribution; 0 if unknown.
	N             int
	Min, Max, P95 float64
}

// Roof is a labelled horizontal line. Value is in bytes per second.
type Roof struct {
	// Letter refers to the line's entry in the list beneath the chart.
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

// Drawable returns false for an absurd figure of a damaged record, which would stretch the axis
// until nothing else is readable. Tables show the figure unchanged.
func (q Quantity) Drawable(v float64) bool {
	switch {
	case q.IsChange():
		return v > -1 && v <= 1e3
	case !q.IsRate():
		return v >= 1e-12 && v <= 1e9
	}
	return v >= 0 && v <= 1e18
}

// Letter returns the i-th name of the sequence A, B, … Z, A1, B1, …
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

// SeriesPerChart is the largest number of curves in one chart. A chart with more curves is split by
// collective.
const SeriesPerChart = 6

// Split splits a chart with more than SeriesPerChart series into one chart per distinct name.
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
		// The chart's title already names the collective.
		s.Name = strings.TrimLeft(strings.TrimPrefix(s.Name, names[i]), ", ")
		out[at].Series = append(out[at].Series, s)
	}
	return out
}

// KneeShare is the share of the plateau at which a chart marks the knee.
const KneeShare = 0.9

// Plots returns charts as blocks. Among charts that differ only in the collective, the first is
// open and the other charts unfold.
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

// FirstOpen returns charts of curves: the first chart is open, and the other charts unfold.
func FirstOpen(charts []Block) []Block {
	if len(charts) < 2 {
		return charts
	}
	return []Block{charts[0], Details{"The same of " + unit.Count(len(charts)-1, "other curve"), charts[1:]}}
}

// Clip shortens intervals to three times the largest change, but to no less than 6 %, so that the
// changes remain visible. The text of a point shows its full interval.
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

// leastCost is the least height of the axis of a setting's cost. costRoom times the cost of the
// most expensive named setting must fit on the axis, too. More expensive settings are cut off,
// because they would flatten all others.
const (
	leastCost = 0.05
	costRoom  = 1.3
)

// CostTop returns the upper end of the axis in the chart of settings: the cost over the best
// setting, as a share.
func CostTop(c Chart) float64 {
	top := leastCost
	for _, s := range c.Series[1:] {
		for _, p := range s.Points {
			top = max(top, p.Value*costRoom)
		}
	}
	return max(0.01, min(top, slice.Most(c.Series[0].Points, func(p Point) float64 { return p.Value })*1.05))
}

// BeyondAxis is the largest time of a drawn launch, in medians. A slower launch is only in the
// table, because it would flatten all others.
const BeyondAxis = 20

// Slug turns a name into a valid id and file name.
func Slug(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '-'
	}, strings.ToLower(plain.Clip(name, 40)))
}

// SizeRange returns the smallest and the largest size, or a default range if there are no points.
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

// StepChart returns the chart of training steps by setting. It has a series with the given name for
// predictions, and an empty series for measurements.
func StepChart(predicted string, simulated bool) Chart {
	return Chart{
		ID: "steps", Title: "Step time by bucket size, predicted and measured", Mark: MarkOf(simulated), Quantity: StepTime,
		Series: []Series{{Name: predicted}, {Name: "measured", Loose: true}},
	}
}

// MeasuredStep returns the median time of n steps with a setting, as a point. median, lo and hi are
// in seconds, and elements is the setting's bucket size. lo and hi are nil if there is no interval.
func MeasuredStep(elements int64, median float64, lo, hi *float64, n int) Point {
	p := Point{Bytes: elements, Value: median, N: n}
	if lo != nil && hi != nil {
		p.Lo, p.Hi, p.Bounded = *lo, *hi, true
	}
	return p
}

// RangeName is the chart's label for the range between both ends of a model.
const RangeName = "model's range"

// RangeName returns the chart's label for the area around a curve.
func (q Quantity) RangeName() string {
	if q == StepTime {
		return "95 % of steps"
	}
	return RangeName
}

// Bracketed reports whether the point has two different ends of a model.
func (p Point) Bracketed() bool { return p.Fast > p.Slow }

func (Chart) block() string { return "chart" }
