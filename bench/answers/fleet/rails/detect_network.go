package rails

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"zbench/bench/base/slice"
)

// network holds the results of transfers for their ends. The ends are NICs, and only transfers between
// nodes count. If the pairs are given, the ends are nodes or GPUs, and transfers within nodes count, too.
type network struct {
	Fleet
	kindTimes
	ends
	// edges are the transfers in the order of the times. If most given pairs have both directions
	// (directed), each end has two indices: one as a sender and, after all senders, one as a receiver.
	edges           []edge
	given, directed bool
	// `timed` is the number of ends with a transfer.
	timed int
	known bool
}

// `at` returns the index of an end.
func (n *network) at(p Place) int { return p.Node*n.GPUs + p.GPU }

// sides returns the indices of an end's estimates: one index, or two for sending and receiving.
func (n *network) sides(p Place) []int {
	if n.directed {
		return []int{n.at(p), n.at(p) + n.Nodes*n.GPUs}
	}
	return []int{n.at(p)}
}

// `joined` merges the chosen sides of an end. It takes the larger loss, and the transfers of both sides.
func (n *network) joined(p Place, wanted func(side int) bool) (out end) {
	for _, at := range n.sides(p) {
		if e := n.ends.of[at]; e.all > 0 && wanted(at) {
			out = end{max(out.loss, e.loss), out.clear + e.clear, out.agree + e.agree, out.all + e.all}
		}
	}
	return out
}

func anySide(int) bool { return true }

func newNetwork(d Data) *network {
	n := &network{Fleet: d.Fleet, given: d.Given, directed: d.Given && d.bothWays(), kindTimes: tabulate(d.Timings, level, Network)}
	receivers := 0
	if d.Given {
		n.kindTimes = tabulate(d.Timings, func(ys []float64, _ float64) float64 { return median(ys) }, Network, XGMI)
	}
	if n.directed {
		receivers = n.Nodes * n.GPUs
	}
	n.edges = slice.Map(n.kindTimes.of, func(t timed) edge { return edge{n.at(t.Pair.A), n.at(t.Pair.B) + receivers, t.y} })
	n.ends = solve(n.Nodes*n.GPUs+receivers, n.edges)
	for i := range n.Nodes * n.GPUs {
		if n.joined(Place{i / n.GPUs, i % n.GPUs}, anySide).all > 0 {
			n.timed++
		}
	}
	n.known = len(n.edges) >= minReference && n.timed > 2 // a single pair would be its own reference
	return n
}

// `surely` returns the smallest loss, as a logarithm, that is always named in spite of noise. The deviation
// of few given ends is itself uncertain and is therefore raised. In a fleet of three nodes, a node whose
// rails are all slow shows only in the differences between rounds, so the limit is at least leastMeeting.
func (n *network) surely() float64 {
	sigma := max(n.sigma, n.se/math.Sqrt(max(1, float64(2*len(n.edges))/float64(max(1, n.timed)))))
	if n.given {
		sigma *= 1 + 4/float64(n.timed)
	}
	limit := max(leastLoss+surely*sigma, (sigmas+surely)*sigma, sigmas*n.se) // the deviation of few NICs is itself uncertain
	if n.Nodes == 3 && !n.given {
		limit = max(limit, leastMeeting)
	}
	return limit
}

// `leaves` finds slow leaf switches: most nodes of a group that shares a switch are slow on the rail. It also
// returns the part of each NIC's loss that its leaf explains.
func (n *network) leaves() (found []Slow, owed []float64) {
	owed = make([]float64, n.Nodes*n.GPUs)
	for rail := range n.GPUs {
		groups := map[int][]int{} // by leaf; −1 is all nodes if no leaf is known
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

// slowRails returns the rails of a node that are slower than their leaf explains.
func (n *network) slowRails(node int, owed []float64) (rails []int, measured int) {
	for rail := range n.GPUs {
		p := Place{node, rail}
		e, leaf := n.joined(p, anySide), owed[n.at(p)]
		if e.all == 0 {
			continue
		}
		measured++
		if leaf > 0 && e.loss-leaf > n.limit() || leaf == 0 && slices.ContainsFunc(n.sides(p), n.sure) {
			rails = append(rails, rail)
		}
	}
	return rails, measured
}

// partners counts the transfers of a node's rails with healthy partners, and the slow transfers among
// these.
func (n *network) partners(node int, rails []int) (agree, of int) {
	for _, rail := range rails {
		e := n.joined(Place{node, rail}, n.slow)
		agree, of = agree+e.agree, of+e.clear
	}
	return agree, of
}

// loss returns the median loss of a node's rails.
func (n *network) loss(node int, rails []int) float64 {
	return median(slice.Map(rails, func(rail int) float64 { return n.joined(Place{node, rail}, n.slow).loss }))
}

// `hidden` asks about slow ends whose partners are all slow. It asks once per rail, or once for all given
// pairs.
func (j *judgement) hidden(v *Verdict) {
	if j.Given && !j.net.known && len(v.Questions) > 0 {
		return // the function `few` has already asked
	}
	by := map[int]*Question{}
	for node := range j.Fleet.Nodes {
		for rail := range j.Fleet.GPUs {
			p := Place{node, rail}
			alone := func(side int) bool { return j.net.slow(side) && j.net.ends.of[side].clear == 0 }
			if j.owed[j.net.at(p)] > 0 || !slices.ContainsFunc(j.net.sides(p), alone) {
				continue
			}
			q := Question{
				What: fmt.Sprintf("rail %d is slow between nodes that were only timed with each other: a NIC of theirs, or their leaf switch", rail),
				Next: "time each of these nodes with others",
			}
			if j.Given {
				q.What, q.Next, rail = "slow pairs whose ends have no other partner that is not slow", "measure each of them with others", 0
			}
			if by[rail] == nil {
				by[rail] = &q
			}
			by[rail].Candidates, by[rail].Lost = append(by[rail].Candidates, j.end(p)), max(by[rail].Lost, share(j.net.joined(p, alone).loss))
		}
	}
	for _, rail := range slices.Sorted(maps.Keys(by)) {
		if !j.Given {
			c := by[rail].Candidates[0]
			by[rail].Candidates = append(by[rail].Candidates, Component{Part: Leaf, A: rail, B: j.Fleet.Leaf(rail, c.Node)})
		}
		v.Questions = append(v.Questions, *by[rail])
	}
}

// suspects returns the nodes with a NIC that may be slow.
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
