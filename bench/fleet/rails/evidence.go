package rails

import (
	"fmt"
	"maps"
	"slices"
)

// switches turns many slow NICs of one rail into a question, where no leaf is known
// that would explain them.
func (j *judgement) switches(v *Verdict) {
	for rail := range j.Fleet.GPUs {
		if rail < len(j.Fleet.Leaves) {
			continue
		}
		ofRail := func(f Slow) bool { return f.Component.Part == Rail && f.Component.A == rail }
		q := Question{Candidates: []Component{{Part: Leaf, A: rail, B: -1}}, Next: "give the leaf switch of each node (--leaves, or --topo with what lldpctl says)"}
		for _, f := range v.Findings {
			if ofRail(f) {
				q.Candidates, q.Lost = append(q.Candidates, f.Component), max(q.Lost, f.Lost)
			}
		}
		if len(q.Candidates) < 5 {
			continue
		}
		q.What = fmt.Sprintf("rail %d is slow on %d nodes, which may share a leaf switch", rail, len(q.Candidates)-1)
		v.Findings = slices.DeleteFunc(v.Findings, ofRail)
		v.Questions = append(v.Questions, q)
	}
}

// slowRings are the losses of the rails whose rings are slow in all of their rounds.
func slowRings(timings []Timing) map[int]float64 {
	t := tabulate(timings, Rings)
	if len(t.of) < minReference {
		return nil
	}
	var ys []float64
	for _, x := range t.of {
		ys = append(ys, x.y)
	}
	limit := max(leastLoss, sigmas*deviation(ys))
	least := map[int]float64{}
	for _, x := range t.of {
		rail := x.Pair.A.GPU
		if before, seen := least[rail]; !seen || x.y < before {
			least[rail] = x.y
		}
	}
	maps.DeleteFunc(least, func(_ int, loss float64) bool { return loss <= limit })
	return least
}

// rings compares the rails' rings. A slow one confirms what was found on its rail; with
// nothing found there, the rail is slow only while all nodes use it.
func (j *judgement) rings(v *Verdict) {
	slow := slowRings(j.Timings)
	for _, rail := range slices.Sorted(maps.Keys(slow)) {
		explained := false
		for i, f := range v.Findings {
			if c := f.Component; c.Part == Node || c.Part != Link && c.A == rail {
				explained = true
				v.Findings[i].Reasons = append(v.Findings[i].Reasons, fmt.Sprintf("the ring of rail %d is %.0f %% below the others", rail, 100*share(slow[rail])))
			}
		}
		explained = explained || slices.ContainsFunc(v.Questions, func(q Question) bool {
			return slices.ContainsFunc(q.Candidates, func(c Component) bool { return c.Part != Link && c.A == rail })
		})
		if !explained {
			v.Questions = append(v.Questions, Question{
				What: fmt.Sprintf("rail %d is slow only in the ring of all nodes", rail), Lost: share(slow[rail]), ring: true,
				Candidates: []Component{{Part: Leaf, A: rail, B: -1}}, Next: "run again; look at the pause frames of the rail's switches",
			})
		}
	}
}

// profile compares the fleet with figures from elsewhere.
func (j *judgement) profile(v *Verdict) {
	if j.Profile == nil {
		return
	}
	for _, one := range []struct {
		kind   Kind
		good   float64
		called string
	}{{Network, j.Profile.Network, "transfers between nodes"}, {XGMI, j.Profile.XGMI, "transfers over xGMI"}} {
		var seconds []float64
		for _, t := range j.Timings {
			if t.Kind == one.kind {
				seconds = append(seconds, t.Timed()...)
			}
		}
		if one.good <= 0 || len(seconds) == 0 {
			continue
		}
		if lost := 1 - one.good/median(seconds); lost > 2*share(leastLoss) {
			v.Questions = append(v.Questions, Question{
				What: fmt.Sprintf("the median of %s is %.0f %% below %s", one.called, 100*lost, j.Profile.Source), Lost: lost,
				Next: "compare drivers, firmware and settings with those of the source: most of the fleet is slow",
			})
		}
	}
}

// explained tells whether a steady fault that is named accounts for what happens at a place.
func explained(v *Verdict, at Place) bool {
	return slices.ContainsFunc(v.Findings, func(f Slow) bool {
		c := f.Component
		switch c.Part {
		case Node:
			return c.Node == at.Node
		case GPU, Rail:
			return c.Node == at.Node && c.A == at.GPU
		case Leaf:
			return c.A == at.GPU && slices.Contains(f.Nodes, at.Node)
		default:
			return false
		}
	})
}

// explainedLink is the same for a link: its node, one of its GPUs, or itself.
func explainedLink(v *Verdict, p Pair) bool {
	return slices.ContainsFunc(v.Findings, func(f Slow) bool {
		c := f.Component
		return c.Node == p.A.Node && (c.Part == Node || c.Part == GPU && (c.A == p.A.GPU || c.A == p.B.GPU) ||
			c.Part == Link && c.A == min(p.A.GPU, p.B.GPU) && c.B == max(p.A.GPU, p.B.GPU))
	})
}
