package rails

import (
	"math/bits"
	"math/rand/v2"
	"slices"
)

// Bounds of a plan.
type Bounds struct {
	// Least is the minimum number of rounds between nodes, rings included. The maximum is the larger of
	// Least and mostRounds. If Least is 0, the plan ends after log₂N rounds if nothing is suspect. More
	// rounds find intermittent faults.
	Least int
	// Passes is the minimum number of passes over the links of every node; 0 means 1.
	Passes int
	// Seed determines the partners.
	Seed uint64
}

const (
	// mostRounds bounds the rounds between nodes unless Bounds.Least is larger.
	mostRounds = 20
	// confirming is the number of rounds between nodes that decide about suspects. The plan queues `batch`
	// of these rounds at a time, each time for a fresh list of suspects.
	confirming = 8
	batch      = 4
	// AllPasses is the number of passes over xGMI if a link is suspect. If Bounds.Passes is at least as
	// large, a plan adds no passes. confirmRings is the number of rounds of rings if a ring is suspect.
	AllPasses    = 5
	confirmRings = 3
	// With fewLinks link timings or more, one pass is enough. Slow samples of one node's links then stand out
	// from the other nodes' samples.
	fewLinks = 24
)

// Plan decides what to time next. Only one caller may use it at a time.
type Plan struct {
	fleet Fleet
	least int
	// `most` bounds the rounds between nodes.
	most  int
	rng   *rand.Rand
	order []int
	// queue holds the next rounds.
	queue []Round
	// `network` counts the rounds between nodes, including rings. `rings` counts only the rings. `passes`
	// counts the passes over xGMI.
	network, rings, passes int
	// `met` holds the pairs of nodes that were timed.
	met map[[2]int]bool
}

// NewPlan begins a plan for a fleet.
func NewPlan(f Fleet, o Bounds) *Plan {
	p := &Plan{fleet: f, least: o.Least, most: max(o.Least, mostRounds), rng: rand.New(rand.NewPCG(o.Seed, 0x7a11)), met: map[[2]int]bool{}}
	p.order = p.rng.Perm(f.Nodes)
	if f.GPUs > 1 {
		for range max(o.Passes, 1) {
			p.xgmi(nil)
		}
	}
	if f.Nodes > 1 {
		p.ring()
		rounds := min(bits.Len(uint(f.Nodes-1)), p.most-1)
		if f.Nodes > 2 {
			rounds = max(rounds, min(3, p.most-1))
		}
		rounds = max(rounds, min(enough(f.Nodes/2*f.GPUs, f.Nodes*(f.Nodes-1)/2*f.GPUs, minReference), p.most-1))
		for i := range rounds {
			p.meet(p.circle(i))
		}
	}
	for links := f.Nodes * f.links(); p.passes < min(enough(links, links, fewLinks), AllPasses); {
		p.xgmi(nil)
	}
	return p
}

// `enough` returns the number of rounds, of `transfers` transfers each, that make `all` transfers. It returns
// 0 if there are too few different transfers to compare.
func enough(transfers, different, all int) int {
	if different < 3 || transfers == 0 { // two transfers alone are no reference, however often they are timed
		return 0
	}
	return (all-1)/transfers + 1
}

// Next returns the next round, given all times so far; it returns false at the end of the plan.
func (p *Plan) Next(seen []Timing) (Round, bool) {
	if len(p.queue) == 0 {
		p.confirm(seen)
	}
	if len(p.queue) == 0 {
		return Round{}, false
	}
	next := p.queue[0]
	p.queue = p.queue[1:]
	return next, true
}

// confirm queues rounds that measure the suspects again.
func (p *Plan) confirm(seen []Timing) {
	if p.fleet.Nodes < 1 {
		return
	}
	s := suspects(Data{Fleet: p.fleet, Timings: seen})
	if s.allLinks {
		s.links = nil
	}
	for (s.allLinks || len(s.links) > 0) && p.passes < AllPasses {
		p.xgmi(s.links)
	}
	for s.rings && p.rings < confirmRings && p.network < p.most {
		p.ring()
	}
	rounds := p.least
	switch {
	case s.intermittent:
		rounds = p.most
	case len(s.nodes) > 0:
		rounds = max(rounds, bits.Len(uint(p.fleet.Nodes-1))+1+confirming)
	}
	for i := 0; i < batch && p.fleet.Nodes > 1 && p.network < min(rounds, p.most); i++ {
		p.meet(p.match(s.nodes))
	}
}

// xgmi queues a pass over the pairs of GPUs of every node. If pairs are given, it queues only the rounds
// that have one of them.
func (p *Plan) xgmi(only [][2]int) {
	p.passes++
	for i := range p.fleet.GPUs + p.fleet.GPUs%2 - 1 {
		wanted := func(x [2]int) bool { return slices.Contains(only, unordered(x[0], x[1])) }
		if only != nil && !slices.ContainsFunc(circle(p.fleet.GPUs, i), wanted) {
			continue
		}
		r := Round{Kind: XGMI}
		for node := range p.fleet.Nodes {
			for _, x := range circle(p.fleet.GPUs, i) {
				r.Pairs = append(r.Pairs, Pair{Place{node, x[0]}, Place{node, x[1]}})
			}
		}
		p.queue = append(p.queue, r)
	}
}

// ring queues a round of one ring per rail.
func (p *Plan) ring() {
	p.rings++
	p.network++
	r := Round{Kind: Rings}
	for rail := range p.fleet.GPUs {
		r.Pairs = append(r.Pairs, Pair{A: Place{GPU: rail}})
	}
	p.queue = append(p.queue, r)
}

// `meet` queues a round of the given pairs of nodes on every rail.
func (p *Plan) meet(nodes [][2]int) {
	r := Round{Kind: Network}
	for _, x := range nodes {
		p.met[unordered(x[0], x[1])] = true
		for rail := range p.fleet.GPUs {
			r.Pairs = append(r.Pairs, Pair{Place{x[0], rail}, Place{x[1], rail}})
		}
	}
	p.network++
	p.queue = append(p.queue, r)
}

// circle returns round i of a tournament of the nodes in the plan's order.
func (p *Plan) circle(i int) [][2]int {
	pairs := circle(p.fleet.Nodes, i)
	for k, x := range pairs {
		pairs[k] = [2]int{p.order[x[0]], p.order[x[1]]}
	}
	return pairs
}

// circle returns round i of a tournament of n participants, by the circle method. In n−1 rounds (n if n is
// odd) each participant meets every other participant once. With an odd n, one participant rests in each
// round.
func circle(n, i int) [][2]int {
	even := n + n%2
	if n < 2 {
		return nil
	}
	i %= even - 1
	var out [][2]int
	add := func(a, b int) {
		if a < n && b < n {
			out = append(out, [2]int{a, b})
		}
	}
	add(i, even-1)
	for k := 1; k < even/2; k++ {
		add((i+k)%(even-1), (i-k+even-1)%(even-1))
	}
	return out
}

// `match` pairs all nodes at random. A suspect gets a healthy node as its partner, if possible a node that it
// has not met.
func (p *Plan) match(suspect []int) [][2]int {
	doubted := make([]bool, p.fleet.Nodes)
	if 3*len(suspect) > p.fleet.Nodes {
		// Most likely a leaf switch is slow. Its nodes would occupy all other nodes, which then could not
		// meet each other.
		suspect = nil
	}
	for _, node := range suspect {
		doubted[node] = true
	}
	free := p.rng.Perm(p.fleet.Nodes)
	slices.SortStableFunc(free, func(a, b int) int { return less(doubted[b], doubted[a]) })
	var out [][2]int
	for len(free) > 1 {
		a := free[0]
		free = free[1:]
		// Search from the end, where the healthy nodes are.
		best := len(free) - 1
		for k, b := range slices.Backward(free) {
			if !p.met[unordered(a, b)] && (!doubted[a] || !doubted[b]) {
				best = k
				break
			}
		}
		out = append(out, [2]int{a, free[best]})
		free = slices.Delete(free, best, best+1)
	}
	return out
}

// `unordered` returns the pair of a and b in ascending order.
func unordered(a, b int) [2]int { return [2]int{min(a, b), max(a, b)} }

// `less` orders false before true.
func less(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
