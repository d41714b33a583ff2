package report

import "zbench/bench/show/document"

// plotData is the script's input for a chart: its points as numbers and as text, and what is needed
// to label a part of the axes.
type plotData struct {
	ID     string       `json:"id"`
	Series []seriesData `json:"series"`
	// X has ticks in units of the x axis: octaves, or steps of 1 if Linear is true. Y describes the
	// labels of the y axis.
	X      []tickData `json:"x"`
	Linear bool       `json:"linear,omitempty"`
	Y      yData      `json:"y"`
}

// yData describes the y axis. A logarithmic axis has Ticks. For a linear axis the script makes the
// labels: the value divided by Scale, then Unit; positive values begin with a plus sign if Plus is
// true.
type yData struct {
	Log   bool       `json:"log"`
	Zero  bool       `json:"zero"`
	Scale float64    `json:"scale"`
	Unit  string     `json:"unit"`
	Plus  string     `json:"plus"`
	Ticks []tickData `json:"ticks"`
}

// tickData is the position of a tick, in units of the axis, and its label.
type tickData struct {
	At   float64 `json:"at"`
	Text string  `json:"text"`
}

type seriesData struct {
	Name   string      `json:"name"`
	Points []pointData `json:"points"`
}

// pointData is a point: its position on the x axis, as a number and as text, and its value, in base
// units and as text.
type pointData struct {
	Bytes int64   `json:"b"`
	Value float64 `json:"v"`
	Size  string  `json:"s"`
	Text  string  `json:"t"`
}

func dataOf(c document.Chart) plotData {
	d := plotData{ID: c.ID, Linear: c.Quantity == document.Level, X: []tickData{}, Y: yData{Ticks: []tickData{}}, Series: []seriesData{}}
	for _, s := range c.Series {
		one := seriesData{Name: s.Name, Points: []pointData{}}
		for _, p := range s.Points {
			one.Points = append(one.Points, pointData{p.Bytes, p.Value, c.Quantity.Place(p), p.Text(c.Quantity)})
		}
		d.Series = append(d.Series, one)
	}
	if c.Empty() {
		return d
	}
	// All possible labels are included; the script omits those that do not fit.
	x, y := placeAxis(c, func(string) float64 { return 0 }), valueAxis(c, 400, 1)
	for _, t := range x.ticks {
		if t.label != "" {
			d.X = append(d.X, tickData{x.lo + x.norm(t.value)*(x.hi-x.lo), t.label})
		}
	}
	switch {
	case y.log:
		d.Y.Log = true
		for _, t := range y.ticks {
			d.Y.Ticks = append(d.Y.Ticks, tickData{y.lo + y.norm(t.value)*(y.hi-y.lo), t.label})
		}
	case c.Quantity == document.Spread || c.Quantity.IsChange():
		d.Y.Scale, d.Y.Unit, d.Y.Plus = 0.01, " %", "+"
	case c.Quantity == document.Setting:
		d.Y.Scale, d.Y.Unit, d.Y.Plus, d.Y.Zero = 0.01, " %", "+", true
	case c.Quantity == document.StepTime:
		d.Y.Scale = scaleOf(y.hi, timeSteps).size
	default:
		d.Y.Scale, d.Y.Zero = scaleOf(y.hi, rateSteps).size, true
	}
	return d
}
