package rails

import (
	"fmt"
	"math"
	"slices"

	"zbench/bench/base/slice"
)

// xgmi holds the results of the rounds within nodes for xGMI links. Link values are ordered by
// node, and within a node by pair of GPUs: (0,1), (0,2), …
type xgmi struct {
	Fleet
	kindTimes
	// `raw` is the median of each link's rounds. `all` is this median less the parts that are common to links
	// at the same place of the board, and to links of the same node. Both are NaN if the link was not
	// timed.
	raw, all [][]float64
	// `each` holds the values of each link's rounds.
	each [][]float64
	// `whole` is the time of each link's rounds as a logarithm (see settled); NaN if the link was not timed.
	// Only the part that is common to the link's place on the board is subtracted from it.
	whole [][]float64
	// node is each node's own loss, which is subtracted from its links.
	node []float64
	// reference is the level of nodes to which losses are relative. It is 0 (the median node's level) unless
	// the nodes fall into two groups. Then it is the faster group's level.
	reference float64
	// nodeSigma and sigma are the robust deviations of nodes and of links.
	nodeSigma, sigma float64
	known            bool
}

// links returns the number of pairs of GPUs of a node.
func (f Fleet) links() int { return f.GPUs * (f.GPUs - 1) / 2 }

// link returns the index of a pair of GPUs.
func (f Fleet) link(a, b int) int {
	a, b = min(a, b), max(a, b)
	return a*f.GPUs - a*(a+1)/2 + b - a - 1
}

// With manyNodes nodes or more, each pair of GPUs is compared with the same pair on the other nodes. Links
// between different places on a board differ by up to 4 % (TransferBench's all-to-all of MI300X,
// docs/METHOD.md).
const manyNodes = 8

func newXGMI(f Fleet, timings []Timing) *xgmi {
	x := &xgmi{Fleet: f, kindTimes: tabulate(timings, level, XGMI)}
	x.node = make([]float64, f.Nodes)
	x.each = make([][]float64, f.Nodes*f.links())
	whole := make([][]float64, f.Nodes*f.links())
	for _, t := range x.of {
		cell := t.Pair.A.Node*f.links() + f.link(t.Pair.A.GPU, t.Pair.B.GPU)
		x.each[cell], whole[cell] = append(x.each[cell], t.y), append(whole[cell], t.y+t.typical)
	}
	timed := slice.Count(x.each, func(of []float64) bool { return len(of) > 0 })
	x.known = len(x.of) >= minReference && timed > 1 // a single link would be its own reference
	for node := range f.Nodes {
		cells := func(of [][]float64, one func([]float64) float64) []float64 {
			return slice.Map(of[node*f.links():(node+1)*f.links()], one)
		}
		x.raw, x.all, x.whole = append(x.raw, cells(x.each, median)), append(x.all, cells(x.each, median)), append(x.whole, cells(whole, f.settled))
	}
	x.takeOut()
	return x
}

// `settled` returns one time for the rounds of a link; NaN if there are none. With fewer than manyNodes nodes
// it is the median. With manyNodes or more it is the shortest time: among thousands of links, chance slows
// most rounds of a few links, but a slow link is slow in every round.
func (f Fleet) settled(of []float64) float64 {
	if f.Nodes >= manyNodes && len(of) > 0 {
		return slices.Min(of)
	}
	return median(of)
}

// takeOut subtracts from the links the parts common to the same place of the board and to the same
// node.
func (x *xgmi) takeOut() {
	x.takeOutPlaces(x.all)
	x.takeOutPlaces(x.whole)
	for node := range x.Nodes {
		x.node[node] = level(present(x.all[node]), x.se)
	}
	middle := median(present(x.node))
	var all []float64
	for node := range x.Nodes {
		for link := range x.links() {
			x.all[node][link] -= x.node[node]
		}
		all = append(all, present(x.all[node])...)
		x.node[node] -= middle
	}
	x.sigma, x.nodeSigma = Deviation(all), Deviation(present(x.node))
}

// takeOutPlaces subtracts the part common to the same place of the board on many nodes.
func (x *xgmi) takeOutPlaces(rows [][]float64) {
	if x.Nodes < manyNodes {
		return
	}
	for link := range x.links() {
		place := median(present(slice.Map(rows, func(row []float64) float64 { return row[link] })))
		for node := range x.Nodes {
			rows[node][link] -= place
		}
	}
}

// `present` returns the values that are not NaN.
func present(of []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(of), math.IsNaN)
}

func (x *xgmi) limit() float64 { return max(leastLoss, sigmas*x.sigma) }

// `surely` returns the smallest loss, as a logarithm, that is always named or asked about in spite of noise.
// The deviation of few links is itself uncertain, so the error of the samples is used if it is larger.
func (x *xgmi) surely() float64 {
	passes := max(1, len(x.of)/max(1, slice.Count(x.each, func(of []float64) bool { return len(of) > 0 })))
	se := x.se / math.Sqrt(float64(passes))
	return max(x.limit()+surely*max(x.sigma, se), x.groupLimit(), sigmas*se)
}

// `slow` reports whether a link is slow in all passes together.
func (x *xgmi) slow(node, link int) bool { return x.all[node][link] > x.limit() }

// `passes` returns the number of a link's slow rounds and the number of all its rounds.
func (x *xgmi) passes(node, link int) (slow, all int) {
	each := x.each[node*x.links()+link]
	common := x.raw[node][link] - x.all[node][link]
	return slice.Count(each, func(y float64) bool { return y-common > x.limit()/2 }), len(each)
}

// `confirmed` reports whether a link was slow in at least 9 of 10 passes (in all passes if there are five).
// The link must also be slow in the median of the passes after the first. The first pass is left out there,
// because it made the link a suspect.
func (x *xgmi) confirmed(node, link int) bool {
	slow, all := x.passes(node, link)
	common := x.raw[node][link] - x.all[node][link]
	return all >= 2 && 10*slow >= 9*all && median(x.each[node*x.links()+link][1:])-common > x.limit()
}

// slowNode reports whether all of a node's links are slow.
func (x *xgmi) slowNode(node int) bool {
	return x.Nodes > 2 && x.links() > 1 && x.node[node] > max(leastLoss, sigmas*x.nodeSigma)
}

// inNode holds the slow GPUs and links of one node.
type inNode struct {
	// gpus holds the slow GPUs with their losses. links holds the slow links that no slow GPU explains.
	gpus  map[int]float64
	links [][2]int
	// `doubtful` lists the GPUs with some slow links, but too few for a slow GPU.
	doubtful []int
	// `unconfirmed` is true if a slow link was timed only once.
	unconfirmed bool
}

// examine finds the slow GPUs and links of a node. It finds GPUs first, because a slow GPU explains all of
// its links.
func (x *xgmi) examine(node int) inNode {
	out := inNode{gpus: map[int]float64{}}
	slow := func(a, b int) bool {
		l := x.link(a, b)
		if !x.slow(node, l) {
			return false
		}
		if !x.confirmed(node, l) {
			out.unconfirmed = out.unconfirmed || len(x.each[node*x.links()+l]) == 1
			return false
		}
		return true
	}
	for a := range x.GPUs {
		if losses, timed := x.slowOf(node, a, slow); timed >= 2 && float64(len(losses)) >= most*float64(timed) {
			out.gpus[a] = median(losses)
		}
	}
	open := map[int]int{}
	for a := range x.GPUs {
		for b := a + 1; b < x.GPUs; b++ {
			explained := max(out.gpus[a], out.gpus[b])
			if slow(a, b) && x.all[node][x.link(a, b)]-explained > x.limit() {
				out.links = append(out.links, [2]int{a, b})
				open[a]++
				open[b]++
			}
		}
	}
	for a := range x.GPUs {
		if _, named := out.gpus[a]; !named && open[a] > 2 {
			out.doubtful = append(out.doubtful, a)
		}
	}
	return out
}

// slowOf returns the losses of a GPU's slow links, and the number of its timed links.
func (x *xgmi) slowOf(node, a int, slow func(a, b int) bool) (losses []float64, timed int) {
	for b := range x.GPUs {
		if b == a || math.IsNaN(x.all[node][x.link(a, b)]) {
			continue
		}
		timed++
		if slow(a, b) {
			losses = append(losses, x.all[node][x.link(a, b)])
		}
	}
	return losses, timed
}

// suspects returns the pairs of GPUs whose link may be slow on some node. `all` is true if several links of
// one GPU may be slow. The GPU is then suspect.
func (x *xgmi) suspects() (pairs [][2]int, all bool) {
	cut := max(suspectLoss, suspectSigmas*x.sigma)
	for node := range x.Nodes {
		of := make([]int, x.GPUs)
		for a := range x.GPUs {
			for b := a + 1; b < x.GPUs; b++ {
				if !(x.all[node][x.link(a, b)] > cut) {
					continue
				}
				of[a]++
				of[b]++
				all = all || of[a] > 1 || of[b] > 1
				if !slices.Contains(pairs, [2]int{a, b}) {
					pairs = append(pairs, [2]int{a, b})
				}
			}
		}
	}
	return pairs, all
}

// loss returns a link's loss, including the loss of its node.
func (x *xgmi) loss(node, link int) float64 { return x.all[node][link] + x.node[node] - x.reference }

// reason says how many links of a GPU are slow, and by how much.
func (x *xgmi) reason(node int, links [][2]int) string {
	of := slice.Map(links, func(l [2]int) float64 { return share(x.all[node][x.link(l[0], l[1])]) })
	least, most := fmt.Sprintf("%.0f", 100*slices.Min(of)), fmt.Sprintf("%.0f", 100*slices.Max(of))
	if least != most {
		most = least + " to " + most
	}
	return fmt.Sprintf("%d of its links are %s %% below the fleet's median", len(links), most)
}
