package recommend

import (
	"zbench/bench/record"
	"zbench/bench/trainer"
)

// Ask answers the question. Equal questions have equal answers, to the last bit. An
// error is an inconsistent question (an unknown trainer or element type). Missing input
// is a Refusal in the answer.
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
		Schema: Schema, Verdict: Refused, Trainer: t.Name, Knob: t.Knob, Unit: t.Unit, Run: q.Run, Params: len(q.Params),
		Advised: t.Advised(q.Run), Within: []Range{}, Changes: []Change{}, Table: []Candidate{}, Scenarios: []Scenario{}, Messages: []Sizes{}, Limits: []Limit{}, WouldHelp: []Help{},
		Curves: []Used{}, Warnings: []record.Warning{},
		Confidence: Confidence{Level: Low, Reasons: []Reason{}},
	}
	for _, p := range q.Params {
		a.Gradients += p.Elements
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
	e.answer(&a)
	return a, nil
}

// alone reports whether no gradient needs a reduction.
func alone(q Question) bool {
	if q.Run.DP == 1 {
		return true
	}
	if q.Run.Ranks(true) != 1 || len(q.Params) == 0 {
		return false
	}
	for _, p := range q.Params {
		if !p.Expert {
			return false
		}
	}
	return true
}

// answer fills a from the engine.
func (e *engine) answer(a *Answer) {
	s := e.score(e.models, e.candidates)
	least, ok := s.best(e.candidates)
	if !ok {
		a.Refusal = e.overBudget()
		return
	}
	least = e.round(&s, least)
	a.Verdict = Recommended
	a.Scenarios = e.scenarios
	if e.known {
		a.Backward, a.Forward = &e.backward, &e.forward
	}
	e.fillTable(a, s, least)
	best := e.chooseAnswer(a, s, least)
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
	a.Confidence = e.confidence(a, least, best)
	a.Warnings = e.warnings(a)
}
