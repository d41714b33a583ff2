package advice

import (
	"math"
	"slices"
	"strconv"

	"zbench/bench/cost"
	"zbench/bench/record"
	"zbench/bench/trainer"
	"zbench/bench/unit"
)

// Bracket is the answer at both ends of the model that decided simulated times.
type Bracket struct {
	// Lo is the least setting of least regret, of both ends and of the answer, in elements.
	Lo int64 `json:"lo"`
	// Hi is the greatest of them, in elements.
	Hi int64 `json:"hi"`
	// Fastest is the answer at the fast end of the model.
	Fastest End `json:"fastest"`
	// Slowest is the answer at the slow end of the model.
	Slowest End `json:"slowest"`
}

// End is the answer at one end of the model.
type End struct {
	// Assumes describes the assumptions of the end, with sources; empty if the record has
	// none.
	Assumes string `json:"assumes"`
	// Elements is the setting of least regret there, in elements.
	Elements int64 `json:"elements"`
	// DefaultCost is what the trainer's default costs over it, as a share of a step; null
	// where it was not tried, or no percentage can be given.
	DefaultCost *float64 `json:"default_cost"`
}

// DefaultCost is the most that the default costs at an end, as a share of a step, and
// which estimate of the latency that end has; false where it was not tried.
func (b *Bracket) DefaultCost() (most float64, end string, ok bool) {
	switch {
	case b == nil || b.Fastest.DefaultCost == nil || b.Slowest.DefaultCost == nil:
		return 0, "", false
	case *b.Fastest.DefaultCost > *b.Slowest.DefaultCost:
		return *b.Fastest.DefaultCost, "lower", true
	}
	return *b.Slowest.DefaultCost, "higher", true
}

// bracket answers the question of a document at both ends of the model; nil where no
// result has a bracket, or an end has no answer. Each time is scaled by what the
// end's constants make of it, so that noise and faults stay.
func (q *Question) bracket(d *Document, sources []cost.Source) (*Bracket, error) {
	fastest, err := q.end(sources, func(b *record.Bracket) float64 { return b.Fastest }, func(e *record.Ends) string { return e.Fastest })
	if err != nil || fastest == nil {
		return nil, err
	}
	slowest, err := q.end(sources, func(b *record.Bracket) float64 { return b.Slowest }, func(e *record.Ends) string { return e.Slowest })
	if err != nil || slowest == nil {
		return nil, err
	}
	all := []int64{fastest.Elements, slowest.Elements, d.Answer.Least.Elements}
	return &Bracket{slices.Min(all), slices.Max(all), *fastest, *slowest}, nil
}

// end answers the question at one end; nil without an answer there.
func (q *Question) end(sources []cost.Source, seconds func(*record.Bracket) float64, assumes func(*record.Ends) string) (*End, error) {
	var there []cost.Source
	e, bracketed := &End{}, false
	for _, s := range sources {
		there = append(there, s.Scaled(func(r *record.Result) float64 {
			if r.Bracket == nil || !(r.Bracket.Seconds > 0) {
				return 0
			}
			bracketed = true
			return seconds(r.Bracket) / r.Bracket.Seconds
		}))
		if f := s.Record.Fabric; f != nil && f.Bracket != nil {
			e.Assumes = assumes(f.Bracket)
		}
	}
	if !bracketed {
		return nil, nil
	}
	d, err := q.AskBriefly(there)
	if err != nil || !d.Answered() {
		return nil, err
	}
	e.Elements = d.Answer.Least.Elements
	if x := d.Answer.Default; x != nil && d.unfounded() == "" {
		costs := costOf(&d.Answer, x)
		e.DefaultCost = &costs
	}
	return e, nil
}

// Setting prints the answer in the trainer's own unit, with no more digits than it
// deserves: to a tenth of the bracket's width, 1.2 G where the ends are 0.5 G and 2.7 G,
// and to two digits of a model without one. What is kept is printed as it is.
func (d *Document) Setting() string {
	a := &d.Answer
	step := d.step()
	if a.Keep || step == 0 {
		return d.Amount(a.Elements)
	}
	_, name := d.inUnit(a.Elements)
	v := d.round(step)
	size, name := prefix(v, name)
	return number(v/size) + name
}

// round is the answer in its unit, to a multiple of step.
func (d *Document) round(step float64) float64 {
	v, _ := d.inUnit(d.Answer.Elements)
	return math.Round(v/step) * step
}

// rounded is Setting in elements, for a setting that counts them.
func (d *Document) rounded() int64 {
	step := d.step()
	if d.Answer.Keep || step == 0 || d.Answer.Unit != trainer.Elements {
		return d.Answer.Elements
	}
	return int64(d.round(step))
}

// Range says between which settings the bracket moves the answer: 0.5 to 2.7 G. It
// is empty without a bracket.
func (d *Document) Range() string {
	b, step := d.Bracket, d.step()
	switch {
	case b == nil:
		return ""
	case b.Lo == b.Hi:
		return d.Setting()
	case step == 0:
		return d.Amount(b.Lo) + " to " + d.Amount(b.Hi)
	}
	lo, _ := d.inUnit(b.Lo)
	hi, name := d.inUnit(b.Hi)
	lo, hi = math.Round(lo/step)*step, math.Round(hi/step)*step
	size, name := prefix(hi, name)
	return number(lo/size) + " to " + number(hi/size) + name
}

// inUnit is a setting as its unit counts it, and what follows the number.
func (d *Document) inUnit(setting int64) (v float64, name string) {
	if d.Answer.Unit == trainer.MiB {
		return float64(setting*d.Answer.Run.GradBytes()) / float64(unit.MiB), " MiB"
	}
	return float64(setting), ""
}

// step is the power of ten to which settings are rounded, in their unit; 0 is not to
// round: what was measured, and units that have no digits to spare.
func (d *Document) step() float64 {
	a := &d.Answer
	if !a.Simulated || a.Unit != trainer.Elements && a.Unit != trainer.MiB {
		return 0
	}
	digits, _ := d.inUnit(a.Elements)
	if b := d.Bracket; b != nil && b.Lo < b.Hi {
		digits, _ = d.inUnit(b.Hi - b.Lo)
	}
	step := math.Pow(10, math.Floor(math.Log10(digits/10)))
	if step < 1 {
		return 0
	}
	return step
}

// prefix is the factor that a value is printed with, and its name; a unit of its own
// has none.
func prefix(v float64, unit string) (size float64, name string) {
	if unit != "" {
		return 1, unit
	}
	for _, p := range []struct {
		size float64
		name string
	}{{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}} {
		if v >= p.size {
			return p.size, p.name
		}
	}
	return 1, ""
}

// number prints a rounded number.
func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
