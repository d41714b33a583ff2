package recommend

import (
	"slices"
)

// costOf returns how much longer a step is with a setting than with the setting of least mean regret. It is
// the larger of two values: as measured, and on average over the scenarios. leastScore is the least mean
// regret.
func (a *Answer) costOf(c *Candidate, leastScore float64) float64 {
	return max(c.Step/a.Least.Step-1, c.Score-leastScore)
}

// chooseAnswer decides between the setting of least mean regret and the current setting: a change must gain
// at least PlateauWidth. It compares the user's whole run first, then its bucket size alone. It returns the
// index of the answer.
func (e *engine) chooseAnswer(a *Answer, s scores, least int) int {
	best := least
	kept := slices.IndexFunc(e.candidates, func(c *candidate) bool { return c.kept })
	for _, c := range []*candidate{e.asIs, e.candidates[kept]} {
		if c == nil || c.OverBudget {
			continue
		}
		if c == e.asIs {
			e.judge(s, c)
		}
		gain := a.costOf(&c.Candidate, s.least)
		if e.q.Current == 0 { // an unset value can have its own rule, such as DDP's first bucket
			gain = max(gain, a.costOf(e.judge(s, e.plan(0, c.run)), s.least))
		}
		if gain < PlateauWidth {
			best, a.Keep, a.Gain = kept, true, max(0, gain)
			e.candidates[kept], a.Table[kept] = c, c.Candidate
			break
		}
	}
	c := e.candidates[best]
	a.Elements, a.Advised = c.Elements, c.run
	b := c.Candidate
	a.Best = &b
	e.within(a, s, best)
	return best
}

// `within` sets Within to all settings that cost at most PlateauWidth more than the best, as ranges of
// neighbours.
func (e *engine) within(a *Answer, s scores, best int) {
	in := func(j int) bool {
		c := e.candidates[j]
		return j == best || !c.OverBudget && a.costOf(&c.Candidate, s.least) <= PlateauWidth
	}
	e.list(a, in)
	e.asMeasured = a.Within
}

// list fills Within with the ranges of the settings that `in` accepts.
func (e *engine) list(a *Answer, in func(j int) bool) {
	a.Within = []Range{}
	last := len(e.candidates) - 1
	for j, c := range e.candidates {
		switch {
		case !in(j):
			continue
		case j > 0 && in(j-1):
			r := &a.Within[len(a.Within)-1]
			r.Hi, r.OpenHi = c.Elements, j == last
		default:
			a.Within = append(a.Within, Range{Lo: c.Elements, Hi: c.Elements, OpenLo: j == 0, OpenHi: j == last})
		}
	}
	i := slices.IndexFunc(a.Within, func(r Range) bool { return r.Holds(a.Elements) })
	plateau := a.Within[i]
	a.Plateau = &plateau
}

// `holds` reports whether a setting is in one of the ranges.
func holds(within []Range, elements int64) bool {
	return slices.ContainsFunc(within, func(r Range) bool { return r.Holds(elements) })
}

// changesOf returns the gain of the bucket alone under the user's own switches, then the gain of each switch
// that the answer needs and the user lacks.
func (e *engine) changesOf(a *Answer) []Change {
	switches := e.t.Switches(e.q.Run, a.Advised)
	if len(switches) == 0 {
		return []Change{}
	}
	own, refusal := e.asked(e.q, e.q.Run, false)
	if refusal != nil { // cannot happen: these calls need no other curves than the answer's
		return []Change{}
	}
	s := own.score(own.models, own.candidates)
	i, ok := s.best(own.candidates)
	if !ok {
		return []Change{}
	}
	now := own.judge(s, own.plan(e.q.Current, e.q.Run))
	alone := own.judge(s, own.plan(own.candidates[i].Elements, e.q.Run))
	if alone.Step > now.Step { // the best size can be better on average but worse as measured
		alone = now
	}
	all := []Change{{BucketChange, alone.Elements, alone.Step, 1 - alone.Step/now.Step}}
	before := own.judge(s, own.plan(a.Elements, e.q.Run)).Step
	for _, x := range switches {
		step := own.judge(s, own.plan(a.Elements, x.Run)).Step
		all = append(all, Change{x.Name, a.Elements, step, 1 - step/before})
		before = step
	}
	return all
}
