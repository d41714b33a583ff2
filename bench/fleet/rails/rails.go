// Package rails finds the component that slows a cluster's network: an xGMI link, a
// GPU, a rail (a node's NIC), a node or a leaf switch.
//
// A Plan says which pairs are timed in which round: all pairs of GPUs in every node,
// a ring per rail, then about log₂N rounds of disjoint pairs of nodes on every rail,
// and rounds that confirm suspects. Judge takes these times, or bandwidths of pairs from
// elsewhere (Matrix.Data), and gives a Verdict. Arrivals does the same for the times of a
// running job's collectives.
//
// The model is that of a bottleneck: a transfer is as slow as the slowest component
// on its way. So a component is slow if it is slow with every partner that is not slow
// itself; one fast transfer clears both ends. All comparisons are with the median of
// the round, which removes what a round has in common.
//
// Files: plan_… make and run a plan, input_… read what others have measured, detect_… decide (detect.go calls the
// others), words_… are what people read.
//
// The package judges times alone; bench/fleet/evidence joins counters and other sources. It knows nothing of
// the simulator that its experiments use (docs/EXPERIMENTS.md).
package rails

import (
	"math"
	"slices"
)

// Place is a GPU of a node, and the NIC of its rail.
type Place struct {
	// Node and GPU count from 0. The GPU's rail has the same number.
	Node, GPU int
}

// Fleet is the set of nodes that are compared.
type Fleet struct {
	// Nodes is the number of nodes, GPUs that of GPUs and rails on each.
	Nodes, GPUs int
	// Leaves has the leaf switch of each rail's node: Leaves[rail][node], counted from 0,
	// −1 where it is not known. Nil: no switch is known, and only a rail as a whole is
	// compared.
	Leaves [][]int
}

// Leaf is the leaf switch of a node's rail, −1 where it is not known.
func (f Fleet) Leaf(rail, node int) int {
	if rail < len(f.Leaves) && node < len(f.Leaves[rail]) {
		return f.Leaves[rail][node]
	}
	return -1
}

// Kind is what a round times.
type Kind int

// The kinds of rounds.
const (
	// Network rounds time transfers between equal GPUs of two nodes, in both directions.
	Network Kind = iota
	// XGMI rounds time transfers between two GPUs of a node.
	XGMI
	// Rings rounds time a ring through one GPU of every node, on all rails at once.
	Rings
)

// Pair is the two ends of a transfer. Of a ring A.GPU is the rail; the rest is 0.
type Pair struct{ A, B Place }

// Round is a set of transfers that run at the same time. No GPU is in two of them.
type Round struct {
	Kind  Kind
	Pairs []Pair
}

// Timing is what one pair took in one round.
type Timing struct {
	// Round counts the rounds from 0, of whatever kind.
	Round int
	Kind  Kind
	Pair  Pair
	// Seconds are the samples of this round. Several samples tell a slow round from a
	// slow sample; fewer than minSamples leave intermittent faults unchecked. Samples of the
	// same index in a round are of one launch; 0 is one that was not timed.
	Seconds []float64
	// Waited is by how many seconds end A took longer than end B, the median of the samples:
	// A waited for B. Negative if B waited.
	Waited float64
}

// Timed are the samples that were timed.
func (t Timing) Timed() []float64 {
	return slices.DeleteFunc(slices.Clone(t.Seconds), func(s float64) bool { return !(s > 0) || math.IsInf(s, 1) })
}

// Profile is what good hardware gives, for a fleet that may be slow as a whole.
type Profile struct {
	// Network and XGMI are the seconds of one transfer; 0 is not known.
	Network, XGMI float64
	// Source says where the figures are from.
	Source string
}

// Data is all that is known of a fleet.
type Data struct {
	Fleet   Fleet
	Timings []Timing
	// Profile is optional.
	Profile *Profile
	// Given is true of pairs that others measured: one time each, of each direction its own, and no rounds
	// that confirm a suspect. Round 0 has the pairs between nodes, round 1 those within. Their ends are GPUs,
	// and with the number Whole the node itself.
	Given bool
	Whole int
}

// end is an end of transfers as a component: a NIC, or of given pairs a GPU or a node.
func (d Data) end(p Place) Component {
	switch {
	case !d.Given:
		return Component{Part: Rail, Node: p.Node, A: p.GPU}
	case p.GPU == d.Whole:
		return Component{Part: Node, Node: p.Node}
	}
	return Component{Part: GPU, Node: p.Node, A: p.GPU}
}

// Limits of the method. The experiments of docs/EXPERIMENTS.md set them.
const (
	// leastLoss is the logarithm of the slowdown below which nothing is named: 6 % of
	// the time.
	leastLoss = 0.06
	// suspectLoss is that from which a component is measured again.
	suspectLoss = 0.03
	// sigmas is how many robust standard deviations of its kind a component must be off.
	// There are thousands of components, and the estimate has heavier tails than a normal.
	sigmas = 5.5
	// surely is by how many deviations a loss must exceed the limit to be named whatever the
	// noise: so much is stated beside OK.
	surely = 3
	// suspectSigmas is the same for a suspect.
	suspectSigmas = 4
	// most is the share of a component's parts that must be slow before the whole is.
	most = 0.75
	// minSamples of a round are needed to tell a slow round from slow samples.
	minSamples = 4
	// minReference is the least number of transfers of a kind that make a reference.
	minReference = 6
)
