// Package recommend computes the bucket size for a trainer. [Question] is the input,
// [Ask] simulates the candidate settings, and [Answer] is the setting with the least mean
// regret over a small grid of scenarios, with its confidence. docs/BUCKET.md explains
// the method.
package recommend

import (
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/job/trainer"
	"zbench/bench/run/record"
)

// Schema names the version of recommend.json.
const Schema = "zbench.recommend/1"

// Question holds everything that an answer depends on. Times are in seconds, sizes in bytes, settings in
// elements.
type Question struct {
	// Curves are the measured collectives.
	Curves []Curve
	// Trainer is a name or an alias in bench/job/trainer.
	Trainer string
	// Params are the parameter tensors in forward order. ParamsGuessed is true if the tensors were
	// generated from totals.
	Params        []trainer.Param
	ParamsGuessed bool
	Run           trainer.Run
	// Backward and Forward are the times of one microbatch without communication; 0 if unknown.
	// ComputeGuessed is true if these times are computed from tokens and FLOP/s, not measured.
	Backward, Forward float64
	ComputeGuessed    bool
	// MemBudget is the limit of the trainer's buffers, in bytes; 0 is no limit.
	MemBudget int64
	// Current is the user's present setting; 0 if none.
	Current int64
	// Rescale allows curves of another number of ranks.
	Rescale bool
	// Bootstrap is the number of resampled curves, 0 for none.
	Bootstrap int
	Seed      uint64
	// Scenarios are the scenarios to average over; empty stands for the default grid.
	Scenarios []Scenario
	// Slower is the measured factor by which computation lengthens messages; 0 if it was not measured.
	// Contention is the share by which a message on the network lengthens computation; it is used only with
	// Slower.
	Slower, Contention float64
	// Observed are timed steps of the user's own run, by setting.
	Observed []Observation
	// Rule is the pace for a rule by number of tokens; nil asks for no rule. If the times of the passes are
	// unknown, the rule takes the answer's place.
	Rule *Pace
	// Fault is the reason why no setting may be chosen from the curves; nil if there is none.
	Fault *Fault
	// Unclear is the text of the finding that makes a record of the curves UNCLEAR. The confidence is then low.
	Unclear string
	// Again describes how to measure more curves.
	Again Again
	// Plans keeps plans for the next question, to save time; nil keeps none. Plans changes no answer.
	Plans *Plans
}

// Scenario is one way in which reality may differ from the curves and the given times.
type Scenario struct {
	// Network is the factor on the time of messages.
	Network float64 `json:"network"`
	// Compute is the factor on the time of computation.
	Compute float64 `json:"compute"`
	// Contention is the share by which a message on the network lengthens computation; absent is 0.
	Contention float64 `json:"contention,omitempty"`
	// Rest is the time of a step outside of both passes, in seconds; absent is 0.
	Rest float64 `json:"rest,omitempty"`
	// Each is the time that every message takes in addition to its time in the sweep, in seconds; absent is
	// 0.
	Each float64 `json:"each,omitempty"`
	// Shared is the share of the latency by which two messages in flight overlap. If Shared is absent,
	// messages are sent one at a time.
	Shared float64 `json:"shared,omitempty"`
}

// Ask answers the question. Equal questions have equal answers, to the last bit. An inconsistent question
// (an unknown trainer or element type) is an error. Missing input gives a Refusal in the answer.
func Ask(q Question) (Answer, error) {
	t, err := trainer.ByName(q.Trainer)
	if err != nil {
		return Answer{}, err
	}
	if err := t.Check(q.Run); err != nil {
		return Answer{}, err
	}
	if t.Unit == trainer.Blocks {
		q.Params = trainer.WithBlocks(q.Params)
	}
	a := Answer{
		Schema: Schema, Verdict: Refused, Trainer: t.Name, Knob: t.Knob, Unit: t.Unit, Run: q.Run, Params: len(q.Params), Gradients: gradients(q.Params),
		Advised: t.Advised(q.Run), Within: []Range{}, Changes: []Change{}, Table: []Candidate{}, Scenarios: []Scenario{}, Messages: []Sizes{}, Limits: []Limit{}, WouldHelp: []Help{},
		Curves: []Used{}, Warnings: []record.Warning{},
		Confidence: Confidence{Level: Low, Reasons: []Reason{}},
	}
	if alone(q) {
		a.Verdict = NoCommunication
		a.Confidence.Level = High
		return a, nil
	}
	if f := q.Fault; f != nil {
		a.Refusal = refuse(FixFirst, "fix the fault first. "+f.Text, f.How())
		a.Refusal.Command = f.Command
		return a, nil
	}
	if a.Refusal = incomplete(q, t); a.Refusal != nil {
		return a, nil
	}
	e, refusal := newEngine(q, t, t.Advised(q.Run))
	if refusal != nil {
		a.Refusal = refusal
		return a, nil
	}
	if len(q.Observed) > 0 {
		if e, a.Refusal = e.observe(&a); a.Refusal != nil {
			return a, nil
		}
	}
	e.answer(&a)
	return a, nil
}

// decide chooses the setting and fills the fields about settings. `least` is the index of the setting of
// least mean regret, and best is the index of the answer. ok is false if every setting exceeds the memory
// budget.
func (e *engine) decide(a *Answer) (s scores, least, best int, ok bool) {
	s = e.score(e.models, e.candidates)
	if least, ok = s.best(e.candidates); !ok {
		return s, 0, 0, false
	}
	least = e.round(&s, least)
	e.fillTable(a, s, least)
	return s, least, e.chooseAnswer(a, s, least), true
}

// gradients returns the number of elements of all gradients.
func gradients(params []trainer.Param) int64 {
	return slice.Sum(params, func(p trainer.Param) int64 { return p.Elements })
}

// `alone` reports whether no gradient needs a reduction.
func alone(q Question) bool {
	return q.Run.DP == 1 || q.Run.Ranks(true) == 1 && len(q.Params) > 0 &&
		!slices.ContainsFunc(q.Params, func(p trainer.Param) bool { return !p.Expert })
}

// answer fills in `a` with the results of the engine.
func (e *engine) answer(a *Answer) {
	blank := *a
	s, least, best, ok := e.decide(a)
	if !ok {
		a.Refusal = e.overBudget()
		return
	}
	a.Verdict = Recommended
	a.Scenarios = e.scenarios
	if e.known {
		a.Backward, a.Forward = &e.backward, &e.forward
	}
	a.Messages = e.sizes(best)
	a.Curves = e.used(best)
	for _, u := range e.curves {
		a.Simulated = a.Simulated || u.Simulated
	}
	a.Bootstrap = e.bootstrap(a, s, least, best)
	e.doubt(a, best)
	a.Changes = e.changesOf(a)
	e.explain(a, best)
	a.WouldHelp = e.help(a, best)
	a.Latency = unproved(a)
	a.Warnings = e.warnings(a)
	if e.q.Rule != nil && a.Observed == nil {
		a.Rule = e.rule(*e.q.Rule)
	}
	if a.Rule != nil && !e.known {
		*a = a.ruled(blank)
	}
	a.Confidence = e.confidence(a, least, best)
}
