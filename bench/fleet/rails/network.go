package rails

import (
	"fmt"
	"maps"
	"slices"

	"zbench/bench/slice"
)

// network is what the rounds between nodes say of NICs: end node·GPUs + rail.
type network struct {
	Fleet
	kindTimes
	ends
	known bool
}

func (n *network) at(p Place) int { return p.Node*n.GPUs + p.GPU }

func newNetwork(f Fleet, timings []Timing) *network {
	n := &network{Fleet: f, kindTimes: tabulate(timings, Network)}
	edges := slice.Map(n.kindTimes.of, func(t timed) edge { return edge{n.at(t.Pair.A), n.at(t.Pair.B), t.y} })
	n.ends = solve(f.Nodes*f.GPUs, edges)
	timed := slice.Count(n.ends.of, func(e end) bool { return e.all > 0 })
	n.known = len(edges) >= minReference && timed > 2 // a pair alone would be its own reference
	return n
}

// surely is the loss that is named whatever the noise. What slows all rails of one node of three
// shows in the difference of rounds alone.
func (n *network) surely() float64 {
	limit := max(n.limit()+surely*n.sigma, sigmas*n.se) // the deviation of few NICs is uncertain itself
	if n.Nodes == 3 {
		limit = max(limit, leastMeeting)
	}
	return limit
}

// leaves finds leaf switches: groups of nodes of one rail of which most are slow.
// It also returns the loss of each NIC that its leaf explains.
func (n *network) leaves() (found []Slow, owed []float64) {
	owed = make([]float64, n.Nodes*n.GPUs)
	for rail := range n.GPUs {
		groups := map[int][]int{} // by leaf; −1 is all of the nodes, where no leaf is known
		for node := range n.Nodes {
			groups[n.Leaf(rail, node)] = append(groups[n.Leaf(rail, node)], node)
		}
		for _, leaf := range slices.Sorted(maps.Keys(groups)) {
			nodes := groups[leaf]
			var losses []float64
			slow := 0
			for _, node := range nodes {
				at := n.at(Place{node, rail})
				if n.ends.of[at].all == 0 {
					continue
				}
				losses = append(losses, n.ends.of[at].loss)
				if n.slow(at) {
					slow++
				}
			}
			if len(losses) < 4 || float64(slow) < most*float64(len(losses)) {
				continue
			}
			loss := median(losses)
			for _, node := range nodes {
				owed[n.at(Place{node, rail})] = loss
			}
			found = append(found, Slow{
				Component: Component{Part: Leaf, A: rail, B: leaf}, Lost: share(loss), Nodes: nodes,
				Confidence: confidence(slow, len(losses)),
				Reasons:    []string{fmt.Sprintf("%d of %d nodes on it are slow on rail %d", slow, len(losses), rail)},
			})
		}
	}
	return found, owed
}

// slowRails are the rails of a node that are slower than their leaf explains.
func (n *network) slowRails(node int, owed []float64) (rails []int, measured int) {
	for rail := range n.GPUs {
		at := n.at(Place{node, rail})
		e := n.ends.of[at]
		if e.all == 0 {
			continue
		}
		measured++
		if owed[at] > 0 && e.loss-owed[at] > n.limit() || owed[at] == 0 && n.sure(at) {
			rails = append(rails, rail)
		}
	}
	return rails, measured
}

// partners counts the transfers of a node's rails with partners that are not slow,
// and those of them that are slow.
func (n *network) partners(node int, rails []int) (agree, of int) {
	for _, rail := range rails {
		e := n.ends.of[n.at(Place{node, rail})]
		agree, of = agree+e.agree, of+e.clear
	}
	return agree, of
}

// loss is the median loss of a node's rails.
func (n *network) loss(node int, rails []int) float64 {
	return median(slice.Map(rails, func(rail int) float64 { return n.ends.of[n.at(Place{node, rail})].loss }))
}

// hidden are questions about NICs that only ever met slow ones.
func (n *network) hidden(owed []float64) []Question {
	var out []Question
	for rail := range n.GPUs {
		var candidates []Component
		worst := 0.0
		for node := range n.Nodes {
			at := n.at(Place{node, rail})
			if e := n.ends.of[at]; owed[at] == 0 && n.slow(at) && e.clear == 0 {
				candidates = append(candidates, Component{Part: Rail, Node: node, A: rail})
				worst = max(worst, e.loss)
			}
		}
		if len(candidates) > 0 {
			out = append(out, Question{
				What:       fmt.Sprintf("rail %d is slow between nodes that were only timed with each other: a NIC of theirs, or their leaf switch", rail),
				Candidates: candidates, Lost: share(worst), Next: "time each of these nodes with others",
			})
		}
	}
	return out
}

// suspects are the nodes with a NIC that may be slow.
func (n *network) suspects() []int {
	var out []int
	cut := max(suspectLoss, suspectSigmas*n.sigma)
	for i, e := range n.ends.of {
		if node := i / max(n.GPUs, 1); e.all > 0 && e.loss > cut && !slices.Contains(out, node) {
			out = append(out, node)
		}
	}
	return out
}
