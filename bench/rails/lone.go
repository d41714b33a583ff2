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
}

// pairs names pairs that are slow though both ends are not.
func (j *matrixed) pairs(v *Verdict) {
	all := j.lone()
	switch {
	case len(all) > fewRounds && len(j.Values) >= manyValues && float64(len(all)) <= lonePart*float64(len(j.Values)):
		v.Unchecked = append(v.Unchecked, fmt.Sprintf("single pairs: %d of %d values are slow by themselves, and share no end; measure these pairs again", len(all), len(j.Values)))
		return
	case len(all) > fewRounds:
		q := Question{What: fmt.Sprintf("%d pairs are slow that share no end", len(all)), Next: "measure these pairs again"}
		for _, p := range all[:min(len(all), 10)] {
			q.Candidates, q.Lost = append(q.Candidates, p.Component), max(q.Lost, share(p.loss))
		}
		v.Questions = append(v.Questions, q)
		return
	}
	for _, p := range all {
		f := Finding{Component: p.Component, Lost: share(p.loss), SlowRounds: p.slow, Rounds: p.values, Confidence: 0.6 + 0.1*float64(min(p.slow, 3)-1)}
		f.Reasons = []string{fmt.Sprintf("slow in %d of %d values; neither end is slow in its other pairs", p.slow, p.values)}
		if p.values == 1 {
			f.Reasons = append(f.Reasons, "one value: measure the pair again")
		}
		v.Findings = append(v.Findings, f)
	}
}

// lone are the pairs that are slow by themselves, the worst first.
func (j *matrixed) lone() []lone {
	residues := make([]float64, len(j.edges))
	for i, e := range j.edges {
		residues[i] = e.y - max(j.est.of[e.a].loss, j.est.of[e.b].loss)
	}
	limit := max(pairLoss, pairSigmas*deviation(residues))
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
		out = append(out, lone{c, residues[i], 1, 0})
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
