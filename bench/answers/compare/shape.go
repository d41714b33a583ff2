package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"zbench/bench/base/finding"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
)

// Shape describes how the change of a curve, the cases of one group, depends on size.
type Shape struct {
	// Group of the cases.
	Group string `json:"group"`
	// Kind of the change.
	Kind ShapeKind `json:"kind"`
	// Small is the median relative change of the smallest sizes.
	Small float64 `json:"small"`
	// SmallSeconds is the median difference of the smallest sizes' times, NEW minus BASE, in seconds.
	SmallSeconds float64 `json:"small_seconds"`
	// Large is the median relative change of the largest sizes.
	Large float64 `json:"large"`

	// cases have a time on both sides, in order of size.
	cases []*Case
}

// ShapeKind is the likely cause of a change, by its dependence on size.
type ShapeKind string

// The kinds of a change.
const (
	// ShapeNone means that neither small nor large sizes changed.
	ShapeNone ShapeKind = "none"
	// ShapeBandwidth means that the change grows with size.
	ShapeBandwidth ShapeKind = "bandwidth"
	// ShapeLatency means that the change is the same number of seconds at every size.
	ShapeLatency ShapeKind = "latency"
	// ShapeAlike means that the change is the same share of the time at every size.
	ShapeAlike ShapeKind = "alike"
	// ShapeMixed means that small and large sizes changed in opposite directions.
	ShapeMixed ShapeKind = "mixed"
)

// ShapeKinds returns all kinds.
func ShapeKinds() []ShapeKind {
	return []ShapeKind{ShapeNone, ShapeBandwidth, ShapeLatency, ShapeAlike, ShapeMixed}
}

const (
	// leastSizes is the least number of sizes of a curve with a shape.
	leastSizes = 4
	// ends is the ratio of the largest to the smallest size within one end of a curve.
	ends = 4
	// Times grow with a power of the size. At the small end, where the cost of a launch dominates, the power is at
	// most `flat`. At the large end, where the bytes dominate, it is at least `steep`.
	flat, steep = 0.3, 0.5
	// `moved` is the smallest change that counts at an end of a curve that was not tested. The changes of the two
	// ends count as different if the logarithm of one is more than `more` times the logarithm of the other.
	moved, more = 0.05, 1.5
)

// curves returns the cases with a time on both sides by group, in order. The kind is not set.
func curves(cases []Case) (out []Shape) {
	sized := slice.Where(slice.Pointers(cases), func(c *Case) bool { return c.Change != nil && c.Bytes > 0 })
	order, of := slice.Group(sized, func(c *Case) string { return c.Group })
	return slice.Map(order, func(group string) Shape { return Shape{Group: group, cases: of[group]} })
}

// shapes returns the shapes of all curves with enough sizes.
func shapes(cases []Case, o Criteria, tested bool) []Shape {
	out := slices.DeleteFunc(curves(cases), func(s Shape) bool { return len(s.cases) < leastSizes })
	least := moved
	if tested {
		least = o.MinEffect
	}
	for i := range out {
		out[i].tell(least)
	}
	return out
}

// tell fills in the changes of the two ends and the kind.
func (s *Shape) tell(least float64) {
	slices.SortStableFunc(s.cases, func(a, b *Case) int { return cmp.Compare(a.Bytes, b.Bytes) })
	first, last := s.cases[0], s.cases[len(s.cases)-1]
	var small, seconds, large []float64
	for _, c := range s.cases {
		if c.Bytes <= ends*first.Bytes {
			small, seconds = append(small, *c.Change), append(seconds, *c.New.Seconds-*c.Base.Seconds)
		}
		if c.Bytes >= last.Bytes/ends {
			large = append(large, *c.Change)
		}
	}
	_, most := slopes(first, s.cases[max(len(small), 2)-1])
	lowest, _ := slopes(s.cases[len(s.cases)-max(len(large), 2)], last)
	s.Small, s.SmallSeconds, s.Large = median(small), median(seconds), median(large)
	s.Kind = shapeOf(s.Small, s.Large, least)
	switch {
	case s.Kind == ShapeAlike && most > flat: // equal shares, and the bytes dominate the times
		s.Kind = ShapeBandwidth
	case s.Kind == ShapeAlike && lowest < steep: // equal shares, and the launch dominates the times
		s.Kind = ShapeLatency
	}
}

// slopes compares two cases of different size. Between them, the time of each side grows with a power of the size.
// slopes returns the smaller and the larger of the two powers. The power is 0 if the cost of a launch dominates the
// time, 1 if the bytes do.
func slopes(a, b *Case) (lowest, most float64) {
	by := math.Log(float64(b.Bytes) / float64(a.Bytes))
	base, fresh := math.Log(*b.Base.Seconds / *a.Base.Seconds)/by, math.Log(*b.New.Seconds / *a.New.Seconds)/by
	return min(base, fresh), max(base, fresh)
}

func shapeOf(small, large, least float64) ShapeKind {
	a, b := math.Log1p(small), math.Log1p(large)
	switch {
	case max(math.Abs(small), math.Abs(large)) < least:
		return ShapeNone
	case min(math.Abs(small), math.Abs(large)) >= least && a*b < 0:
		return ShapeMixed
	case math.Abs(b) > more*math.Abs(a):
		return ShapeBandwidth
	case math.Abs(a) > more*math.Abs(b):
		return ShapeLatency
	}
	return ShapeAlike
}

// largestShape returns the curve that changed most; nil if no curve changed. If anything was tested, only curves with
// a case that is slower or faster count.
func (d *Document) largestShape() *Shape {
	var out *Shape
	size := func(s *Shape) float64 { return max(math.Abs(math.Log1p(s.Small)), math.Abs(math.Log1p(s.Large))) }
	for _, s := range slice.Pointers(d.Shapes) {
		settled := slices.ContainsFunc(s.cases, func(c *Case) bool { return c.Verdict == Slower || c.Verdict == Faster })
		if s.Kind != ShapeNone && (settled || !d.tested()) && (out == nil || size(s) > size(out)) {
			out = s
		}
	}
	return out
}

// `tested` reports whether any case was tested.
func (d *Document) tested() bool {
	return slices.ContainsFunc(d.Cases, func(c Case) bool { return c.Test != nil })
}

// `untested` returns why nothing was tested: "one run per side, not tested".
func (d *Document) untested() string {
	switch a, b := len(d.Base), len(d.New); {
	case a != b:
		return fmt.Sprintf("%s against %d, not tested", plain.Count(a, "run"), b)
	case a == 1:
		return "one run a side, not tested"
	default:
		return plain.Count(a, "run") + " a side, not tested"
	}
}

// magnitude describes the case that represents the change if nothing was tested: the largest size of the curve that
// changed most, else the case that changed most. A case beyond its allowance has precedence.
func (d *Document) magnitude() string {
	var of *Case
	if s := d.largestShape(); s != nil {
		of = s.cases[len(s.cases)-1]
		if s.Kind == ShapeLatency {
			of = s.cases[0]
		}
	}
	if worst := d.suspected(); worst != nil && (of == nil || !of.SlowerUntested) {
		of = worst
	}
	of = cmp.Or(of, d.extreme(Unclear))
	if of == nil {
		return ""
	}
	text := unit.Bytes(of.Bytes) + " " + unit.Change(*of.Change)
	if of.SlowerUntested {
		text += ", beyond the " + Percent(*of.Allowance) + " that runs may differ by"
	}
	return text
}

// shapeLine takes the curve that changed most. It describes how this curve's change depends on size, and where to
// look.
func (d *Document) shapeLine() (finding.Finding, bool) {
	s := d.largestShape()
	if s == nil {
		return finding.Finding{}, false
	}
	first, last := s.cases[0], s.cases[len(s.cases)-1]
	of := func(c *Case) string {
		return fmt.Sprintf("%s %s (%s to %s)", unit.Bytes(c.Bytes), unit.Change(*c.Change), unit.Seconds(*c.Base.Seconds), unit.Seconds(*c.New.Seconds))
	}
	line := finding.Finding{Code: CodeShape, Text: fmt.Sprintf("%s: %s, %s: %s.", s.Group, of(first), of(last), s.words())}
	if a, b := average(s.cases); a > 0 {
		line.Text += fmt.Sprintf(" Mean bandwidth over the sizes: BASE %s, NEW %s.", unit.Rate(a), unit.Rate(b))
	}
	line.Hint = shapeHints[s.Kind]
	if slices.ContainsFunc(s.cases, func(c *Case) bool { return c.Verdict == Slower }) {
		line.Severity = finding.Fault
	}
	return line, true
}

// shapeHints say where to look.
var shapeHints = map[ShapeKind]string{
	ShapeBandwidth: "bandwidth: `zbench rails` on the nodes of the slower side names a slow link, NIC or node; then compare settings of channels, protocol and GPUDirect RDMA",
	ShapeLatency:   "latency: compare CPU clocks and binding, protocol and algorithm settings, and what a launch costs; a slow link would grow with size",
	ShapeAlike:     "the same share at all sizes: clocks, placement or settings of the whole run rather than one link or algorithm",
	ShapeMixed:     "small and large sizes go different ways: compare the settings of algorithm, protocol and channels",
}

// words returns the kind in a sentence.
func (s *Shape) words() string {
	way := func(x float64) string { return map[bool]string{true: "gain", false: "loss"}[x < 0] }
	switch s.Kind {
	case ShapeBandwidth:
		text := "the " + way(s.Large) + " grows with size"
		if math.Abs(s.Small) >= moved {
			text += fmt.Sprintf("; %s at small sizes", seconds(s.SmallSeconds))
		}
		return text
	case ShapeLatency:
		return fmt.Sprintf("a %s of about %s that does not grow with size", way(s.Small), strings.TrimLeft(seconds(s.SmallSeconds), "+−"))
	case ShapeAlike:
		return "the " + way(s.Large) + " is about the same share of the time at all sizes"
	case ShapeMixed:
		return "small and large sizes changed in different directions"
	case ShapeNone:
	}
	return "no change at either end"
}

// seconds prints a signed difference of times.
func seconds(v float64) string {
	if v < 0 {
		return "−" + unit.Seconds(-v)
	}
	return "+" + unit.Seconds(v)
}

// average returns the mean bandwidth of the cases on each side; 0 if any case has none.
func average(cases []*Case) (base, fresh float64) {
	for _, c := range cases {
		if c.Base.Rate == nil || c.New.Rate == nil {
			return 0, 0
		}
		base += *c.Base.Rate / float64(len(cases))
		fresh += *c.New.Rate / float64(len(cases))
	}
	return base, fresh
}
