package recommend

import (
	"cmp"
	"slices"

	"zbench/bench/trainer"
)

// engine is a question, prepared for many simulations.
type engine struct {
	q Question
	t trainer.Trainer
	// run is the one that settings are tried for: the advised one, or the user's.
	run trainer.Run
	// needs are the calls that occur, curves and models the cost of each.
	needs     []need
	curves    []Curve
	from      []int // ranks a curve was rescaled from, or 0
	models    []*CostModel
	lacks     []need // calls whose cost is left out
	scenarios []Scenario
	backward  float64
	forward   float64
	known     bool // that computation times were given
	// done are the shares of computation behind at each boundary.
	doneBackward, doneForward []float64
	// coarse tries the grid alone.
	coarse     bool
	plans      *Plans
	planner    *trainer.Planner
	candidates []*candidate
	asIs       *candidate
	// judged are settings that were compared with the candidates.
	judged []*candidate
	// asMeasured are the settings within PlateauWidth before curves are resampled.
	asMeasured []Range
	// dips are the points of each curve that doubtDips took for dips of one run.
	dips    [][]int
	space   Space
	times   []Times
	timing  []timing
	reduced []int64
}

// candidate is a setting with its plan. The plan's messages are kept as passes alone:
// there are millions.
type candidate struct {
	Candidate
	setting int64
	run     trainer.Run
	// cut is the buckets while candidates are compared, see engine.buckets.
	cut    []trainer.Bucket
	passes [3]pass
	// each is true for a pass in which every microbatch communicates.
	each [3]bool
	// kept is true for the user's setting, or for the default if there is none.
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
	Pass
	bytes []int64
	model []int32 // the index of the need
	place []Place
	cost  []float64
}

// newEngine finds the curves and plans the candidates for a run.
func newEngine(q Question, t trainer.Trainer, run trainer.Run) (*engine, *Refusal) {
	plans := q.Plans
	if plans == nil {
		plans = &Plans{}
	}
	plans.turnTo(t, q.Params)
	e := &engine{q: q, t: t, run: run, plans: plans, planner: plans.planner, doneBackward: plans.doneBackward, doneForward: plans.doneForward}
	return e, e.prepare()
}

// asked is the engine of a question about the same tensors; coarse is enough to
// compare one question with another.
func (e *engine) asked(q Question, run trainer.Run, coarse bool) (*engine, *Refusal) {
	other := &engine{q: q, t: e.t, run: run, coarse: coarse, plans: e.plans, planner: e.planner, doneBackward: e.doneBackward, doneForward: e.doneForward}
	return other, other.prepare()
}

// timed is the engine with other times of computation, or another number of
// microbatches: neither changes a plan.
func (e *engine) timed(q Question) *engine {
	other := *e
	other.q, other.run.Accum = q, q.Run.Accum
	other.setTimes()
	return &other
}

// findCurves finds a curve for every call. A call at the end of a step, which no setting
// changes, can lack its curve.
func (e *engine) findCurves() *Refusal {
	plan := e.planner.Plan(0, e.run)
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
			case refusal != nil && refusal.Code == fewSizes:
				refusal.Hint = e.q.Again.Wider(e.short(plan))
				return refusal
			case refusal != nil:
				return allMissing(n, refusal, e.without(plan), e.q.Again)
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

// overlapped are the collectives of groups of ranks that the passes call, each once.
func overlapped(plan trainer.Plan) []need {
	var all []need
	for _, m := range slices.Concat(plan.Backward, plan.Forward) {
		if n := (need{m.Collective, m.Ranks}); !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// short are the collectives of the passes whose curves have too few sizes.
func (e *engine) short(plan trainer.Plan) []string {
	var names []string
	for _, n := range overlapped(plan) {
		if _, _, refusal := pick(n, e.q, e.t.InPlace, e.dtype(n)); refusal != nil && refusal.Code == fewSizes && !slices.Contains(names, n.collective) {
			names = append(names, n.collective)
		}
	}
	return names
}

// without are the calls of the passes for which there is no curve of the collective.
func (e *engine) without(plan trainer.Plan) []need {
	return slices.DeleteFunc(overlapped(plan), func(n need) bool {
		return slices.ContainsFunc(e.q.Curves, func(c Curve) bool { return c.Collective == n.collective })
	})
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
	plan := e.planner.Plan(setting, run)
	c := &candidate{Candidate: Candidate{Elements: setting}, setting: setting, run: run, cut: plan.Buckets, each: [3]bool{backward: plan.EachBackward, forward: plan.EachForward}}
	if setting == 0 {
		c.Elements = e.t.Default(e.q.Params, run)
	}
	c.passes[backward] = e.pass(plan.Backward, e.doneBackward, Backward)
	c.passes[forward] = e.pass(plan.Forward, e.doneForward, Forward)
	c.passes[after] = e.pass(plan.After, e.doneForward, Forward)
	c.describe(e, plan)
	return c
}

// buckets are a candidate's, planned again if they were not kept.
func (e *engine) buckets(c *candidate) []trainer.Bucket {
	if c.cut == nil {
		c.cut = e.planner.Plan(c.setting, c.run).Buckets
	}
	return c.cut
}

func (e *engine) pass(messages []trainer.Message, done []float64, d Direction) pass {
	if len(e.lacks) > 0 {
		messages = slices.DeleteFunc(slices.Clone(messages), func(m trainer.Message) bool {
			return slices.Contains(e.lacks, need{m.Collective, m.Ranks})
		})
	}
	n := len(messages)
	p := pass{
		Pass: NewPass(messages, done, d), bytes: make([]int64, n), model: make([]int32, n), place: make([]Place, n), cost: make([]float64, n),
	}
	for j, m := range messages {
		p.bytes[j] = m.Bytes
		if j > 0 && m.Bytes == messages[j-1].Bytes && m.Collective == messages[j-1].Collective && m.Ranks == messages[j-1].Ranks {
			p.model[j], p.place[j] = p.model[j-1], p.place[j-1]
			continue
		}
		i := slices.Index(e.needs, need{m.Collective, m.Ranks})
		p.model[j], p.place[j] = int32(i), e.models[i].Place(m.Bytes)
	}
	return p
}

// describe fills the fields that do not depend on times.
func (c *candidate) describe(e *engine, plan trainer.Plan) {
	sizes := e.reduced[:0]
	for j, bytes := range c.passes[backward].bytes {
		if e.reduces(c, j) {
			sizes = append(sizes, bytes)
		}
	}
	e.reduced = sizes
	slices.Sort(sizes)
	if n := len(sizes); n > 0 {
		c.LargestBytes, c.MedianBytes = sizes[n-1], sizes[n/2]
	}
	c.Buckets = len(plan.Buckets)
	for _, b := range plan.Buckets {
		c.PaddingElements += b.Padding
	}
	for _, p := range c.passes {
		c.Extrapolated = c.Extrapolated || slices.ContainsFunc(p.place, Place.Beyond)
	}
	c.Memory = e.t.Bytes(plan, c.Elements, e.run)
	c.OverBudget = e.q.MemBudget > 0 && c.Memory > e.q.MemBudget
}

// price sets the time of every message.
func (c *candidate) price(models []*CostModel) {
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
		if n := e.candidates[near]; slices.Equal(c.cut, n.cut) && c.OverBudget == n.OverBudget {
			return near
		}
	}
	e.candidates = slices.Insert(e.candidates, i, c)
	return i
}

// timing is a whole step and the communication time that is added to each pass.
type timing struct {
	step    float64
	exposed [3]float64
}

// timings are the candidate's in all scenarios; they are valid until the next call.
func (e *engine) timings(c *candidate) []timing {
	m := float64(e.run.Microbatches())
	e.timing = slices.Grow(e.timing[:0], len(e.scenarios))[:len(e.scenarios)]
	clear(e.timing)
	for i, compute := range [...]float64{backward: e.backward, forward: e.forward, after: 0} {
		e.times = e.times[:0]
		for _, s := range e.scenarios {
			e.times = append(e.times, Times{Compute: compute * s.Compute, Slow: s.Network})
		}
		often := 1.0
		if c.each[i] {
			often = m
		}
		for k, end := range c.passes[i].Ends(e.times, c.passes[i].cost, &e.space) {
			t := &e.timing[k]
			t.exposed[i] = often * (end - e.times[k].Compute)
			t.step += m*e.times[k].Compute + t.exposed[i]
		}
	}
	return e.timing
}
