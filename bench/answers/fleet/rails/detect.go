package rails

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"zbench/bench/base/slice"
)

// Judge decides which components are slow.
func Judge(d Data) *Verdict {
	j := newJudgement(d)
	v := &Verdict{}
	j.references(v)
	if !d.Given || !j.between(v) {
		j.parts(v)
	}
	v.Ranking = j.ranking() // after the reference of groups is known
	j.compared(v)
	j.rivals(v)
	v.finish()
	return v
}

// parts collects the slow parts from every detector.
func (j *judgement) parts(v *Verdict) {
	j.leaves(v)
	for node := range j.Fleet.Nodes {
		j.ofNode(v, node)
	}
	j.hidden(v)
	j.late(v)
	j.rings(v)
	j.unsteady(v)
	if j.Given && j.net.known {
		j.pairs(v)
	}
	j.groups(v)
	j.intermittent(v)
	j.alone(v)
	j.profile(v)
}

// ranking returns all ends and links, the worst first.
func (j *judgement) ranking() []Ranked {
	var out []Ranked
	for node := range j.Fleet.Nodes {
		for rail := range j.Fleet.GPUs {
			if e := j.net.joined(Place{node, rail}, anySide); e.all > 0 {
				out = append(out, Ranked{j.end(Place{node, rail}), share(e.loss), e.agree, e.clear})
			}
		}
		if !j.links.known {
			continue
		}
		for a := range j.Fleet.GPUs {
			for b := a + 1; b < j.Fleet.GPUs; b++ {
				at := j.links.link(a, b)
				if loss := j.links.loss(node, at); !math.IsNaN(loss) {
					slow, all := j.links.passes(node, at)
					out = append(out, Ranked{Component{Part: Link, Node: node, A: a, B: b}, share(loss), slow, all})
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Ranked) int { return cmp.Compare(b.Lost, a.Lost) })
	return out
}

// judgement joins the results of all kinds of rounds.
type judgement struct {
	Data
	net   *network
	links *xgmi
	// `owed` is the part of each NIC's loss that its leaf switch explains, 0 if the leaf is not slow.
	owed []float64
	// nodes are the nodes with slow samples beyond chance, which are removed from Timings. `next` is
	// the probability that the next node's slow samples are chance.
	nodes []unsteady
	next  float64
	// losses are the losses of each link and NIC, to find rivals.
	losses map[Component]float64
}

func newJudgement(d Data) *judgement {
	j := &judgement{Data: d}
	j.nodes, j.Timings, j.next = steady(d)
	j.net = newNetwork(j.Data)
	if j.links = newXGMI(d.Fleet, j.Timings); d.Given {
		j.links = newXGMI(Fleet{}, nil) // the ends are GPUs themselves
	}
	return j
}

// suspicion lists the measurements that a plan repeats.
type suspicion struct {
	nodes []int
	// links are the pairs of GPUs whose link is suspect on some node. allLinks is true if single links are
	// not enough: several links of a GPU are suspect, or rounds are suspect but no link is.
	links        [][2]int
	allLinks     bool
	rings        bool
	intermittent bool
}

func suspects(d Data) suspicion {
	j := newJudgement(d)
	var v Verdict
	j.leaves(&v)
	for node := range d.Fleet.Nodes {
		j.ofNode(&v, node)
	}
	j.rings(&v)
	s := suspicion{nodes: j.net.suspects(), rings: slices.ContainsFunc(v.Questions, func(q Question) bool { return q.ring })}
	unsteady := j.next < suspectChance
	s.intermittent = unsteady || len(j.slowRounds(Network)) > 0
	s.links, s.allLinks = j.links.suspects()
	s.allLinks = s.allLinks || unsteady || len(j.slowRounds(XGMI)) > 0 && len(s.links) == 0
	return s
}

// references sets the verdict's reference and limits, and lists what was not judged.
func (j *judgement) references(v *Verdict) {
	if j.Given {
		j.referencesOfGiven(v)
		return
	}
	fleet := false
	if j.net.known {
		fleet, v.NetworkLimit = true, share(j.net.surely())
	} else if j.Fleet.Nodes > 1 {
		v.Unchecked = append(v.Unchecked, fmt.Sprintf("rails: %d transfers between nodes make no reference; %d do", len(j.net.kindTimes.of), minReference))
	}
	if j.links.known {
		fleet, v.LinkLimit = true, share(j.links.surely())
	} else if j.Fleet.GPUs > 1 {
		v.Unchecked = append(v.Unchecked, fmt.Sprintf("xGMI: %d transfers within nodes make no reference; %d do", len(j.links.of), minReference))
	}
	if fleet {
		v.Reference = "the fleet's median"
	}
	if j.Fleet.Nodes == 1 {
		v.Unchecked = append(v.Unchecked, "NICs, rails and leaf switches: one node sends nothing between nodes; measure two or more")
	}
	switch {
	case j.Profile != nil:
	case j.Fleet.Nodes == 1:
		v.Unchecked = append(v.Unchecked, "what slows all links of the node alike: there is no other node to compare with; give --profile")
	case j.Fleet.Nodes == 2:
		v.Unchecked = append(v.Unchecked, "what slows all rails between the two nodes alike: there is no third node to compare with; give --profile")
	}
	if j.Profile != nil {
		if v.Reference != "" {
			v.Reference += " and "
		}
		v.Reference += j.Profile.Source
	}
}

// `leaves` finds slow leaf switches.
func (j *judgement) leaves(v *Verdict) {
	if !j.net.known || j.Given {
		j.owed = make([]float64, j.Fleet.Nodes*j.Fleet.GPUs)
		return
	}
	found, owed := j.net.leaves()
	j.owed = owed
	v.Findings = append(v.Findings, found...)
}

// ofNode decides which component of a node explains its slowness: the node, a GPU, its rails or its
// links.
func (j *judgement) ofNode(v *Verdict, node int) {
	var rails []int
	measured := 0
	if j.net.known {
		rails, measured = j.net.slowRails(node, j.owed)
	}
	var in inNode
	all := false
	if j.links.known {
		in, all = j.links.examine(node), j.links.slowNode(node)
	}
	switch {
	case all, measured > 1 && float64(len(rails)) >= most*float64(measured), len(in.gpus) > 2 && float64(len(in.gpus)) >= most*float64(j.Fleet.GPUs):
		v.Findings = append(v.Findings, j.node(node, rails, measured, all))
		return
	case len(rails) > 3:
		q := Question{
			What: fmt.Sprintf("%d of %d %s of one node are slow", len(rails), measured, j.called()), Lost: share(j.net.loss(node, rails)),
			Next: "compare the PCIe links and NUMA nodes of its NICs",
		}
		if j.Fleet.Nodes > 1 { // in a fleet of one node this candidate would say nothing
			q.Candidates = append(q.Candidates, Component{Part: Node, Node: node})
		}
		for _, rail := range rails {
			q.Candidates = append(q.Candidates, j.end(Place{node, rail}))
		}
		v.Questions = append(v.Questions, q)
		rails = nil
	}
	rails = j.gpus(v, node, in, rails)
	for _, rail := range rails {
		j.rail(v, node, rail)
	}
	j.slowLinks(v, node, in)
}

// node returns the finding of a slow node.
func (j *judgement) node(node int, rails []int, measured int, links bool) Slow {
	f := Slow{Component: Component{Part: Node, Node: node}, Confidence: 0.9}
	if len(rails) > 0 {
		agree, of := j.net.partners(node, rails)
		f.Lost, f.Confidence = share(j.net.loss(node, rails)), confidence(agree, of)
		f.Reasons = append(f.Reasons, fmt.Sprintf("%d of its %d %s are slow, in %d of %d transfers whose other end is not slow", len(rails), measured, j.called(), agree, of))
	}
	if links {
		f.Lost = max(f.Lost, share(j.links.node[node]))
		f.Reasons = append(f.Reasons, fmt.Sprintf("its xGMI links are %.0f %% below the fleet's median", 100*share(j.links.node[node])))
	}
	return f
}

// gpus names slow GPUs, and returns the rails that they do not explain.
func (j *judgement) gpus(v *Verdict, node int, in inNode, rails []int) []int {
	for gpu := range j.Fleet.GPUs {
		loss, slow := in.gpus[gpu]
		if !slow {
			continue
		}
		var links [][2]int
		for b := range j.Fleet.GPUs {
			if b != gpu && j.links.slow(node, j.links.link(gpu, b)) {
				links = append(links, [2]int{gpu, b})
			}
		}
		f := Slow{
			Component: Component{Part: GPU, Node: node, A: gpu}, Lost: share(loss),
			Confidence: confidence(len(links), j.Fleet.GPUs-1), Reasons: []string{j.links.reason(node, links)},
		}
		if i := slices.Index(rails, gpu); i >= 0 {
			rails = slices.Delete(slices.Clone(rails), i, i+1)
			f.Reasons = append(f.Reasons, fmt.Sprintf("its rail is %.0f %% below, too", 100*share(j.net.loss(node, []int{gpu}))))
			agree, of := j.net.partners(node, []int{gpu})
			f.Confidence = max(f.Confidence, confidence(agree+len(links), of+j.Fleet.GPUs-1))
		}
		v.Findings = append(v.Findings, f)
	}
	return rails
}

// rail names a slow NIC; if GPUs were not timed within nodes, the cause may be the GPU.
func (j *judgement) rail(v *Verdict, node, rail int) {
	agree, of := j.net.partners(node, []int{rail})
	lost := share(j.net.loss(node, []int{rail}))
	p := Place{node, rail}
	reason, named := fmt.Sprintf("slow in %d of %d transfers whose other end is not slow", agree, of), j.end(p)
	if sides := j.net.sides(p); j.net.directed && j.net.slow(sides[0]) != j.net.slow(sides[1]) {
		reason += ", only " + map[bool]string{true: "sending", false: "receiving"}[j.net.slow(sides[0])]
	}
	if float64(agree) < most*float64(of) { // a fast pair clears both ends
		v.partly(named, lost, reason)
		return
	}
	if j.Fleet.GPUs > 1 && !j.links.known && !j.Given {
		v.Questions = append(v.Questions, Question{
			What: reason, Lost: lost, Candidates: []Component{named, {Part: GPU, Node: node, A: rail}},
			Next: "time the GPU's xGMI links: a slow GPU slows them, too",
		})
		return
	}
	f := Slow{Component: named, Lost: lost, Confidence: confidence(agree, of), Reasons: []string{reason}}
	if j.links.known {
		f.Reasons = append(f.Reasons, "the GPU's xGMI links are not slow")
	}
	v.Findings = append(v.Findings, f)
}

// `called` returns the word for a node's ends.
func (d Data) called() string { return map[bool]string{false: "rails", true: "GPUs"}[d.Given] }

// `partly` adds an end to the question about ends that are slow in some of their transfers and fast in other
// transfers.
func (v *Verdict) partly(c Component, lost float64, reason string) {
	i := slices.IndexFunc(v.Questions, func(q Question) bool { return q.partly })
	if i < 0 {
		v.Questions = append(v.Questions, Question{What: reason, Lost: lost, Candidates: []Component{c}, Next: "measure these pairs again", partly: true})
		return
	}
	q := &v.Questions[i]
	q.Candidates, q.Lost = append(q.Candidates, c), max(q.Lost, lost)
	q.What = fmt.Sprintf("%d ends are slow in some of their transfers and fast in others", len(q.Candidates))
}

// slowLinks names the links that no GPU explains.
func (j *judgement) slowLinks(v *Verdict, node int, in inNode) {
	if in.unconfirmed && len(in.links) == 0 && len(in.gpus) == 0 {
		v.Questions = append(v.Questions, j.unconfirmed(node))
	}
	if len(in.doubtful) > 0 {
		q := Question{What: "more links of a GPU are slow than two, fewer than all", Next: "time the links again; look at the GPU's xGMI error counters"}
		for _, gpu := range in.doubtful {
			q.Candidates = append(q.Candidates, Component{Part: GPU, Node: node, A: gpu})
		}
		for _, l := range in.links {
			q.Candidates = append(q.Candidates, Component{Part: Link, Node: node, A: l[0], B: l[1]})
			q.Lost = max(q.Lost, share(j.links.all[node][j.links.link(l[0], l[1])]))
		}
		v.Questions = append(v.Questions, q)
		return
	}
	for _, l := range in.links {
		at := j.links.link(l[0], l[1])
		agree, all := j.links.passes(node, at)
		v.Findings = append(v.Findings, Slow{
			Component: Component{Part: Link, Node: node, A: l[0], B: l[1]}, Lost: share(j.links.all[node][at]),
			Confidence: confidence(agree+j.Fleet.GPUs-2, all+j.Fleet.GPUs-2),
			Reasons:    []string{fmt.Sprintf("slow in %d of %d passes; other links of its GPUs are not", agree, all)},
		})
	}
}

// `unconfirmed` returns the question about links that were slow in the only pass.
func (j *judgement) unconfirmed(node int) Question {
	q := Question{What: "slow in the only pass over its node's links", Next: "time the links again"}
	for a := range j.Fleet.GPUs {
		for b := a + 1; b < j.Fleet.GPUs; b++ {
			if at := j.links.link(a, b); j.links.slow(node, at) {
				q.Candidates = append(q.Candidates, Component{Part: Link, Node: node, A: a, B: b})
				q.Lost = max(q.Lost, share(j.links.all[node][at]))
			}
		}
	}
	return q
}

// slowRings returns the losses of the rails whose rings are slow in all of their rounds.
func slowRings(timings []Timing) map[int]float64 {
	t := tabulate(timings, level, Rings)
	if len(t.of) < minReference {
		return nil
	}
	ys := slice.Map(t.of, func(x timed) float64 { return x.y })
	limit := max(leastLoss, sigmas*Deviation(ys))
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

// rings compares the rails' rings. A slow ring confirms the findings on its rail. Without such
// findings, the rail is slow only while all nodes use it.
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
			q := Question{
				What: fmt.Sprintf("rail %d is slow only in the ring of all nodes", rail), Lost: share(slow[rail]), ring: true,
				Candidates: []Component{{Part: Leaf, A: rail, B: -1}}, Next: "run again; look at the pause frames of the rail's switches",
			}
			for node := range j.Fleet.Nodes { // some NIC may be just below its limit
				if j.net.ends.of[j.net.at(Place{node, rail})].loss > likely*slow[rail] {
					q.Candidates = append(q.Candidates, Component{Part: Rail, Node: node, A: rail})
				}
			}
			v.Questions = append(v.Questions, q)
		}
	}
}

// profile compares the fleet with reference figures.
func (j *judgement) profile(v *Verdict) {
	if j.Profile == nil {
		return
	}
	for _, one := range []struct {
		kind   Kind
		good   float64
		called string
	}{{Network, j.Profile.Network, "transfers between nodes"}, {XGMI, j.Profile.XGMI, "transfers over xGMI"}} {
		seconds := timedOf(j.Timings, one.kind)
		if one.good <= 0 || len(seconds) == 0 {
			continue
		}
		v.profiled = true
		if lost := 1 - one.good/median(seconds); lost > 2*share(leastLoss) {
			v.Questions = append(v.Questions, Question{
				What: fmt.Sprintf("the median of %s is %.0f %% below %s", one.called, 100*lost, j.Profile.Source), Lost: lost,
				Next: "compare drivers, firmware and settings with those of the source: most of the fleet is slow",
			})
		}
	}
}

// `explained` reports whether a named steady fault accounts for events at a place.
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

// explainedLink reports whether a named fault accounts for a slow link: a fault of its node, of one of its
// GPUs, or of the link.
func explainedLink(v *Verdict, p Pair) bool {
	return slices.ContainsFunc(v.Findings, func(f Slow) bool {
		c := f.Component
		return c.Node == p.A.Node && (c.Part == Node || c.Part == GPU && (c.A == p.A.GPU || c.A == p.B.GPU) ||
			c.Part == Link && c.A == min(p.A.GPU, p.B.GPU) && c.B == max(p.A.GPU, p.B.GPU))
	})
}
