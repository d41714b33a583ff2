package recommend

import (
	"errors"
	"math"
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/hardware/collective"
	"zbench/bench/job/trainer"
)

// fillTable describes every candidate and the settings that the answer is compared with.
func (e *engine) fillTable(a *Answer, s scores, least int) {
	for j, c := range e.candidates {
		e.describe(c, s.exposed[j], s.steps[0][j])
		c.Nominal, c.Score, c.Worst = s.steps[0][j]/s.leastSteps[0]-1, s.score[j], s.worst[j]
		a.Table = append(a.Table, c.Candidate)
	}
	l := e.candidates[least].Candidate
	a.Least = &l
	a.Default = e.judge(s, e.plan(0, e.run))
	if e.t.Settings(e.q.Params, e.run) == nil {
		single := e.candidates[len(e.candidates)-1].Candidate
		a.Single = &single
	}
	if e.q.Current > 0 {
		a.Current = e.judge(s, e.plan(e.q.Current, e.q.Run))
	}
}

// judge compares a plan with the candidates. The plan need not be a candidate.
func (e *engine) judge(s scores, c *candidate) *Candidate {
	e.judged = append(e.judged, c)
	c.price(e.models)
	for i, t := range e.timings(c, e.scenarios) {
		r := t.step/s.leastSteps[i] - 1
		c.Score += r / float64(len(e.scenarios))
		if i == 0 {
			e.describe(c, t.exposed, t.step)
			c.Nominal, c.Worst = r, r
		}
		c.Worst = max(c.Worst, r)
	}
	return &c.Candidate
}

// Try returns the predicted steps of settings in the question's run, in the nominal scenario. Settings are
// rounded to valid values; 0 is the trainer's behaviour if nothing is set.
func Try(q Question, settings ...int64) ([]Candidate, error) {
	t, err := trainer.ByName(q.Trainer)
	if err != nil {
		return nil, err
	}
	e, refusal := newEngine(q, t, q.Run)
	if refusal != nil {
		return nil, errors.New(refusal.Message)
	}
	all := make([]Candidate, len(settings))
	for i, s := range settings {
		if s > 0 {
			s = e.snap(s)
		}
		c := e.plan(s, q.Run)
		c.price(e.models)
		now := e.timings(c, e.scenarios)[0]
		e.describe(c, now.exposed, now.step)
		all[i] = c.Candidate
	}
	return all, nil
}

// describe fills the nominal times of a priced candidate.
func (e *engine) describe(c *candidate, exposed [3]float64, step float64) {
	c.ExposedBackward, c.ExposedForward, c.After, c.Step = exposed[backward], exposed[forward], exposed[after], step
	c.Latency = e.latency(c) / step
	seconds, moved := 0.0, 0.0
	e.reductions(c, func(i int, bytes int64, t float64) {
		f := 1.0
		if row, err := collective.ByName(e.needs[i].collective); err == nil {
			f = row.BusFactor(e.needs[i].ranks)
		}
		seconds += t
		moved += f * float64(bytes)
	})
	if seconds > 0 {
		c.BusBW = moved / seconds
	}
}

// latency returns the part of a step's message time that does not depend on the messages' sizes, in
// seconds.
func (e *engine) latency(c *candidate) (all float64) {
	for i, p := range c.passes {
		often := 1
		if c.each[i] {
			often = e.run.Microbatches()
		}
		for _, model := range p.model {
			all += float64(often) * e.models[model].least
		}
	}
	return all
}

// reductions visits the gradients' messages of a priced candidate.
func (e *engine) reductions(c *candidate, visit func(model int, bytes int64, seconds float64)) {
	p := c.passes[backward]
	for j, bytes := range p.bytes {
		if e.reduces(c, j) {
			visit(int(p.model[j]), bytes, p.cost[j])
		}
	}
}

// `reduces` reports whether a message of the backward pass carries gradients.
func (e *engine) reduces(c *candidate, message int) bool {
	return e.needs[c.passes[backward].model[message]].collective != "all_gather"
}

// sizes summarises the messages of a candidate.
func (e *engine) sizes(best int) []Sizes {
	c := e.candidates[best]
	all := []Sizes{}
	for i, p := range c.passes {
		for k, n := range e.needs {
			if bytes := p.of(k); len(bytes) > 0 {
				x := Sizes{Pass: []string{"backward", "forward", "after"}[i], Collective: n.collective, Ranks: n.ranks, Seconds: slice.Sum(bytes, e.models[k].Seconds)}
				slices.Sort(bytes)
				x.Count, x.Smallest, x.Median, x.Largest, x.Bytes = len(bytes), bytes[0], bytes[len(bytes)/2], bytes[len(bytes)-1], slice.Sum(bytes, func(n int64) int64 { return n })
				all = append(all, x)
			}
		}
	}
	return all
}

// `used` describes the curves behind the answer.
func (e *engine) used(best int) []Used {
	all := []Used{}
	for i, c := range e.curves {
		first, last := c.Points[0], c.Points[len(c.Points)-1]
		u := Used{
			Collective: c.Collective, Ranks: c.Ranks, Groups: c.Groups, Stride: c.Stride, Dtype: c.Dtype, InPlace: c.InPlace, Timing: c.Timing, Sizes: len(c.Points),
			MinBytes: first.Bytes, MaxBytes: last.Bytes, Simulated: c.Simulated, RescaledFrom: e.from[i],
			Refine: e.refineSizes(i, best), Holes: holesOf(c.samples()),
		}
		u.Alpha, u.Bandwidth = c.Fit()
		if want := e.wantMax(i, best); want > last.Bytes {
			u.WantMaxBytes = want
		}
		all = append(all, u)
	}
	return all
}

// messagesOf returns the sizes of a candidate's messages on one curve, in bytes.
func (e *engine) messagesOf(i, candidate int) []int64 {
	p := &e.candidates[candidate].passes
	return slices.Concat(p[backward].of(i), p[forward].of(i), p[after].of(i))
}

// `of` returns the sizes of the messages of call needs[need], in bytes.
func (p *pass) of(need int) (all []int64) {
	for j, bytes := range p.bytes {
		if int(p.model[j]) == need {
			all = append(all, bytes)
		}
	}
	return all
}

// `around` lists the settings near the answer whose messages are worth measuring, as multiples of the
// answer.
var around = []float64{0.5, math.Sqrt2 / 2, math.Sqrt2, 2}

// refineSizes returns the sizes worth measuring on curve i, in bytes. They are the median and the largest
// message of the answer and of the current setting, because the gain compares these two settings, and the
// median messages of settings around the answer. Alignment can change the time of a size, and the library
// can switch protocols between two sizes of a sweep.
func (e *engine) refineSizes(i, best int) []int64 {
	sizes := []int64{}
	add := func(candidate int, largest bool) {
		all := e.messagesOf(i, candidate)
		if slices.Sort(all); len(all) > 0 {
			sizes = append(sizes, all[len(all)/2])
			if largest {
				sizes = append(sizes, all[len(all)-1])
			}
		}
	}
	add(best, true)
	add(slices.IndexFunc(e.candidates, func(c *candidate) bool { return c.kept }), true)
	for _, x := range around {
		near, _ := e.find(int64(x * float64(e.candidates[best].Elements)))
		add(min(near, len(e.candidates)-1), false)
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

// wantMax returns the largest size that curve i needs, in bytes: the answer's largest message or, while the
// bandwidth still grows, the message of a single bucket.
func (e *engine) wantMax(i, best int) int64 {
	all := append(e.messagesOf(i, best), 0)
	if growth := lastOctave(e.curves[i].samples()); growth == nil || *growth > maxOctaveGrowth {
		all = append(all, e.messagesOf(i, len(e.candidates)-1)...)
	}
	return slices.Max(all)
}
