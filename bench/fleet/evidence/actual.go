package evidence

import (
	"fmt"
	"maps"

	"zbench/bench/fleet/rails"
	"zbench/bench/slice"
)

// mostNodes is the share of the nodes from which a crossed rail is the fleet's: it explains
// no difference between the nodes. leastNodes make such a share.
const (
	mostNodes  = 0.5
	leastNodes = 3
)

// ofActual are the claims of crossed rails: the GPU's NIC is not the one that carried its
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

// commonlyCrossed are the crossed rails, by GPU, that most nodes have in common.
func (in Input) commonlyCrossed() map[int][]rails.ActualRail {
	_, crossed := slice.Group(slice.Where(in.Actual, func(a rails.ActualRail) bool { return a.Use == rails.Crossed }), func(a rails.ActualRail) int { return a.GPU })
	maps.DeleteFunc(crossed, func(_ int, of []rails.ActualRail) bool {
		return in.Fleet.Nodes < leastNodes || float64(len(of)) <= mostNodes*float64(in.Fleet.Nodes)
	})
	return crossed
}

// askOfFleet are the questions about what most nodes have in common: a setting, and no fault
// of a node.
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
