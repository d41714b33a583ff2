package recommend

import (
	"math"
	"slices"
)

// round replaces a new setting by the roundest equivalent setting. A setting with the same buckets is
// equivalent. If the tensors were generated from totals, or a model decided the times, a setting with an
// equal score is equivalent, too, because more digits would promise too much.
func (e *engine) round(s *scores, best int) int {
	c := e.candidates[best]
	if c.kept || e.t.Settings(e.q.Params, e.run) != nil {
		return best
	}
	step := e.t.Step(c.Elements, e.run)
	var units []int64
	for whole := e.t.Step(math.MaxInt32*step, e.run); whole > step; whole /= 2 { // whole units, then halves and quarters if the knob takes fractions
		units = append(units, whole)
	}
	for _, unit := range append(units, rounder(c.Elements, step)...) {
		for _, setting := range []int64{c.Elements / unit * unit, (c.Elements + unit - 1) / unit * unit} {
			if setting < 1 || setting%step != 0 {
				continue
			}
			if e.equal(*s, best, setting) {
				e.place(setting, best)
				*s = e.score(e.models, e.candidates)
				at, _ := e.find(setting)
				return at
			}
		}
	}
	return best
}

// rounder lists the units to round to, the coarsest first: two and three digits, then millions, as multiples
// of the knob's step.
func rounder(setting, step int64) []int64 {
	digits := math.Floor(math.Log10(float64(setting) / float64(step)))
	var units []int64
	for _, d := range []float64{1, 2} {
		if digits >= d {
			units = append(units, step*int64(math.Pow(10, digits-d)))
		}
	}
	if step == 1 && setting >= 10_000_000 {
		units = append(units, 1_000_000)
	}
	return units
}

// `equal` reports whether a setting is as good as the best candidate.
func (e *engine) equal(s scores, best int, setting int64) bool {
	c := e.candidates[best]
	other := e.plan(setting, e.run)
	if other.OverBudget {
		return false
	}
	if slices.Equal(other.cut, e.buckets(c)) {
		return true
	}
	if !e.q.ParamsGuessed && !slices.ContainsFunc(e.curves, func(c Curve) bool { return c.Simulated }) {
		return false
	}
	both := []*candidate{c, other}
	pair := e.score(e.models, both)
	sum := 0.0
	for i := range pair.steps {
		sum += (pair.steps[i][1] - pair.steps[i][0]) / pair.steps[i][0] / float64(len(pair.steps))
	}
	return s.score[best]+sum <= s.least+Tie
}

// place makes a setting a candidate. It replaces candidate `best` if that candidate has the same buckets.
func (e *engine) place(setting int64, best int) {
	c := e.plan(setting, e.run)
	if slices.Equal(c.cut, e.buckets(e.candidates[best])) {
		e.candidates = slices.Delete(e.candidates, best, best+1)
	}
	if i, found := e.find(setting); !found {
		e.candidates = slices.Insert(e.candidates, i, c)
	}
}
