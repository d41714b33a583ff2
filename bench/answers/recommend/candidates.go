package recommend

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/job/trainer"
)

// engine is a question about one run, prepared for the simulation of many settings.
type engine struct {
	q Question
	t trainer.Trainer
	// run is the run that settings are tried for: the advised run, or the user's.
	run trainer.Run
	// needs holds the distinct calls of a step, by collective and number of ranks. curves[i] and models[i]
	// give the cost of needs[i]. from[i] is the number of ranks that the curve was rescaled from, or 0.
	needs     []need
	curves    []Curve
	from      []int
	models    []*CostModel
	lacks     []need // calls at the end of a step without a curve: their cost is left out
	scenarios []Scenario
	// backward and forward are the computation of a microbatch, in seconds; `known` is true if the user gave
	// them.
	backward, forward float64
	known             bool
	// If coarse is true, the settings that are sums of neighbouring tensors are left out.
	coarse bool
	plans  *Plans
	// candidates are the settings to try, ascending, one for each distinct set of buckets. asIs is the
	// user's present run; nil if a candidate equals it.
	candidates []*candidate
	asIs       *candidate
	// `judged` holds other settings that were compared with the candidates.
	judged []*candidate
	// asMeasured holds the settings within PlateauWidth before curves are resampled.
	asMeasured []Range
	// dips are the points of each curve that doubtDips considers dips of one run.
	dips [][]int
	// The remaining fields are scratch space.
	space   []float64
	times   []Times
	timing  []timing
	reduced []int64
}

// candidate is a setting with its plan. The plan may have millions of messages, so a candidate keeps only
// the fields in pass.
type candidate struct {
	Candidate
	setting int64
	run     trainer.Run
	// cut holds the buckets while candidates are compared, see engine.buckets.
	cut    []trainer.Bucket
	passes [3]pass
	// `each[p]` is true if pass p communicates in every microbatch, not once per step.
	each [3]bool
	// `kept` is true for the current setting, or for the default if nothing is set.
	kept bool
}

// The passes of a step.
const (
	backward = iota
	forward
	after
)

// pass holds the messages of one pass, ready to be priced and run.
type pass struct {
	Pass
	bytes []int64
	model []int32 // index into needs, per message
	// latency is the least time of the messages' curves, in seconds.
	latency float64
	place   []Place
	cost    []float64
}

// overlap returns the time by which messages in flight overlap, in seconds: all of the latency if they
// belong to several communicators, otherwise the given share of the latency.
func (p *pass) overlap(share float64) float64 {
	if p.in != nil {
		share = 1
	}
	return share * p.latency
}

// newEngine finds the curves and plans the candidates of a run.
func newEngine(q Question, t trainer.Trainer, run trainer.Run) (*engine, *Refusal) {
	plans := q.Plans
	if plans == nil {
		plans = &Plans{}
	}
	plans.turnTo(t, q.Params)
	e := &engine{q: q, t: t, run: run, plans: plans}
	return e, e.prepare()
}

// `asked` returns the engine of another question about the same tensors. A coarse engine is enough to compare
// questions.
func (e *engine) asked(q Question, run trainer.Run, coarse bool) (*engine, *Refusal) {
	other := &engine{q: q, t: e.t, run: run, coarse: coarse, plans: e.plans}
	return other, other.prepare()
}

// `timed` returns the engine of a question with other computation times or another number of microbatches. It
// keeps the plans.
func (e *engine) timed(q Question) *engine {
	other := *e
	other.q, other.run.Accum = q, q.Run.Accum
	other.setTimes()
	return &other
}

// findCurves finds a curve for every call. A call at the end of a step may lack its curve, because no setting
// changes that call.
func (e *engine) findCurves() *Refusal {
	plan := e.plans.planner.Plan(0, e.run)
	for i, messages := range [][]trainer.Message{plan.Backward, plan.Forward, plan.After} {
		for _, m := range messages {
			n := need{m.Collective, m.Ranks}
			if slices.Contains(e.needs, n) || slices.Contains(e.lacks, n) {
				continue
			}
			c, from, refusal := e.pick(n)
			switch {
			case refusal != nil && i == after:
				e.lacks = append(e.lacks, n)
			case refusal != nil && refusal.Code == fewSizes:
				refusal.Hint = e.q.Again.Wider(e.named(plan, func(n need) bool {
					_, _, refusal := e.pick(n)
					return refusal != nil && refusal.Code == fewSizes
				}))
				return refusal
			case refusal != nil && refusal.Code == missingCurve:
				refusal.Missing = e.named(plan, func(other need) bool {
					return other.ranks == n.ranks && !slices.ContainsFunc(e.q.Curves, func(c Curve) bool { return c.Collective == other.collective })
				})
				if names := refusal.Missing; len(names) > 1 {
					refusal.Message = strings.Replace(refusal.Message, n.collective, plain.And(names), 1)
					refusal.Hint = e.q.Again.Sweep(names)
				}
				return refusal
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

// `named` returns the collectives of the backward and forward calls that `holds` accepts, each once.
func (e *engine) named(plan trainer.Plan, holds func(n need) bool) []string {
	var names []string
	for _, m := range slices.Concat(plan.Backward, plan.Forward) {
		if n := (need{m.Collective, m.Ranks}); !slices.Contains(names, n.collective) && holds(n) {
			names = append(names, n.collective)
		}
	}
	return names
}

// dtype returns the element type in which a call moves data.
func (e *engine) dtype(n need) string { return dtypeOf(e.run, n.collective) }

func dtypeOf(run trainer.Run, collective string) string {
	if collective == "all_gather" {
		return run.ParamDtype
	}
	return run.GradDtype
}

// plan makes the candidate of a setting. A setting of 0 is the trainer's behaviour if nothing is set.
func (e *engine) plan(setting int64, run trainer.Run) *candidate {
	plan := e.plans.planner.Plan(setting, run)
	c := &candidate{Candidate: Candidate{Elements: setting}, setting: setting, run: run, cut: plan.Buckets, each: [3]bool{backward: plan.EachBackward, forward: plan.EachForward}}
	if setting == 0 {
		c.Elements = e.t.Default(e.q.Params, run)
	}
	c.passes[backward] = e.pass(plan.Backward, e.plans.doneBackward, Backward)
	c.passes[forward] = e.pass(plan.Forward, e.plans.doneForward, Forward)
	c.passes[after] = e.pass(plan.After, e.plans.doneForward, Forward)
	c.describe(e, plan)
	return c
}

// buckets returns a candidate's buckets; it plans them again if they were dropped.
func (e *engine) buckets(c *candidate) []trainer.Bucket {
	if c.cut == nil {
		c.cut = e.plans.planner.Plan(c.setting, c.run).Buckets
	}
	return c.cut
}

// pass finds the cost model of each message; messages without a curve are left out.
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
	c.PaddingElements = slice.Sum(plan.Buckets, func(b trainer.Bucket) int64 { return b.Padding })
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
		p.latency = math.Inf(1)
		for j, place := range p.place {
			if j > 0 && place == p.place[j-1] && p.model[j] == p.model[j-1] {
				p.cost[j] = p.cost[j-1]
				continue
			}
			m := models[p.model[j]]
			if p.cost[j] = m.At(place); m.least < p.latency {
				p.latency = m.least
			}
		}
	}
}

// find returns the index of the first candidate with at least `elements` elements, and whether that
// candidate has exactly so many.
func (e *engine) find(elements int64) (int, bool) {
	return slices.BinarySearchFunc(e.candidates, elements, func(c *candidate, n int64) int { return cmp.Compare(c.Elements, n) })
}

// add plans a setting and returns its index, or the index of a neighbour with the same buckets.
func (e *engine) add(setting int64) int {
	i, found := e.find(setting)
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

// timing is the length of a whole step and the communication time added to each pass.
type timing struct {
	step    float64
	exposed [3]float64
}

// timings returns the timings of a priced candidate, one per scenario. The timings are valid until the next
// call.
func (e *engine) timings(c *candidate, scenarios []Scenario) []timing {
	m := float64(e.run.Microbatches())
	e.timing = e.timing[:0]
	for _, s := range scenarios {
		e.timing = append(e.timing, timing{step: s.Rest})
	}
	for i, compute := range [...]float64{backward: e.backward, forward: e.forward, after: 0} {
		p, often := &c.passes[i], 1.0
		if c.each[i] {
			often = m
		}
		e.times = e.times[:0]
		for _, s := range scenarios {
			e.times = append(e.times, Times{Compute: compute * s.Compute, Slow: s.Network, Contention: s.Contention, Each: s.Each, Shared: p.overlap(s.Shared)})
		}
		p.run(e.times, p.cost, &e.space)
		for k := range e.times {
			t, run := &e.timing[k], &e.times[k]
			t.exposed[i] = often * (run.clock - run.Compute)
			t.step += m*run.Compute + t.exposed[i]
		}
	}
	return e.timing
}
