package rails

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
)

const (
	// Other parts count as sharing a loss if they have at least the share `likely` of it: halfway between
	// none and all of it.
	likely = 0.5
	// Other parts count as not sharing a loss if they have less than the share `hardly` of it.
	hardly = 0.4
	// Another NIC of the rail may be behind the same unknown switch if it has at least the share `alike` of
	// the NIC's loss.
	alike = 0.6
)

// rivals turns a finding into a question if the times fit another component as well, such as a slow GPU and
// its NIC. Near the limit, noise hides some parts of a slow component. Questions get the rivals of their
// candidates as candidates, too.
func (j *judgement) rivals(v *Verdict) {
	if j.Given {
		return // the parts of given ends were not measured
	}
	j.losses = j.partLosses()
	named := v.Findings
	v.Findings, v.rivals = nil, j.rivalsOf
	for _, f := range named {
		others := []Component{}
		if !f.Intermittent {
			others = j.rivalsOf(f.Component, f.loss())
		}
		if len(others) == 0 {
			v.Findings = append(v.Findings, f)
			continue
		}
		v.undecided(f, append(others, f.Component))
	}
	for i := range v.Questions {
		q := &v.Questions[i]
		for _, c := range slices.Clone(q.Candidates) {
			q.Candidates = append(q.Candidates, j.rivalsOf(c, j.losses[c])...)
		}
		q.Candidates = slice.Distinct(q.Candidates)
	}
}

// `undecided` asks which of the candidates is slow. Questions that share a candidate are merged.
func (v *Verdict) undecided(f Slow, candidates []Component) {
	i := slices.IndexFunc(v.Questions, func(q Question) bool {
		return q.undecided && slices.ContainsFunc(q.Candidates, func(c Component) bool { return slices.Contains(candidates, c) })
	})
	if i < 0 {
		i = len(v.Questions)
		v.Questions = append(v.Questions, Question{
			What: "the times fit several components: " + strings.Join(f.Reasons[:min(len(f.Reasons), 1)], ""), Next: "run again with --rounds 20", undecided: true,
		})
	}
	q := &v.Questions[i]
	q.Lost, q.Candidates = max(q.Lost, f.Lost), slice.Distinct(append(q.Candidates, candidates...))
	if i := slices.IndexFunc(q.Candidates, func(c Component) bool { return c.Part == Leaf }); i >= 0 {
		nics := slice.Count(q.Candidates, func(c Component) bool { return c.Part == Rail && c.A == q.Candidates[i].A })
		q.What = fmt.Sprintf("rail %d is slow on %s, which may share a leaf switch with others", q.Candidates[i].A, plain.Count(nics, "node"))
		q.Next = "give the leaf switch of each node (--leaves, or --topo with what lldpctl says); run again with --rounds 20"
	}
}

// partLosses returns the losses of each link and NIC, as logarithms. A link is compared with all links of
// the fleet, as in the gate. A comparison with the node's own links would fail: one slow GPU of three has
// most of these links.
func (j *judgement) partLosses() map[Component]float64 {
	out := map[Component]float64{}
	for i, e := range j.net.ends.of {
		if p := (Place{i / j.Fleet.GPUs, i % j.Fleet.GPUs}); e.all > 0 {
			out[j.end(p)] = e.loss
		}
	}
	all := present(slices.Concat(j.links.whole...))
	if len(all) < 2 {
		return out
	}
	slices.Sort(all)
	reference := all[len(all)-2-(len(all)-1)/2]
	for c, y := range j.wholeLinks {
		out[c] = y - reference
	}
	return out
}

// rivalsOf returns the components that may be slow instead of c, if c seems to have the given loss (a
// logarithm).
func (j *judgement) rivalsOf(c Component, loss float64) (out []Component) {
	node := Component{Part: Node, Node: c.Node}
	gpu := func(number int) Component { return Component{Part: GPU, Node: c.Node, A: number} }
	var wider []Component
	switch c.Part {
	case Link:
		wider = []Component{gpu(c.A), gpu(c.B), node}
	case Rail:
		wider = []Component{gpu(c.A), node}
		out = j.leavesOf(c, loss)
	case GPU:
		wider = []Component{node}
	case Node:
		for g := range j.Fleet.GPUs {
			if j.share(gpu(g), Component{}) > likely*loss && j.share(c, gpu(g)) < hardly*loss {
				out = append(out, gpu(g))
			}
		}
	default: // a leaf has many parts, and paths and ranks have none
	}
	if loss <= 0 {
		return nil
	}
	return append(out, slice.Where(wider, func(w Component) bool { return j.share(w, c) > likely*loss })...)
}

// share returns the loss of the parts of a component that are not parts of component `but`. It is the mean
// of the links' median and the NICs' median; 0 without such parts.
func (j *judgement) share(of, but Component) float64 {
	byPart := map[Part][]float64{}
	add := func(c Component) {
		if loss, known := j.losses[c]; known && of.holds(c) && !but.holds(c) {
			byPart[c.Part] = append(byPart[c.Part], loss)
		}
	}
	for a := range j.Fleet.GPUs {
		add(Component{Part: Rail, Node: of.Node, A: a})
		for b := a + 1; b < j.Fleet.GPUs; b++ {
			add(Component{Part: Link, Node: of.Node, A: a, B: b})
		}
	}
	sum := 0.0
	for _, losses := range byPart {
		sum += median(losses)
	}
	return sum / float64(max(1, len(byPart)))
}

// `holds` reports whether a link or NIC is component c or a part of it.
func (c Component) holds(part Component) bool {
	switch c.Part {
	case Node:
		return part.Node == c.Node
	case GPU:
		return part.Node == c.Node && (part.A == c.A || part.Part == Link && part.B == c.A)
	default:
		return part == c
	}
}

// leavesOf returns the leaf switch that may slow a NIC: most other NICs behind that leaf share the loss. If
// the leaf is unknown, one other NIC of the rail with a similar loss is enough.
func (j *judgement) leavesOf(c Component, loss float64) []Component {
	leaf := j.Fleet.Leaf(c.A, c.Node)
	var others []float64
	for node := range j.Fleet.Nodes {
		if other, known := j.losses[Component{Part: Rail, Node: node, A: c.A}]; known && node != c.Node && j.Fleet.Leaf(c.A, node) == leaf {
			others = append(others, other)
		}
	}
	if len(others) > 0 && (leaf < 0 && slices.Max(others) > alike*loss || median(others) > likely*loss) {
		return []Component{{Part: Leaf, A: c.A, B: leaf}}
	}
	return nil
}
