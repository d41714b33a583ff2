package recommend

import (
	"cmp"
	"slices"

	"zbench/bench/cost"
	"zbench/bench/overlap"
	"zbench/bench/trainer"
)

// engine holds a question in the form in which it can be simulated many times.
type engine struct {
	q Question
	t trainer.Trainer
	// run is the one that settings are tried for: the advised one, or the user's.
	run trainer.Run
	// needs are the calls that occur, curves and models the cost of each.
	needs     []need
	curves    []cost.Curve
	from      []int // ranks a curve was rescaled from, or 0
	models    []*cost.Model
	lacks     []need // calls whose cost is left out
	scenarios []Scenario
	backward  float64
	forward   float64
	known     bool // that computation times were given
	// done are the shares of computation behind at each boundary.
	doneBackward, doneForward []float64
	// coarse tries the grid alone.
	coarse bool
	// plans are what settings are planned with, by the run.
	plans      map[trainer.Run]func(setting int64) trainer.Plan
	candidates []*candidate
	asIs       *candidate
	scratch    []float64
}

// candidate is a setting with its plan.
type candidate struct {
	Candidate
	run    trainer.Run
	plan   trainer.Plan
	passes [3]pass
	// kept tells that it is the user's setting, or the default where there is none.
	kept bool
}

// The passes of a step.
const (
	backward = iota
	forward
	after
)

// pass is the messages of one pass, ready to be priced and run.
type pass struct {
	overlap.Pass
	model []int
	place []cost.Place
	cost  []float64
}

// newEngine finds the curves and plans the candidates for a run; coarse is enough to
// compare one question with another.
func newEngine(q Question, t trainer.Trainer, run trainer.Run, coarse bool) (*engine, *Refusal) {
	e := &engine{q: q, t: t, run: run, coarse: coarse}
	if refusal := e.findCurves(); refusal != nil {
		return nil, refusal
	}
	work := trainer.Work(e.q.Params)
	e.doneBackward = overlap.Shares(work, overlap.Backward)
	e.doneForward = overlap.Shares(work, overlap.Forward)
	e.setTimes()
	kept, asIs := e.keep()
	e.candidates, e.asIs = []*candidate{kept}, asIs
	for _, s := range e.settings() {
		e.add(s)
	}
	return e, nil
}

// findCurves finds a curve for every call; one at the end of a step, which no
// setting changes, may lack its curve.
func (e *engine) findCurves() *Refusal {
	plan := e.t.Plan(e.q.Params, 0, e.run)
	for i, messages := range [][]trainer.Message{plan.Backward, plan.Forward, plan.After} {
		for _, m := range messages {
			n := need{m.Collective, m.Ranks}
			if slices.Contains(e.needs, n) || slices.Contains(e.lacks, n) {
				continue
			}
			c, from, refusal := pick(n, e.q, e.t.InPlace, e.dtype(n))
			switch {
			case refusal != nil && i == after:
				e.lacks = append(e.lacks, n)
			case refusal != nil:
				return refusal
			default:
				e.needs = append(e.needs, n)
				e.curves = append(e.curves, c)
				e.from = append(e.from, from)
				e.models = append(e.models, c.Model())
			}
		}
	}
	return nil
}

// dtype is the element type in which a call moves data.
func (e *engine) dtype(n need) string {
	if n.collective == "all_gather" {
		return e.run.ParamDtype
	}
	return e.run.GradDtype
}

// plan makes a candidate of a setting.
func (e *engine) plan(setting int64, run trainer.Run) *candidate {
	c := &candidate{Candidate: Candidate{Elements: setting}, run: run, plan: e.planned(setting, run)}
	if setting == 0 {
		c.Elements = e.t.Default(e.q.Params, run)
	}
	c.passes[backward] = e.pass(c.plan.Backward, e.doneBackward, overlap.Backward)
	c.passes[forward] = e.pass(c.plan.Forward, e.doneForward, overlap.Forward)
	c.passes[after] = e.pass(c.plan.After, e.doneForward, overlap.Forward)
	c.describe(e)
	return c
}

// planned is the trainer's plan.
func (e *engine) planned(setting int64, run trainer.Run) trainer.Plan {
	if e.plans == nil {
		e.plans = map[trainer.Run]func(int64) trainer.Plan{}
	}
	if e.plans[run] == nil {
		e.plans[run] = e.t.Planner(e.q.Params, run)
	}
	return e.plans[run](setting)
}

func (e *engine) pass(messages []trainer.Message, done []float64, d overlap.Direction) pass {
	if len(e.lacks) > 0 {
		messages = slices.DeleteFunc(slices.Clone(messages), func(m trainer.Message) bool {
			return slices.Contains(e.lacks, need{m.Collective, m.Ranks})
		})
	}
	p := pass{Pass: overlap.New(messages, done, d), cost: make([]float64, len(messages))}
	p.model, p.place = make([]int, len(messages)), make([]cost.Place, len(messages))
	for j, m := range messages {
		if j > 0 && m.Bytes == messages[j-1].Bytes && m.Collective == messages[j-1].Collective && m.Ranks == messages[j-1].Ranks {
			p.model[j], p.place[j] = p.model[j-1], p.place[j-1]
			continue
		}
		i := slices.Index(e.needs, need{m.Collective, m.Ranks})
		p.model[j], p.place[j] = i, e.models[i].Place(m.Bytes)
	}
	return p
}

// describe fills what does not depend on times.
func (c *candidate) describe(e *engine) {
	sizes := make([]int64, 0, len(c.plan.Backward))
	for _, m := range c.plan.Backward {
		if m.Collective != "all_gather" {
			sizes = append(sizes, m.Bytes)
		}
	}
	slices.Sort(sizes)
	if n := len(sizes); n > 0 {
		c.LargestBytes, c.MedianBytes = sizes[n-1], sizes[n/2]
	}
	c.Buckets = len(c.plan.Buckets)
	for _, b := range c.plan.Buckets {
		c.PaddingElements += b.Padding
	}
	for _, p := range c.passes {
		c.Extrapolated = c.Extrapolated || slices.ContainsFunc(p.place, cost.Place.Beyond)
	}
	c.Memory = e.t.Bytes(c.plan, c.Elements, e.run)
	c.OverBudget = e.q.MemBudget > 0 && c.Memory > e.q.MemBudget
}

// price sets the time of every message.
func (c *candidate) price(models []*cost.Model) {
	for i := range c.passes {
		p := &c.passes[i]
		for j, place := range p.place {
			if j > 0 && place == p.place[j-1] && p.model[j] == p.model[j-1] {
				p.cost[j] = p.cost[j-1]
				continue
			}
			p.cost[j] = models[p.model[j]].At(place)
		}
	}
}

// add plans a setting unless its buckets are those of the one before, and
// returns its index.
func (e *engine) add(setting int64) int {
	i, found := slices.BinarySearchFunc(e.candidates, setting, func(c *candidate, s int64) int { return cmp.Compare(c.Elements, s) })
	if found {
		return i
	}
	c := e.plan(setting, e.run)
	for _, near := range []int{i - 1, i} {
		if near < 0 || near >= len(e.candidates) {
			continue
		}
		if n := e.candidates[near]; slices.Equal(c.plan.Buckets, n.plan.Buckets) && c.OverBudget == n.OverBudget {
			return near
		}
	}
	e.candidates = slices.Insert(e.candidates, i, c)
	return i
}

// times are what a step of the candidate takes: the whole, and what
// communication adds to each pass.
func (e *engine) times(c *candidate, s Scenario) (step float64, exposed [3]float64) {
	m := float64(e.run.Microbatches())
	compute := [3]float64{e.backward * s.Compute, e.forward * s.Compute, 0}
	often := [3]float64{1, 1, 1}
	if c.plan.EachBackward {
		often[backward] = m
	}
	if c.plan.EachForward {
		often[forward] = m
	}
	for i := range c.passes {
		var end float64
		end, e.scratch = c.passes[i].End(compute[i], c.passes[i].cost, s.Network, e.scratch)
		exposed[i] = often[i] * (end - compute[i])
		step += m*compute[i] + exposed[i]
	}
	return step, exposed
}
