package recommend

import (
	"slices"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
)

// `mostly` is the share of the messages' time, or of a difference in cost, above which one cause decides.
const mostly = 0.5

// doubt marks the settings for which no percentage of a step can be given. If the answer itself is not
// marked, it removes the marked settings from Within.
func (e *engine) doubt(a *Answer, best int) {
	all := slices.Concat(e.candidates, e.judged)
	beyond := func(c *candidate) bool { return c.beyond() > mostly }
	for i, c := range all {
		if beyond(c) || beyond(all[best]) {
			all[i].Unfounded = BeyondSweep
		}
	}
	e.doubtDips(all, best)
	if e.candidates[best].Unfounded == "" {
		within := a.Within
		e.list(a, func(j int) bool { return e.candidates[j].Unfounded == "" && holds(within, e.candidates[j].Elements) })
	}
	for j, c := range e.candidates {
		a.Table[j].Unfounded = c.Unfounded
	}
	for _, c := range []*Candidate{a.Best, a.Least, a.Single} {
		if c == nil {
			continue
		}
		for _, x := range e.candidates {
			if x.Elements == c.Elements {
				c.Unfounded = x.Unfounded
			}
		}
	}
}

// `beyond` returns the share of a priced candidate's message time that is beyond the sweep.
func (c *candidate) beyond() float64 {
	above, all := 0.0, 0.0
	for _, p := range c.passes {
		for j, place := range p.place {
			all += p.cost[j]
			if place.Beyond() {
				above += p.cost[j]
			}
		}
	}
	if all == 0 {
		return 0
	}
	return above / all
}

// doubtDips marks a setting if dips of one run cause most of its difference from the answer, as measured or
// on average. It marks the answer if dips cause most of its difference from the best setting. Existing
// marks stay.
func (e *engine) doubtDips(all []*candidate, best int) {
	models, found := slices.Clone(e.models), false
	e.dips = make([][]int, len(e.models))
	for i, m := range e.models {
		if e.curves[i].Runs < 2 {
			models[i], e.dips[i] = m.Filled()
			found = found || len(e.dips[i]) > 0
		}
	}
	if !found {
		return
	}
	difference := func(models []*CostModel) []float64 {
		s := e.score(models, all)
		costs := s.costs(best, s.score[best])
		at, _ := s.best(all)
		costs[best] = s.costs(at, s.least)[best]
		return costs
	}
	filled, measured := difference(models), difference(e.models)
	for j, c := range all {
		x, y := measured[j], filled[j]
		if c.Unfounded == "" && max(x, y) > PlateauWidth && (y < x*mostly || x < y*mostly) {
			c.Unfounded = OneDip
		}
	}
}

// capUnfounded limits the confidence if a dip of one run decides about the answer or about the setting that
// the answer is compared with.
func (e *engine) capUnfounded(a *Answer, limit limiter) {
	if now := a.Now(); a.Best.Unfounded != OneDip && (now == nil || now.Unfounded != OneDip) {
		return
	}
	for i, dips := range e.dips {
		sizes := slice.Map(dips, func(at int) string { return unit.Bytes(e.curves[i].Points[at].Bytes) })
		limit(len(dips) > 0, "dip", Low, "%s: the answer depends on slow times at %s, which one run shows", e.needs[i], strings.Join(sizes, ", "))
	}
}
