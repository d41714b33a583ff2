package experiments

import (
	"math"
	"math/rand/v2"

	"zbench/bench/answers/fleet/rails"
)

// Broken is a component that keeps only the share Left of its bandwidth, in a part of the rounds.
type Broken struct {
	rails.Component
	Left float64
	// Duty is the share of the rounds in which it is slow; 1 means always.
	Duty float64
}

// FleetNoise is the variation in a fleet besides its faults, as standard deviations of logarithms.
// Common is the bound of a uniform draw instead.
type FleetNoise struct {
	// Sample is independent for each sample. Common is the same for all samples of a round. Node is
	// constant for each node.
	Sample, Common, Node float64
	// Outliers is the share of samples that take 1.5 to 3 times as long. If Lasting is true, an
	// outlier lasts for a whole round.
	Outliers float64
	Lasting  bool
	// Samples is the number of samples in a round.
	Samples int
}

// FleetDefault returns the noise of the experiments.
func FleetDefault() FleetNoise {
	return FleetNoise{Sample: 0.02, Common: 0.05, Node: 0.01, Outliers: 0.01, Samples: 5}
}

// Fleet computes the time of a transfer from its bottleneck. A detector only sees the times.
type Fleet struct {
	rails.Fleet
	broken []Broken
	noise  FleetNoise
	rng    *rand.Rand
	nodes  []float64
	rounds int
}

// leafNodes is the number of nodes that share a leaf switch of a rail.
const leafNodes = 32

// NewFleet draws a fleet in which each GPU has a rail and each leaf switch has 32 nodes.
func NewFleet(seed uint64, nodes, gpus int, noise FleetNoise, broken ...Broken) *Fleet {
	f := &Fleet{Fleet: rails.Fleet{Nodes: nodes, GPUs: gpus}, broken: broken, noise: noise, rng: rand.New(rand.NewPCG(seed, 0xf1ee7))}
	for range gpus {
		leaves := make([]int, nodes)
		for node := range leaves {
			leaves[node] = node / leafNodes
		}
		f.Leaves = append(f.Leaves, leaves)
	}
	for range nodes {
		f.nodes = append(f.nodes, math.Exp(noise.Node*f.rng.NormFloat64()))
	}
	return f
}

// Run measures what the plan asks for. rounds is the number of rounds between nodes.
func (f *Fleet) Run(o rails.Bounds) (all []rails.Timing, rounds int) {
	plan := rails.NewPlan(f.Fleet, o)
	for {
		r, more := plan.Next(all)
		if !more {
			return all, rounds
		}
		if r.Kind != rails.XGMI {
			rounds++
		}
		all = append(all, f.time(r)...)
	}
}

// time measures one round. A fault with a duty may or may not be slow in this round.
func (f *Fleet) time(r rails.Round) []rails.Timing {
	var now []Broken
	for _, b := range f.broken {
		if b.Duty == 1 || f.rng.Float64() < b.Duty {
			now = append(now, b)
		}
	}
	common := math.Exp(f.noise.Common * (2*f.rng.Float64() - 1))
	out := make([]rails.Timing, 0, len(r.Pairs))
	for _, p := range r.Pairs {
		seconds := make([]float64, f.noise.Samples)
		base := common * 1e-3 / f.bandwidth(r.Kind, p, now)
		lasting := f.outlier(f.noise.Lasting)
		for i := range seconds {
			seconds[i] = base * math.Exp(f.noise.Sample*f.rng.NormFloat64()) * lasting * f.outlier(!f.noise.Lasting)
		}
		out = append(out, rails.Timing{Round: f.rounds, Kind: r.Kind, Pair: p, Seconds: seconds})
	}
	f.rounds++
	return out
}

func (f *Fleet) outlier(drawn bool) float64 {
	if drawn && f.rng.Float64() < f.noise.Outliers {
		return 1.5 + 1.5*f.rng.Float64()
	}
	return 1
}

// bandwidth returns the bandwidth of a transfer, which is the bandwidth of its slowest component; 1
// if all are healthy.
func (f *Fleet) bandwidth(kind rails.Kind, p rails.Pair, broken []Broken) float64 {
	if kind == rails.Rings {
		least := math.Inf(1)
		for node := range f.Nodes {
			at := rails.Place{Node: node, GPU: p.A.GPU}
			least = min(least, f.bandwidth(rails.Network, rails.Pair{A: at, B: at}, broken))
		}
		return least
	}
	left := min(f.nodes[p.A.Node], f.nodes[p.B.Node])
	for _, b := range broken {
		if f.passes(kind, p.A, p, b) || f.passes(kind, p.B, p, b) {
			left = min(left, b.Left)
		}
	}
	return left
}

// passes reports whether a transfer uses a component at the given end.
func (f *Fleet) passes(kind rails.Kind, at rails.Place, p rails.Pair, b Broken) bool {
	net := kind == rails.Network
	switch b.Part {
	case rails.Node:
		return at.Node == b.Node
	case rails.GPU:
		return at.Node == b.Node && at.GPU == b.A
	case rails.Rail:
		return net && at.Node == b.Node && at.GPU == b.A
	case rails.Leaf:
		return net && at.GPU == b.A && f.Leaves[at.GPU][at.Node] == b.B
	default:
		return !net && at.Node == b.Node && min(p.A.GPU, p.B.GPU) == b.A && max(p.A.GPU, p.B.GPU) == b.B
	}
}
