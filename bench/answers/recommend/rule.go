package recommend

import (
	"cmp"
	"math"
	"slices"

	"zbench/bench/base/slice"
)

// Pace is how long the computation of a token takes in each pass, in seconds; both are 0 where that is not known.
type Pace struct{ Backward, Forward float64 }

// What a rule counts.
const (
	Tokens       = "tokens"
	Microseconds = "microseconds"
)

// Rule says which setting to use by how much computation the messages overlap: that of the last microbatch.
type Rule struct {
	// Counts is what the amounts of the rule are: tokens of a microbatch on a GPU, or microseconds of its backward
	// where the pace is not known.
	Counts string `json:"counts"`
	// Elements is the setting to use between From and To, in elements; 0 where what is set stays everywhere.
	Elements int64 `json:"elements"`
	// Kept is what stays everywhere else, in elements: the current setting, or the default.
	Kept int64 `json:"kept"`
	// From is the least amount at which Elements is better by 1 % or more; 0 where it is at the fewest that were tried.
	From int64 `json:"from"`
	// To is the greatest such amount; 0 where it is at the most that were tried.
	To int64 `json:"to"`
	// KeptCosts is the most that Kept costs over the best size outside of From to To, as a share of a step.
	KeptCosts float64 `json:"kept_costs"`
	// SetCosts is the most that Elements costs over the best size of each amount between From and To.
	SetCosts float64 `json:"set_costs"`
	// Latency is that of the answer at To, or at the most amount where To is 0.
	Latency float64 `json:"latency"`
	// Unfounded is the reason why no percentages can be given; absent where they can.
	Unfounded string `json:"unfounded,omitempty"`
	// Points are the amounts that were tried, ascending.
	Points []RulePoint `json:"points"`
}

// RulePoint is one amount of a rule.
type RulePoint struct {
	// Amount in what the rule counts.
	Amount int64 `json:"amount"`
	// Keep is true where what is set costs less than 1 %.
	Keep bool `json:"keep"`
	// Kept is the step with what is set, in seconds: as much longer than Best as Costs says.
	Kept float64 `json:"kept"`
	// Best is the step with the best size of this amount, in seconds.
	Best float64 `json:"best"`
	// Elements is that size, in elements.
	Elements int64 `json:"elements"`
	// Costs is how much longer a step is with what is set than with the best size, as a share of it: as measured, or on
	// average over the scenarios where that is more.
	Costs float64 `json:"costs"`
}

// The amounts that a rule tries: so many tokens of a microbatch, or a backward of as many times the gradients' time on the
// network.
const (
	fewestTokens, mostTokens = 1 << 10, 1 << 18
	leastWire, mostWire      = 1. / 4, 256.
	// ruleEnds is how exactly the ends are found, as a ratio.
	ruleEnds = 1.005
)

// weighed is an amount with the engine that judges settings at it.
type weighed struct {
	amount float64
	e      *engine
	a      Answer
	s      scores
}

// weigh decides at an amount.
func (e *engine) weigh(p Pace, amount float64) *weighed {
	q := e.q
	q.Backward, q.Forward, q.ComputeGuessed, q.Observed, q.Scenarios = p.Backward*amount, p.Forward*amount, true, nil, nil
	x, refusal := e.asked(q, e.run, false)
	if refusal != nil {
		return nil
	}
	w := &weighed{amount: amount, e: x, a: Answer{Advised: e.run}}
	var ok bool
	if w.s, _, _, ok = x.decide(&w.a); !ok {
		return nil
	}
	w.a.Latency = unproved(&w.a)
	return w
}

// costs is what the present setting costs over the best.
func (w *weighed) costs() float64 {
	if w.a.Keep {
		return w.a.Gain
	}
	kept := slices.IndexFunc(w.e.candidates, func(c *candidate) bool { return c.kept }) // set, it may be cut otherwise
	return max(w.a.Cost(w.a.Now()), w.a.Cost(&w.e.candidates[kept].Candidate))
}

func (w *weighed) point() RulePoint {
	best, costs := w.a.Least, w.costs()
	return RulePoint{int64(math.Round(w.amount)), w.a.Keep, best.Step * (1 + costs), best.Step, best.Elements, costs}
}

// rule finds between which amounts another setting than the present one gains 1 % or more; nil where every setting
// exceeds the memory.
func (e *engine) rule(p Pace) *Rule {
	r := &Rule{Counts: Tokens}
	lo, hi := float64(fewestTokens), float64(mostTokens)
	if p.Backward == 0 {
		p, r.Counts = Pace{1e-6, 0.5e-6}, Microseconds
		lo, hi = e.wire()*1e6*leastWire, e.wire()*1e6*mostWire
	}
	var all []*weighed
	for x := lo; x < hi*ruleEnds; x *= gridStep {
		w := e.weigh(p, x)
		if w == nil {
			return nil
		}
		all, r.Points = append(all, w), append(r.Points, w.point())
	}
	first, last := split(r.Points)
	inside, outside := all[first:last], slices.Concat(all[:first], all[last:])
	at := all[len(all)-1]
	r.Kept = at.a.Now().Elements
	if first < last && first > 0 {
		r.From = e.end(p, all[first], all[first-1], &outside)
	}
	if first < last && last < len(all) {
		at = all[last-1]
		r.To = e.end(p, at, all[last], &outside)
	}
	if first < last {
		r.Elements, r.SetCosts = together(inside)
	}
	r.Latency = at.a.Latency
	r.KeptCosts = slice.Most(outside, (*weighed).costs)
	return r
}

// split is the stretch of points, first to before last, that is right for most: a setting is set in it and kept
// outside.
func split(points []RulePoint) (first, last int) {
	most := slice.Count(points, func(p RulePoint) bool { return p.Keep })
	for i := range points {
		right := slice.Count(points, func(p RulePoint) bool { return p.Keep })
		for j, p := range points[i:] {
			if right++; p.Keep {
				right -= 2
			}
			if right > most {
				first, last, most = i, i+j+1, right
			}
		}
	}
	return first, last
}

// end is where the decision changes between an amount at which a setting is set and one at which it is kept, to two
// digits. The nearest at which it is kept joins those outside.
func (e *engine) end(p Pace, set, kept *weighed, outside *[]*weighed) int64 {
	for max(kept.amount/set.amount, set.amount/kept.amount) > ruleEnds {
		if mid := e.weigh(p, math.Sqrt(set.amount*kept.amount)); mid.a.Keep {
			kept = mid
		} else {
			set = mid
		}
	}
	*outside = append(*outside, kept)
	digit := math.Pow(10, math.Floor(math.Log10(kept.amount))-1)
	return int64(math.Round(math.Round(kept.amount/digit) * digit))
}

// together is the setting that costs least over the best at the amount where it costs most, of those that are best at one
// of them, and what it costs there.
func together(all []*weighed) (setting int64, most float64) {
	most = math.Inf(1)
	settings := slice.Map(all, func(w *weighed) int64 { return w.a.Elements })
	slices.Sort(settings)
	for _, n := range slices.Compact(settings) {
		costs := slice.Most(all, func(w *weighed) float64 { return w.a.Cost(w.e.judge(w.s, w.e.plan(n, w.e.run))) })
		if costs < most {
			setting, most = n, costs
		}
	}
	return setting, most
}

// ruled makes an answer a rule: what it would be for one amount is left out.
func (a *Answer) ruled(e *engine) {
	for _, c := range []*Candidate{a.Best, a.Now()} {
		a.Rule.Unfounded = cmp.Or(a.Rule.Unfounded, c.Unfounded)
	}
	*a = Answer{
		Schema: a.Schema, Verdict: Ruled, Simulated: a.Simulated, Trainer: a.Trainer, Knob: a.Knob, Unit: a.Unit, Run: a.Run, Advised: e.run, Params: a.Params,
		Gradients: a.Gradients, Within: []Range{}, Changes: []Change{}, Table: []Candidate{}, Scenarios: []Scenario{}, Messages: []Sizes{}, Limits: []Limit{}, WouldHelp: []Help{},
		Rule: a.Rule, Latency: a.Rule.Latency, Curves: a.Curves, Warnings: a.Warnings,
	}
}
