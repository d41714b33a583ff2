// Package rails finds the component that slows a cluster's network: an xGMI link, a GPU, a rail (a
// node's NIC), a node or a leaf switch.
//
// A Plan chooses the pairs of each round: all pairs of GPUs in every node, a ring per rail, then about log₂N
// rounds of disjoint pairs of nodes on every rail, and rounds that confirm suspects. Judge takes the times
// of these rounds, or bandwidths of pairs from elsewhere (Matrix.Data), and returns a Verdict. Arrivals does
// the same for the times of a running job's collectives.
//
// The model is a bottleneck: a transfer is as slow as the slowest component on its path. A slow component
// is therefore slow with every healthy partner, and one fast transfer clears both ends. All comparisons are
// with the median of the round, which removes effects common to the round.
//
// The files plan_… make and run a plan. The files input_… read measurements of other tools. The files
// detect_… decide; detect.go calls the other detect_… files. The files words_… write the texts.
//
// The package judges times alone; bench/answers/fleet/evidence joins counters and other sources. Package
// rails does not use the simulator of its experiments (docs/EXPERIMENTS.md).
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

// Fleet is the set of compared nodes.
type Fleet struct {
	// Nodes is the number of nodes. GPUs is the number of GPUs, and of rails, on each node.
	Nodes, GPUs int
	// Leaves has the leaf switch of each rail's node: Leaves[rail][node], counted from 0, −1 if unknown. If
	// Leaves is nil, no switch is known, and only whole rails are compared.
	Leaves [][]int
}

// Leaf returns the leaf switch of a node's rail, −1 if unknown.
func (f Fleet) Leaf(rail, node int) int {
	if rail < len(f.Leaves) && node < len(f.Leaves[rail]) {
		return f.Leaves[rail][node]
	}
	return -1
}

// Kind is the subject of a round.
type Kind int

// The kinds of rounds.
const (
	// Network rounds measure transfers between equal GPUs of two nodes, in both directions.
	Network Kind = iota
	// XGMI rounds measure transfers between two GPUs of a node.
	XGMI
	// Rings rounds measure a ring through one GPU of every node, on all rails at once.
	Rings
)

// Pair holds the two ends of a transfer. For a ring, A.GPU is the rail, and all other fields are 0.
type Pair struct{ A, B Place }

// Round is a set of simultaneous transfers. No GPU takes part in two transfers of a round.
type Round struct {
	Kind  Kind
	Pairs []Pair
}

// Timing holds the times of one pair in one round.
type Timing struct {
	// Round is the number of the round, from 0. Rounds of all kinds are numbered together.
	Round int
	Kind  Kind
	Pair  Pair
	// Seconds are the samples of this round. Several samples distinguish a slow round from a slow sample.
	// With fewer than minSamples, intermittent faults are not checked. Samples of the same index in a round
	// belong to one launch. A sample of 0 was not timed.
	Seconds []float64
	// Waited is the median excess of end A's time over end B's, in seconds: A waited for B. Waited is
	// negative if B waited for A.
	Waited float64
}

// Timed returns the samples that were timed.
func (t Timing) Timed() []float64 {
	return slices.DeleteFunc(slices.Clone(t.Seconds), func(s float64) bool { return !(s > 0) || math.IsInf(s, 1) })
}

// Profile has the figures of healthy hardware, for a fleet that may be slow as a whole.
type Profile struct {
	// Network and XGMI are the seconds of one transfer; 0 is unknown.
	Network, XGMI float64
	// Source is the origin of the figures.
	Source string
}

// Data holds everything known about a fleet.
type Data struct {
	Fleet   Fleet
	Timings []Timing
	// Profile is optional.
	Profile *Profile
	// Given is true for pairs that another tool measured. Given pairs have one time per pair and direction,
	// and no rounds that confirm a suspect. Round 0 has the pairs between nodes, and round 1 has the pairs
	// within nodes. The ends of given pairs are GPUs. The GPU number Whole stands for the node itself.
	Given bool
	Whole int
}

// end returns an end of transfers as a component: a NIC, or for given pairs a GPU or a node.
func (d Data) end(p Place) Component {
	switch {
	case !d.Given:
		return Component{Part: Rail, Node: p.Node, A: p.GPU}
	case p.GPU == d.Whole:
		return Component{Part: Node, Node: p.Node}
	}
	return Component{Part: GPU, Node: p.Node, A: p.GPU}
}

// Limits of the method. The limits follow from the experiments in docs/EXPERIMENTS.md.
const (
	// leastLoss is the logarithm of the slowdown below which nothing is named: 6 % of
	// the time.
	leastLoss = 0.06
	// suspectLoss is the smallest loss for which a component is measured again.
	suspectLoss = 0.03
	// A component is slow from `sigmas` robust standard deviations above the median of its kind. There are
	// thousands of components, and the estimate has heavier tails than a normal distribution.
	sigmas = 5.5
	// A loss that exceeds the limit by `surely` deviations is named in spite of noise. An OK states this
	// loss.
	surely = 3
	// suspectSigmas is the smallest number of deviations for which a component is measured again.
	suspectSigmas = 4
	// `most` is the share of a component's parts that must be slow before the whole counts as slow.
	most = 0.75
	// minSamples is the number of samples per round that distinguishes a slow round from slow
	// samples.
	minSamples = 4
	// minReference is the least number of transfers of a kind that make a reference.
	minReference = 6
)
