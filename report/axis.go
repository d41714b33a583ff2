package report

import (
	"math"
	"strconv"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/show/document"
)

// axis maps values to 0…1. It also has the title and the labels.
type axis struct {
	lo, hi float64 // in transformed values
	log    bool
	title  string
	ticks  []tick
}

// tick is a value on an axis. A tick without a label is a minor tick.
type tick struct {
	value float64
	label string
}

// norm returns the position of v on the axis: 0 at its start, 1 at its end.
func (a axis) norm(v float64) float64 {
	if a.log {
		v = math.Log2(v)
	}
	return (v - a.lo) / (a.hi - a.lo)
}

// logAxis returns a logarithmic axis from lo to hi without ticks.
func logAxis(lo, hi int64, title string) axis {
	a := axis{lo: math.Log2(float64(lo)), hi: math.Log2(float64(hi)), log: true, title: title}
	if a.hi-a.lo < 2 {
		// A logarithmic axis needs at least two powers of two to be readable.
		a.lo, a.hi = math.Floor(a.lo)-1, math.Ceil(a.hi)+1
	}
	pad := (a.hi - a.lo) * 0.02
	a.lo, a.hi = a.lo-pad, a.hi+pad
	return a
}

// fitTicks tries lists of ticks in order and keeps the first one whose labels do not overlap, else
// the last one. share returns the part of the axis, from 0 to 1, that a label needs.
func fitTicks[T any](a *axis, share func(label string) float64, steps []T, ticks func(T) []tick) bool {
	for _, step := range steps {
		if a.ticks = ticks(step); spaced(*a, share) {
			return true
		}
	}
	return false
}

// powerAxis returns an axis with ticks at powers of two.
func powerAxis(lo, hi int64, title string, name func(int64) string, share func(label string) float64) axis {
	a := logAxis(lo, hi, title)
	// If the stride divides 10, the sizes 1 KiB, 1 MiB and 1 GiB keep their labels.
	fitTicks(&a, share, []int{1, 2, 5, 10, 20}, func(stride int) (out []tick) {
		for e := max(0, int(math.Ceil(a.lo))); e <= min(62, int(math.Floor(a.hi))); e++ {
			t := tick{value: math.Ldexp(1, e)}
			if e%stride == 0 {
				t.label = name(int64(1) << e)
			}
			out = append(out, t)
		}
		return out
	})
	return a
}

// countAxis returns an axis for numbers of elements, with ticks at round numbers, as many as their
// labels allow.
func countAxis(lo, hi int64, share func(label string) float64) axis {
	a := logAxis(lo, hi, "bucket size in elements, log scale")
	if fitTicks(&a, share, [][]float64{{1, 2, 3, 4, 6, 8}, {1, 2, 5}, {1, 3}, {1}}, func(mantissas []float64) []tick {
		return decades(a, mantissas, 0, 1, countLabel)
	}) {
		return a
	}
	for i := range a.ticks {
		if i%2 == 1 {
			a.ticks[i].label = ""
		}
	}
	return a
}

// countLabel formats a round number without decimals: 5 M.
func countLabel(n float64) string {
	for _, u := range []scaleStep{{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}} {
		if n >= u.size {
			return unit.Shortest(n/u.size) + u.name
		}
	}
	return unit.Shortest(n)
}

// orderAxis returns a linear axis for child runs in their order.
func orderAxis(lo, hi int64, share func(label string) float64) axis {
	a := axis{lo: float64(lo) - 0.5, hi: float64(hi) + 0.5, title: "child run"}
	fitTicks(&a, share, []int64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}, func(step int64) (out []tick) {
		for v := (lo + step - 1) / step * step; v <= hi; v += step {
			out = append(out, tick{float64(v), strconv.FormatInt(v, 10)})
		}
		return out
	})
	return a
}

// spaced returns true if the labels do not overlap. Labels are centred on their ticks.
func spaced(a axis, share func(string) float64) bool {
	end := math.Inf(-1)
	for _, t := range a.ticks {
		if t.label == "" {
			continue
		}
		half := share(t.label) / 2
		if a.norm(t.value)-half < end {
			return false
		}
		end = a.norm(t.value) + half*1.25
	}
	return true
}

// scaleStep is one unit that an axis may use.
type scaleStep struct {
	size float64
	name string
}

// scaleOf returns the largest unit that v reaches. A whole axis uses one unit.
func scaleOf(v float64, steps []scaleStep) scaleStep {
	for _, s := range steps {
		if v >= s.size {
			return s
		}
	}
	return steps[len(steps)-1]
}

// rateSteps are the units of an axis of rates.
var rateSteps = []scaleStep{{1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1, "B/s"}}

// rateAxis returns an axis that starts at zero and has space for a label above the highest roof.
// The title begins with the name of the rate, `what`.
func rateAxis(what string, highest float64, count int) axis {
	if highest < 1 {
		highest = 1e9 // no data were moved, so any axis will do
	}
	// Large values also keep the usual unit GB/s: 6,000 GB/s.
	s := scaleOf(highest, rateSteps)
	a := axis{lo: 0, hi: highest * 1.09, title: what + ", " + s.name}
	step := niceStep(a.hi / s.size / float64(count))
	for i := 0; float64(i)*step*s.size <= a.hi; i++ {
		v := float64(i) * step
		a.ticks = append(a.ticks, tick{v * s.size, unit.Shortest(v)})
	}
	return a
}

// timeSteps are the units of an axis of times.
var timeSteps = []scaleStep{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}}

// stepAxis returns a linear axis that begins just below the smallest value, because steps differ by
// much less than their length.
func stepAxis(lo, hi float64, count int) axis {
	s := scaleOf(hi, timeSteps)
	pad := max(0.08*(hi-lo), 0.01*hi)
	a := axis{lo: max(0, lo-pad), hi: hi + pad, title: "time of a training step, " + s.name}
	step := niceStep((a.hi - a.lo) / s.size / float64(count))
	for i := math.Ceil(a.lo / s.size / step); i*step*s.size <= a.hi; i++ {
		a.ticks = append(a.ticks, tick{i * step * s.size, unit.Shortest(math.Round(i*step*1e6) / 1e6)})
	}
	return a
}

// niceStep rounds up to 1, 2, 2.5, 5 or 10 times a power of ten.
func niceStep(raw float64) float64 {
	p := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if raw <= m*p {
			return m * p
		}
	}
	return 10 * p
}

// valuesAxis returns a logarithmic axis with ticks at powers of ten, and at 2 and 5 times these if
// there is space. least is the smallest exponent.
func valuesAxis(lo, hi float64, count, least int, title string, label func(float64) string) axis {
	a := axis{lo: math.Log2(lo / 1.25), hi: math.Log2(hi * 1.25), log: true, title: title}
	const octaves = 3.0 // such an axis always has two of the 1-2-5 ticks
	if a.hi-a.lo < octaves {
		mid := (a.lo + a.hi) / 2
		a.lo, a.hi = mid-octaves/2, mid+octaves/2
	}
	a.ticks = decades(a, []float64{1, 2, 5}, least, 1, label)
	for every := 1; len(a.ticks) > count; every++ {
		a.ticks = decades(a, []float64{1}, least, every, label)
	}
	return a
}

// timeAxis is a logarithmic axis of times.
func timeAxis(lo, hi float64, count int) axis {
	return valuesAxis(lo, hi, count, -12, "time per launch, log scale", timeLabel)
}

// rateLabel prints a round rate without trailing zeros: "50 MB/s".
func rateLabel(v float64) string {
	s := scaleOf(v*(1+1e-9), rateSteps)
	return unit.Shortest(math.Round(v/s.size*1e6)/1e6) + " " + s.name
}

// decades returns ticks at the mantissas times powers of ten. The smallest exponent is `least`, and
// all exponents are multiples of `every`.
func decades(a axis, mantissas []float64, least, every int, label func(float64) string) []tick {
	var out []tick
	for e := least; e <= 15; e++ {
		if e%every != 0 {
			continue
		}
		for _, m := range mantissas {
			// Parsing gives exactly 1e-6, which multiplication would not.
			v, _ := strconv.ParseFloat(unit.Shortest(m)+"e"+strconv.Itoa(e), 64)
			if n := a.norm(v); n >= 0 && n <= 1 {
				out = append(out, tick{v, label(v)})
			}
		}
	}
	return out
}

// timeLabel prints a round time without trailing zeros: "50 µs".
func timeLabel(s float64) string {
	step := scaleOf(s*(1+1e-9), []scaleStep{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}})
	return unit.Shortest(math.Round(s/step.size*1e6)/1e6) + " " + step.name
}

// shareAxis returns a linear axis whose labels are percentages with a sign.
func shareAxis(lo, hi float64, title string, count int) axis {
	const cent = 0.01
	a := axis{lo: lo, hi: hi, title: title}
	step := niceStep((hi - lo) / cent / float64(count))
	for i := int(lo / cent / step); float64(i)*step*cent <= hi; i++ {
		text := unit.Shortest(float64(i)*step) + " %"
		if i > 0 {
			text = "+" + text
		}
		a.ticks = append(a.ticks, tick{float64(i) * step * cent, strings.Replace(text, "-", "−", 1)})
	}
	return a
}

// placeAxis returns the x axis of a chart.
func placeAxis(c document.Chart, share func(label string) float64) axis {
	lo, hi := document.SizeRange(c)
	switch c.Quantity {
	case document.Setting:
		lo, hi = settingSpan(c)
		return countAxis(lo, hi, share)
	case document.StepTime:
		return countAxis(lo, hi, share)
	case document.Scale:
		return powerAxis(lo, hi, "ranks of a communicator, log scale", unit.Comma, share)
	case document.ByTokens:
		return powerAxis(lo, hi, "tokens of a microbatch on a GPU, log scale", unit.Comma, share)
	case document.ByBackward:
		return powerAxis(lo, hi, "backward of a microbatch, log scale", func(n int64) string { return c.Quantity.Place(document.Point{Bytes: n}) }, share)
	case document.Level:
		return orderAxis(lo, hi, share)
	case document.Rate:
		return powerAxis(lo, hi, "size of one array, log scale", unit.Bytes, share)
	default:
		return powerAxis(lo, hi, "message size S, log scale", unit.Bytes, share)
	}
}

// valueAxis returns the y axis of a chart. The height limits the number of labels.
func valueAxis(c document.Chart, height, font float64) axis {
	count := int(max(2, height/(font*3)))
	switch c.Quantity {
	case document.Spread:
		return deviationAxis(c, count)
	case document.Setting:
		// The axis begins below the best setting, because the name of the band is written there,
		// below the markers.
		top := document.CostTop(c)
		return shareAxis(-top*0.1, top, "how much longer a step is", count)
	case document.Change, document.Level:
		const least = 0.02
		lo, hi := spanOf(c, -least, least)
		pad := 0.05 * (hi - lo)
		return shareAxis(lo-pad, hi+pad, c.Axis, count)
	default:
	}
	lo, hi := spanOf(c, math.Inf(1), 0)
	if c.Quantity == document.StepTime {
		return stepAxis(lo, hi, count)
	}
	if !c.Quantity.IsRate() {
		if hi <= 0 {
			lo, hi = 1e-6, 1e-3
		}
		a := timeAxis(lo, hi, int(height/(font*2)))
		if c.Quantity == document.ByTokens || c.Quantity == document.ByBackward {
			a.title = "time of a training step, log scale"
		}
		return a
	}
	if c.Quantity == document.SmallBW && hi > 0 {
		return valuesAxis(lo, hi, int(height/(font*2)), 0, "bus bandwidth, log scale", rateLabel)
	}
	hi = max(hi, slice.Most(c.Roofs, func(r document.Roof) float64 { return r.Value }))
	return rateAxis(plain.Lower(c.Quantity.Row().Name), hi, count)
}

// spanOf widens a range of values so that it includes all series of the chart.
func spanOf(c document.Chart, lo, hi float64) (float64, float64) {
	for _, s := range c.Series {
		for _, p := range s.Points {
			lo, hi = min(lo, p.Value), max(hi, p.Value, p.Fast)
			if p.Bracketed() && (c.Quantity == document.StepTime || c.Quantity == document.SmallBW) {
				lo = min(lo, p.Slow)
			}
			if p.Bounded {
				lo, hi = min(lo, p.Lo), max(hi, p.Hi)
			}
			if p.Burst > 0 {
				lo, hi = min(lo, p.Burst), max(hi, p.Burst)
			}
		}
	}
	return lo, hi
}
