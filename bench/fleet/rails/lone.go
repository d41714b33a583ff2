package rails

import (
	"cmp"
	"fmt"
	"slices"
)

// lone is a pair that is slower than its ends explain.
type lone struct {
	Component
	loss float64
	// slow of values are slow.
	slow, values int
	ends         [2]int
}

// pairs names pairs that are slow though both ends are not.
func (j *matrixed) pairs(v *Verdict) {
	all := j.lone()
	switch {
	case len(all) > fewRounds && len(j.Values) >= manyValues && float64(len(all)) <= lonePart*float64(len(j.Values)):
		v.Unchecked = append(v.Unchecked, fmt.Sprintf("single pairs: %d of %d values are slow by themselves; measure these pairs again", len(all), len(j.Values)))
		return
	case len(all) > fewRounds:
		v.Questions = append(v.Questions, j.manyPairs(all))
		return
	}
	for _, p := range all {
		f := Slow{Component: p.Component, Lost: share(p.loss), SlowRounds: p.slow, Rounds: p.values, Confidence: 0.6 + 0.1*float64(min(p.slow, 3)-1)}
		f.Reasons = []string{fmt.Sprintf("slow in %d of %d values; neither end is slow in its other pairs", p.slow, p.values)}
		if p.values == 1 {
			f.Reasons = append(f.Reasons, "one value: measure the pair again")
		}
		v.Findings = append(v.Findings, f)
	}
}

// manyPairs is the question about more pairs than chance makes slow by themselves. Ends that
// several of them share are candidates, too.
func (j *matrixed) manyPairs(all []lone) Question {
	q := Question{Next: "measure these pairs again"}
	shared := map[Component]int{}
	for _, p := range all {
		for _, end := range p.ends {
			shared[j.component(end)]++
		}
		q.Lost = max(q.Lost, share(p.loss))
	}
	for c, n := range shared {
		if n > 1 {
			q.Candidates = append(q.Candidates, c)
		}
	}
	slices.SortFunc(q.Candidates, func(a, b Component) int {
		return cmp.Or(cmp.Compare(shared[b], shared[a]), cmp.Compare(a.Node, b.Node), cmp.Compare(a.A, b.A))
	})
	q.What = fmt.Sprintf("%d pairs are slow beyond what their ends lose in other pairs; they share no end", len(all))
	if n := len(q.Candidates); n > 0 {
		q.What = fmt.Sprintf("%d pairs are slow beyond what their ends lose in other pairs; %d ends are in several of them, one in %d", len(all), n, shared[q.Candidates[0]])
	}
	for _, p := range all {
		q.Candidates = append(q.Candidates, p.Component)
	}
	return q
}

// beyond is what each pair has lost beyond its ends, and the loss from which a pair is slow by
// itself.
func (j *matrixed) beyond() (residues []float64, limit float64) {
	for _, e := range j.edges {
		residues = append(residues, e.y-max(j.est.of[e.a].loss, j.est.of[e.b].loss))
	}
	return residues, max(pairLoss, pairSigmas*deviation(residues))
}

// lone are the pairs that are slow by themselves, the worst first.
func (j *matrixed) lone() []lone {
	residues, limit := j.beyond()
	middle := median(residues)
	var out []lone
	for i, v := range j.Values {
		// An end that shares a slow pair with its only partner takes its loss over.
		// The pair of two slow ends may be slower than either.
		if residues[i]-middle <= limit || j.est.slow(j.edges[i].a) && j.est.slow(j.edges[i].b) {
			continue
		}
		c := j.pair(v)
		if k := slices.IndexFunc(out, func(l lone) bool { return l.Component == c }); k >= 0 {
			out[k].slow, out[k].loss = out[k].slow+1, max(out[k].loss, residues[i])
			continue
		}
		out = append(out, lone{c, residues[i], 1, 0, [2]int{v.From, v.To}})
	}
	for _, v := range j.Values {
		if k := slices.IndexFunc(out, func(l lone) bool { return l.Component == j.pair(v) }); k >= 0 {
			out[k].values++
		}
	}
	slices.SortStableFunc(out, func(a, b lone) int { return cmp.Compare(b.loss, a.loss) })
	return out
}

// pair is two ends as a component: a link within a node, a path between nodes. Peer is
// the other end's node, A and B are the GPUs.
func (m *Matrix) pair(v Value) Component {
	a, b := m.At[min(v.From, v.To)], m.At[max(v.From, v.To)]
	if m.within(v) {
		return Component{Part: Link, Node: a.Node, A: min(a.GPU, b.GPU), B: max(a.GPU, b.GPU)}
	}
	return Component{Part: Path, Node: a.Node, Peer: b.Node, A: max(a.GPU, 0), B: max(b.GPU, 0)}
}
