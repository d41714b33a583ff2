package evidence

import (
	"fmt"
	"maps"

	"zbench/bench/answers/fleet/rails"
	"zbench/bench/base/slice"
)

// mostNodes is the share of nodes above which a crossed rail is common to the fleet and explains no
// difference between nodes. In a fleet with fewer than leastNodes nodes, no crossed rail is common.
const (
	mostNodes  = 0.5
	leastNodes = 3
)

// ofActual returns the claims about crossed rails, on which another NIC than the GPU's carried the GPU's
// bytes.
func (in Input) ofActual() []Claim {
	var out []Claim
	common := in.commonlyCrossed()
	for _, a := range in.Actual {
		if a.Use == rails.Crossed && common[a.GPU] == nil {
			out = append(out, Claim{Counters, rails.Component{Part: rails.Rail, Node: a.Place.Node, A: a.GPU}, Strong, a.Says()})
		}
	}
	return out
}

// commonlyCrossed returns the crossed rails, by GPU, that most nodes share.
func (in Input) commonlyCrossed() map[int][]rails.ActualRail {
	_, crossed := slice.Group(slice.Where(in.Actual, func(a rails.ActualRail) bool { return a.Use == rails.Crossed }), func(a rails.ActualRail) int { return a.GPU })
	maps.DeleteFunc(crossed, func(_ int, of []rails.ActualRail) bool {
		return in.Fleet.Nodes < leastNodes || float64(len(of)) <= mostNodes*float64(in.Fleet.Nodes)
	})
	return crossed
}

// askOfFleet returns the questions about properties that most nodes share. Such a property is a setting,
// not a fault of a node.
func (in Input) askOfFleet() []rails.Question {
	var out []rails.Question
	common := in.commonlyCrossed()
	for gpu := range in.Fleet.GPUs {
		of := common[gpu]
		if of == nil {
			continue
		}
		out = append(out, rails.Question{
			What:       fmt.Sprintf("crossed rail on %d of %d nodes, the first of them: %s", len(of), in.Fleet.Nodes, of[0].Says()),
			Candidates: []rails.Component{{Part: rails.Leaf, A: gpu, B: -1}},
			Next:       "compare NCCL_IB_HCA and NCCL_TOPO_FILE with `zbench topo --xml FILE`: a setting that all nodes share picks the NIC",
		})
	}
	return out
}
