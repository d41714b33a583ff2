package advice

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/answers/recommend"
	"zbench/bench/run/record"
)

// Bracket holds the answers at both ends of the model behind simulated times. One answer uses the model's
// fastest constants. The other answer uses its slowest constants.
type Bracket struct {
	// Lo is the smallest of three settings of least regret, in elements: the setting in the answer, and the
	// settings at both ends.
	Lo int64 `json:"lo"`
	// Hi is the largest of the three settings, in elements.
	Hi int64 `json:"hi"`
	// Fastest is the answer at the fast end of the model.
	Fastest End `json:"fastest"`
	// Slowest is the answer at the slow end of the model.
	Slowest End `json:"slowest"`
}

// End is the answer at one end of the model.
type End struct {
	// Assumes describes the assumptions of this end, with sources; empty if the record has none.
	Assumes string `json:"assumes"`
	// Elements is the setting of least regret at this end, in elements.
	Elements int64 `json:"elements"`
	// To is the rule's upper limit at this end: the amount up to which another setting gains; absent
	// without a rule or a limit.
	To int64 `json:"to,omitempty"`
	// DefaultCost is the cost of the trainer's default over the setting of least regret at this end, as a
	// share of a step; null if the default was not tried, or if no percentage can be given.
	DefaultCost *float64 `json:"default_cost"`
}

// DefaultCost compares the costs of the default at the two ends. It returns the larger cost, as a share of
// a step, and the name of that end's latency estimate. ok is false if the default was not tried.
func (b *Bracket) DefaultCost() (most float64, end string, ok bool) {
	switch {
	case b == nil || b.Fastest.DefaultCost == nil || b.Slowest.DefaultCost == nil:
		return 0, "", false
	case *b.Fastest.DefaultCost > *b.Slowest.DefaultCost:
		return *b.Fastest.DefaultCost, "lower", true
	}
	return *b.Slowest.DefaultCost, "higher", true
}

// bracket answers the question of a document at both ends of the model; nil if no result has a bracket, or
// if an end has no answer. The method scales each time by the ratio that the end's constants give, so that
// noise and faults remain.
func (q *Question) bracket(d *Document, sources []recommend.Source) (*Bracket, error) {
	fastest, err := q.end(sources, func(b *record.Bracket) float64 { return b.Fastest }, func(e *record.Ends) string { return e.Fastest })
	if err != nil || fastest == nil {
		return nil, err
	}
	slowest, err := q.end(sources, func(b *record.Bracket) float64 { return b.Slowest }, func(e *record.Ends) string { return e.Slowest })
	if err != nil || slowest == nil {
		return nil, err
	}
	all := []int64{fastest.Elements, slowest.Elements, least(&d.Answer)}
	return &Bracket{slices.Min(all), slices.Max(all), *fastest, *slowest}, nil
}

// end answers the question at one end; nil if there is no answer.
func (q *Question) end(sources []recommend.Source, seconds func(*record.Bracket) float64, assumes func(*record.Ends) string) (*End, error) {
	var there []recommend.Source
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
	in := q.in
	in.Bootstrap = 0
	d, err := q.ask(in, there)
	if err != nil || !d.Answered() {
		return nil, err
	}
	e.Elements = least(&d.Answer)
	e.DefaultCost = d.defaultCost()
	if r := d.Answer.Rule; r != nil {
		e.To = r.To
	}
	return e, nil
}

// `least` returns the setting of least regret, or a rule's setting, in elements.
func least(a *recommend.Answer) int64 {
	if a.Least == nil {
		return cmp.Or(a.Rule.Elements, a.Rule.Kept)
	}
	return a.Least.Elements
}

// defaultCost returns the cost of the trainer's default, as a share of a step; nil if the default was not
// tried, or if no percentage can be given.
func (d *Document) defaultCost() *float64 {
	if d.Answer.Default == nil || d.unfounded() != "" {
		return nil
	}
	return new(d.Answer.Cost(d.Answer.Default))
}

// Range returns the range of the answer over the bracket, such as "500 M to 2.7 G". If both ends have the
// same unit, it prints the unit once. It is empty without a bracket.
func (d *Document) Range() string {
	b := d.Bracket
	switch {
	case b == nil:
		return ""
	case b.Lo == b.Hi:
		return d.Amount(b.Lo)
	}
	lo, hi := d.Amount(b.Lo), d.Amount(b.Hi)
	bare, unit, _ := strings.Cut(lo, " ")
	if strings.HasSuffix(hi, " "+unit) {
		lo = bare
	}
	return lo + " to " + hi
}

// atWorst describes the largest cost of the default over the best size at an end of the network model. The
// advice already states `costs`, so atWorst is empty unless the largest cost exceeds `costs` by more than
// PlateauWidth.
func (d *Document) atWorst(costs float64) string {
	most, end, ok := d.Bracket.DefaultCost()
	if !ok || most <= costs+recommend.PlateauWidth {
		return ""
	}
	return fmt.Sprintf(" (%.0f %% with the %s latency)", 100*most, end)
}

// Ends describes the settings at the ends of the model behind simulated times. It is empty if the setting
// is kept, because the advice then states the setting's cost at the ends.
func (d *Document) Ends() string {
	if d.Bracket == nil || d.Answer.Keep {
		return ""
	}
	if f, s := d.Bracket.Fastest.To, d.Bracket.Slowest.To; d.Answer.Verdict == recommend.Ruled {
		if f == 0 || s == 0 || d.Answer.Rule.To == 0 {
			return ""
		}
		to := d.Answer.Rule.To
		return "put the upper limit at " + d.ruleAmount(min(f, s, to)) + " to " + d.quantity(max(f, s, to))
	}
	return "ask for " + strings.Replace(d.Range(), " to ", " and ", 1)
}
