package recommend

import (
	"cmp"
	"math"
	"slices"

	"zbench/bench/base/slice"
)

// Pace is the computation time of one token in each pass, in seconds; 0 if unknown.
type Pace struct{ Backward, Forward float64 }

// Units of a rule's amounts.
const (
	Tokens       = "tokens"
	Microseconds = "microseconds"
)

// Rule gives the setting by the computation that messages overlap with: the computation of the last
// microbatch.
type Rule struct {
	// Counts is the unit of the rule's amounts: tokens of a microbatch per GPU, or microseconds of its
	// backward pass if the pace is unknown.
	Counts string `json:"counts"`
	// Elements is the setting to use between From and To, in elements; 0 if the present setting stays
	// everywhere.
	Elements int64 `json:"elements"`
	// Kept is the setting to use outside the range From to To, in elements: the current setting, or the
	// default.
	Kept int64 `json:"kept"`
	// From is the least amount at which Elements is better by 1 % or more; 0 if that is the least amount
	// tried.
	From int64 `json:"from"`
	// To is the greatest amount at which Elements is better by 1 % or more; 0 if that is the greatest
	// amount tried.
	To int64 `json:"to"`
	// KeptCosts is the largest cost of Kept over the best size at any amount outside the range From to To, as
	// a share of a step.
	KeptCosts float64 `json:"kept_costs"`
	// SetCosts is the largest cost of Elements over the best size at any amount inside the range, as a share
	// of a step.
	SetCosts float64 `json:"set_costs"`
	// Latency is the answer's latency at To, or at the greatest amount if To is 0.
	Latency float64 `json:"latency"`
	// Unfounded is the reason why no percentages can be given; absent if they can be given.
	Unfounded string `json:"unfounded,omitempty"`
	// Points are the amounts that were tried, ascending.
	Points []RulePoint `json:"points"`
}

// RulePoint is one amount of a rule.
type RulePoint struct {
	// Amount in the unit of the rule.
	Amount int64 `json:"amount"`
	// Keep is true if the present setting costs less than 1 % over the best size.
	Keep bool `json:"keep"`
	// Kept is the step with the present setting, in seconds: longer than Best by the share Costs.
	Kept float64 `json:"kept"`
	// Best is the step with the best size of this amount, in seconds.
	Best float64 `json:"best"`
	// Elements is the best size of this amount, in elements.
	Elements int64 `json:"elements"`
	// Costs is how much longer a step is with the present setting than with the best size, as a share of the
	// best step. It is the larger of two values: as measured, and on average over the scenarios.
	Costs float64 `json:"costs"`
}

// The amounts that a rule tries: tokens of a microbatch, or the length of the backward pass as a multiple of
// the gradients' time on the network.
const (
	fewestTokens, mostTokens = 1 << 10, 1 << 18
	leastWire, mostWire      = 1. / 4, 256.
	// ruleEnds is the precision of From and To, as a ratio.
	ruleEnds = 1.005
)

// `weighed` is an amount of a rule with the engine and the answer for it.
type weighed struct {
	amount float64
	e      *engine
	a      Answer
	s      scores
}

// weigh decides on a setting for one amount; nil if no setting is possible.
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

// costs returns the cost of the present setting over the best size.
func (w *weighed) costs() float64 {
	if w.a.Keep {
		return w.a.Gain
	}
	kept := slices.IndexFunc(w.e.candidates, func(c *candidate) bool { return c.kept }) // if unset, the trainer may cut buckets by another rule
	return max(w.a.Cost(w.a.Now()), w.a.Cost(&w.e.candidates[kept].Candidate))
}

func (w *weighed) point() RulePoint {
	best, costs := w.a.Least, w.costs()
	return RulePoint{int64(math.Round(w.amount)), w.a.Keep, best.Step * (1 + costs), best.Step, best.Elements, costs}
}

// rule finds the amounts between which another setting gains 1 % or more over the present setting; nil if
// every setting exceeds the memory budget.
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

// split returns the range of points (first to last-1) that should use a new setting. Outside this range the
// present setting is kept. No other range agrees with the decisions of more points.
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

// end returns the amount between `set` and `kept` at which the decision changes, to two digits. To
// `outside` it adds the nearest amount at which the present setting is kept.
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

// `together` returns one setting for all amounts, and its largest cost over the best sizes. Of the settings
// that are best at one amount it takes the setting whose largest cost is least.
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

// `ruled` returns the answer as a rule. It fills in `blank`, the answer before any amount was tried. It leaves
// out everything that holds for one amount only.
func (a *Answer) ruled(blank Answer) Answer {
	for _, c := range []*Candidate{a.Best, a.Now()} {
		a.Rule.Unfounded = cmp.Or(a.Rule.Unfounded, c.Unfounded)
	}
	blank.Verdict, blank.Simulated, blank.Curves, blank.Warnings = Ruled, a.Simulated, a.Curves, a.Warnings
	blank.Rule, blank.Latency = a.Rule, a.Rule.Latency
	return blank
}
