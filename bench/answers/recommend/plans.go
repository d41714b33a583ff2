package recommend

import (
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/job/trainer"
)

// Plans keeps the plans of a question's settings for the next question about the same tensors: neither the
// times of computation nor the times of collectives change where buckets end. The zero value is empty. It is
// not safe for concurrent use.
type Plans struct {
	trainer string
	params  []trainer.Param
	planner *trainer.Planner
	// doneBackward and doneForward are the shares of computation finished at each boundary.
	doneBackward, doneForward []float64
	kept                      []tried
}

// `tried` holds the candidates of a question before they are priced, and the values that they depend on in
// addition to the tensors.
type tried struct {
	basis
	needs      []need
	models     []*CostModel // their times do not matter
	candidates []*candidate
	asIs       *candidate
}

// basis holds the values that candidates depend on and that == can compare.
type basis struct {
	advised, own       trainer.Run
	current, memBudget int64
	coarse             bool
}

// turnTo drops the plans unless they are for the same tensors and trainer.
func (p *Plans) turnTo(t trainer.Trainer, params []trainer.Param) {
	if p.planner != nil && p.trainer == t.Name && slices.EqualFunc(p.params, params, trainer.Param.Equal) {
		return
	}
	*p = Plans{
		trainer: t.Name, params: params, planner: t.Planner(params),
		doneBackward: Shares(trainer.BackwardWork(params), Backward),
		doneForward:  Shares(trainer.Work(params), Forward),
	}
}

// prepare finds the curves and the candidates.
func (e *engine) prepare() *Refusal {
	if refusal := e.findCurves(); refusal != nil {
		return refusal
	}
	e.setTimes()
	depends := basis{e.run, e.q.Run, e.q.Current, e.q.MemBudget, e.coarse}
	i := slices.IndexFunc(e.plans.kept, func(x tried) bool {
		return x.basis == depends && slices.Equal(x.needs, e.needs) && slices.EqualFunc(x.models, e.models, (*CostModel).SameSizes)
	})
	if i < 0 {
		e.try()
		i = len(e.plans.kept)
		e.plans.kept = append(e.plans.kept, tried{depends, e.needs, e.models, e.candidates, e.asIs})
	}
	e.candidates, e.asIs = e.plans.kept[i].copies()
	return nil
}

// try plans the candidates. It drops their buckets, because only `add` compares buckets. It drops the space
// for costs, because each copy has its own.
func (e *engine) try() {
	kept, asIs := e.keep()
	e.candidates, e.asIs = []*candidate{kept}, asIs
	for _, s := range e.settings() {
		e.add(s)
	}
	for _, c := range e.candidates {
		c.cut = nil
		for i := range c.passes {
			c.passes[i].cost = nil
		}
	}
}

// copies returns candidates that one question can price and describe.
func (x *tried) copies() (all []*candidate, asIs *candidate) {
	if x.asIs != nil {
		asIs = x.asIs.copied()
	}
	return slice.Map(x.candidates, (*candidate).copied), asIs
}

// `copied` returns the candidate with its own space for costs.
func (c *candidate) copied() *candidate {
	other := *c
	for i, p := range c.passes {
		other.passes[i].cost = make([]float64, len(p.bytes))
	}
	return &other
}
