package rails

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
)

const (
	// slowSample is the smallest logarithm of a slowdown that makes a sample slow.
	slowSample = 0.08
	// chance is the probability, over all components, below which slow rounds are no
	// longer chance.
	chance = 5e-5
	// fewRounds is the largest number of slow rounds without a common component at which each of them
	// becomes a question. More such rounds are the fleet's noise.
	fewRounds = 3
)

// mark is a transfer whose slow samples its ends do not explain.
type mark struct {
	timed
	slow int     // number of slow samples
	loss float64 // median of the slow samples' residues
	full bool    // all samples are slow
}

// marks returns the transfers of a kind that have slow samples, and the share of slow samples among all
// samples of that kind.
func (j *judgement) marks(kind Kind) (out []mark, rate float64) {
	of := j.net.kindTimes.of
	if kind == XGMI {
		of = j.links.of
	}
	expected := slice.Map(of, j.expected)
	cut := max(slowSample, 5*Deviation(residues(of, expected)))
	slow, all := 0, 0
	for i, t := range of {
		m := mark{timed: t}
		off := slice.Map(t.each, func(y float64) float64 { return y - expected[i] })
		slowest := slice.Where(off, func(y float64) bool { return y > cut })
		m.slow, m.loss = len(slowest), median(slowest)
		slow, all = slow+m.slow, all+len(t.each)
		m.full = len(t.each) >= minSamples && m.slow >= len(t.each)-len(t.each)/10
		if m.slow > 0 {
			out = append(out, m)
		}
	}
	return out, float64(slow) / float64(max(all, 1))
}

// residues returns samples minus their expected values, for at most 2,000 evenly spread transfers.
func residues(of []timed, expected []float64) []float64 {
	var out []float64
	every := 1 + len(of)/2000
	for i := 0; i < len(of); i += every {
		for _, y := range of[i].each {
			out = append(out, y-expected[i])
		}
	}
	return out
}

// `expected` returns the value of a transfer given the steady losses of its components.
func (j *judgement) expected(t timed) float64 {
	if t.Kind == XGMI {
		return j.links.raw[t.Pair.A.Node][j.links.link(t.Pair.A.GPU, t.Pair.B.GPU)]
	}
	return max(j.net.ends.of[j.net.at(t.Pair.A)].loss, j.net.ends.of[j.net.at(t.Pair.B)].loss)
}

// slowRounds returns the transfers with only slow samples.
func (j *judgement) slowRounds(kind Kind) []mark {
	all, _ := j.marks(kind)
	return slice.Where(all, func(m mark) bool { return m.full })
}

// `intermittent` finds components that are slow in some rounds.
func (j *judgement) intermittent(v *Verdict) {
	if j.net.known && !slices.ContainsFunc(j.Timings, func(t Timing) bool { return t.Kind == Network && len(t.Seconds) >= minSamples }) {
		v.Unchecked = append(v.Unchecked, fmt.Sprintf("faults that come and go: they need at least %d samples of each transfer", minSamples))
		return
	}
	switch {
	case j.net.known && v.doubted():
		v.Unchecked = append(v.Unchecked, "faults that come and go: what they are compared with is in doubt")
	case j.net.known:
		j.recurrent(v)
	}
	if j.links.known {
		j.slowPasses(v)
	}
}

// `recurrent` names nodes and NICs that are slow in more rounds than chance explains, and asks about the
// remaining slow rounds.
func (j *judgement) recurrent(v *Verdict) {
	marks, rate := j.marks(Network)
	marks = slices.DeleteFunc(marks, func(m mark) bool { return explained(v, m.Pair.A) || explained(v, m.Pair.B) })
	for _, level := range []int{0, 1, 2} {
		wanted := func(m mark) bool { return m.full && level == 0 || level > 0 && m.slow >= level }
		floor := 0.0
		if level == 0 {
			floor = math.Pow(rate, minSamples)
		}
		for {
			f, ok := j.recurs(slice.Where(marks, wanted), floor)
			if !ok {
				break
			}
			v.Findings = append(v.Findings, f)
			marks = slices.DeleteFunc(marks, func(m mark) bool { return m.of(f.Component) })
		}
	}
	j.lone(v, slice.Where(marks, func(m mark) bool { return m.full }))
}

// `has` reports whether a place belongs to the component, a node or a NIC.
func (c Component) has(p Place) bool { return p.Node == c.Node && (c.Part == Node || p.GPU == c.A) }

// `of` reports whether one end of the transfer belongs to a node or NIC.
func (m mark) of(c Component) bool { return c.has(m.Pair.A) || c.has(m.Pair.B) }

// `recurs` returns the node or NIC whose slow rounds are the least probable by chance. ok is false if chance
// explains all slow rounds.
func (j *judgement) recurs(marks []mark, floor float64) (best Slow, ok bool) {
	lowest := chance
	for _, c := range j.repeated(marks) {
		rounds, partners, losses := j.hits(c, marks)
		if len(rounds) < 2 || len(partners) < 2 {
			continue
		}
		others := slice.Count(marks, func(m mark) bool { return !m.of(c) })
		q := max(floor, float64(others)/float64(len(j.net.kindTimes.of)))
		of := j.net.rounds
		if p := stat.BinomialTail(len(rounds), of, min(q, 1)) * float64(len(j.net.ends.of)); p < lowest {
			lowest, ok = p, true
			best = Slow{
				Component: c, Intermittent: true, Lost: share(median(losses)),
				Confidence: confidence(len(partners), len(partners)),
				Reasons:    []string{fmt.Sprintf("slow in %d of %d rounds, with %d different partners", len(rounds), of, len(partners))},
			}
		}
	}
	return best, ok
}

// `repeated` returns the nodes and NICs with at least two marks, nodes first.
func (j *judgement) repeated(marks []mark) []Component {
	count := map[Component]int{}
	for _, m := range marks {
		for _, p := range []Place{m.Pair.A, m.Pair.B} {
			count[Component{Part: Node, Node: p.Node}]++
			count[Component{Part: Rail, Node: p.Node, A: p.GPU}]++
		}
	}
	var out []Component
	for c, n := range count {
		if n > 1 && (c.Part == Rail || j.Fleet.GPUs > 1) {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b Component) int { return cmp.Or(cmp.Compare(a.Part, b.Part), a.compare(b)) })
	return out
}

// hits returns the rounds in which a component is slow, its partners in these rounds, and the losses. A
// node is slow in a round if most of its rails are.
func (j *judgement) hits(c Component, marks []mark) (rounds, partners map[int]bool, losses []float64) {
	rounds, partners = map[int]bool{}, map[int]bool{}
	order, of := slice.Group(slice.Where(marks, func(m mark) bool { return m.of(c) }), func(m mark) int { return m.Round })
	for _, round := range order {
		if c.Part == Node && float64(len(of[round])) < most*float64(j.Fleet.GPUs) {
			continue
		}
		rounds[round] = true
		for _, m := range of[round] {
			losses = append(losses, m.loss)
			if c.has(m.Pair.A) {
				partners[m.Pair.B.Node] = true
			} else {
				partners[m.Pair.A.Node] = true
			}
		}
	}
	return rounds, partners, losses
}

// `lone` asks about slow rounds that no component explains.
func (j *judgement) lone(v *Verdict, marks []mark) {
	type meeting struct{ round, a, b int }
	order, by := slice.Group(marks, func(m mark) meeting { return meeting{m.Round, m.Pair.A.Node, m.Pair.B.Node} })
	if len(order) > fewRounds {
		v.Unchecked = append(v.Unchecked, fmt.Sprintf("faults that come and go: %d transfers of %d were slow for a round, all over the fleet; rarer ones are not found", len(marks), len(j.net.kindTimes.of)))
		return
	}
	for _, at := range order {
		q := Question{What: fmt.Sprintf("slow in one round of %d", j.net.rounds), Next: "run again with more rounds"}
		for _, m := range by[at] {
			q.Lost = max(q.Lost, share(m.loss))
			if len(by[at]) == 1 || float64(len(by[at])) < most*float64(j.Fleet.GPUs) {
				q.Candidates = append(q.Candidates, Component{Part: Rail, Node: at.a, A: m.Pair.A.GPU}, Component{Part: Rail, Node: at.b, A: m.Pair.B.GPU})
			}
		}
		if len(q.Candidates) == 0 {
			q.Candidates = []Component{{Part: Node, Node: at.a}, {Part: Node, Node: at.b}}
		}
		v.Questions = append(v.Questions, q)
	}
}

// slowPasses names links that are slow in some passes over the nodes.
func (j *judgement) slowPasses(v *Verdict) {
	by := map[Component][]mark{}
	for _, m := range j.slowRounds(XGMI) {
		if explainedLink(v, m.Pair) {
			continue
		}
		c := Component{Part: Link, Node: m.Pair.A.Node, A: min(m.Pair.A.GPU, m.Pair.B.GPU), B: max(m.Pair.A.GPU, m.Pair.B.GPU)}
		by[c] = append(by[c], m)
	}
	if len(by) > fewRounds {
		v.Unchecked = append(v.Unchecked, fmt.Sprintf("links that come and go: %d links were slow in a pass, all over the fleet; rarer ones are not found", len(by)))
		return
	}
	for _, c := range slices.SortedFunc(maps.Keys(by), Component.compare) {
		_, all := j.links.passes(c.Node, j.links.link(c.A, c.B))
		losses := slice.Map(by[c], func(m mark) float64 { return m.loss })
		what := fmt.Sprintf("slow in %d of %d passes", len(losses), all)
		if len(losses) < 2 {
			v.Questions = append(v.Questions, Question{What: what, Candidates: []Component{c}, Lost: share(median(losses)), Next: "run again with more passes"})
			continue
		}
		v.Findings = append(v.Findings, Slow{
			Component: c, Intermittent: true, Lost: share(median(losses)),
			Confidence: confidence(len(losses), len(losses)), Reasons: []string{what},
		})
	}
}
