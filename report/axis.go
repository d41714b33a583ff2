package report

import (
	"math"
	"strconv"
	"strings"

	"zbench/bench/document"
	"zbench/bench/unit"
)

// axis maps values to 0…1 and knows its labels.
type axis struct {
	lo, hi float64 // in transformed values
	log    bool
	title  string
	ticks  []tick
}

// tick is a labelled value. An unlabelled one is minor.
type tick struct {
	value float64
	label string
}

// norm places v on the axis, 0 at its start and 1 at its end.
func (a axis) norm(v float64) float64 {
	if a.log {
		v = math.Log2(v)
	}
	return (v - a.lo) / (a.hi - a.lo)
}

// sizeAxis spans the sizes in powers of two. fits is how wide a label may be
// in total: it answers how much of the axis, 0…1, a label takes.
func sizeAxis(lo, hi int64, share func(label string) float64) axis {
	a := axis{lo: math.Log2(float64(lo)), hi: math.Log2(float64(hi)), log: true, title: "message size S, log scale"}
	if a.hi-a.lo < 2 {
		// At least two powers of two are needed to read a logarithmic axis.
		a.lo, a.hi = math.Floor(a.lo)-1, math.Ceil(a.hi)+1
	}
	pad := (a.hi - a.lo) * 0.02
	a.lo, a.hi = a.lo-pad, a.hi+pad
	// Strides that divide 10 keep 1 KiB, 1 MiB and 1 GiB labelled.
	for _, stride := range []int{1, 2, 5, 10, 20} {
		a.ticks = sizeTicks(a, stride)
		if spaced(a, share) {
			break
		}
	}
	return a
}

func sizeTicks(a axis, stride int) []tick {
	var out []tick
	for e := max(0, int(math.Ceil(a.lo))); e <= min(62, int(math.Floor(a.hi))); e++ {
		t := tick{value: math.Ldexp(1, e)}
		if e%stride == 0 {
			t.label = unit.Bytes(int64(1) << e)
		}
		out = append(out, t)
	}
	return out
}

// spaced reports whether the labels, centred on their ticks, keep apart and
// whether those at the ends do not stick out by more than half a label.
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

// scaleStep is one unit an axis may be labelled in.
type scaleStep struct {
	size float64
	name string
}

// scaleOf picks the largest unit that v reaches: one for the whole axis.
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

// rateAxis starts at zero and leaves room for a label above the highest roof.
func rateAxis(highest float64, count int) axis {
	if highest < 1 {
		highest = 1e9 // nothing moved: any axis shows that
	}
	// GB/s is kept for large values too: the trade writes 6,000 GB/s.
	s := scaleOf(highest, rateSteps)
	a := axis{lo: 0, hi: highest * 1.09, title: "bus bandwidth, " + s.name}
	step := niceStep(a.hi / s.size / float64(count))
	for i := 0; float64(i)*step*s.size <= a.hi; i++ {
		v := float64(i) * step
		a.ticks = append(a.ticks, tick{v * s.size, unit.Shortest(v)})
	}
	return a
}

// niceStep rounds up to 1, 2, 2.5 or 5 times a power of ten.
func niceStep(raw float64) float64 {
	p := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if raw <= m*p {
			return m * p
		}
	}
	return 10 * p
}

// timeAxis is logarithmic, with ticks at 1, 2 and 5 times powers of ten where
// there is room for them.
func timeAxis(lo, hi float64, count int) axis {
	a := axis{lo: math.Log2(lo / 1.25), hi: math.Log2(hi * 1.25), log: true, title: "time per launch, log scale"}
	const least = 3.0 // octaves: always holds two of the 1-2-5 ticks
	if a.hi-a.lo < least {
		mid := (a.lo + a.hi) / 2
		a.lo, a.hi = mid-least/2, mid+least/2
	}
	a.ticks = timeTicks(a, []float64{1, 2, 5}, 1)
	for every := 1; len(a.ticks) > count; every++ {
		a.ticks = timeTicks(a, []float64{1}, every)
	}
	return a
}

func timeTicks(a axis, mantissas []float64, every int) []tick {
	var out []tick
	for e := -12; e <= 12; e++ {
		if e%every != 0 {
			continue
		}
		for _, m := range mantissas {
			// Parsing keeps 1e-6 exact where multiplying would not.
			v, _ := strconv.ParseFloat(unit.Shortest(m)+"e"+strconv.Itoa(e), 64)
			if n := a.norm(v); n >= 0 && n <= 1 {
				out = append(out, tick{v, timeLabel(v)})
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

// percentTicks label a linear axis of shares in percent; plus stands before values
// above zero.
func percentTicks(a axis, count int, plus string) []tick {
	const cent = 0.01
	var out []tick
	step := niceStep((a.hi - a.lo) / cent / float64(count))
	for i := int(a.lo / cent / step); float64(i)*step*cent <= a.hi; i++ {
		v := float64(i) * step
		text := unit.Shortest(v) + " %"
		if i > 0 {
			text = plus + text
		}
		out = append(out, tick{v * cent, strings.Replace(text, "-", "−", 1)})
	}
	return out
}

// placeAxis makes the x axis.
func placeAxis(c document.Chart, share func(label string) float64) axis {
	lo, hi := document.SizeRange(c)
	switch c.Quantity {
	case document.Setting:
		lo, hi = settingSpan(c)
		return countAxis(lo, hi, share)
	case document.Scale:
		return rankAxis(lo, hi, share)
	case document.Level:
		return orderAxis(lo, hi, share)
	default:
	}
	a := sizeAxis(lo, hi, share)
	if c.Quantity == document.Rate {
		a.title = "size of one array, log scale"
	}
	return a
}
