package fabric

import (
	"cmp"
	"math"

	"zbench/bench/run/spec"
)

// Group is the set of ranks of a communicator: neighbours, or ranks that are Stride apart (2 or
// more). Ranks are numbered node by node.
type Group struct {
	First, Ranks, Stride int
}

// stride returns the distance of consecutive ranks, which is 1 for neighbours.
func (g Group) stride() int { return max(g.Stride, 1) }

func (g Group) compare(h Group) int {
	return cmp.Or(cmp.Compare(g.Ranks, h.Ranks), cmp.Compare(g.stride(), h.stride()), cmp.Compare(g.First, h.First))
}

// holds reports whether the rank is in the group.
func (g Group) holds(rank int) bool {
	at := rank - g.First
	return at >= 0 && at%g.stride() == 0 && at/g.stride() < g.Ranks
}

// Method `on` reports whether the group has a GPU that uses the rail on the node; −1 means any
// node or any rail. A GPU uses the rail with its own number.
func (g Group) on(w spec.World, node, rail int) bool {
	for rank := g.First; rank < g.First+g.Ranks*g.stride(); rank += g.stride() {
		if (node < 0 || rank/w.GPUsPerNode == node) && (rail < 0 || rank%w.GPUsPerNode == rail) {
			return true
		}
	}
	return false
}

// world returns the part of the world that the group spans, counting only its own GPUs.
func (g Group) world(w spec.World) spec.World {
	perNode := max(1, min(g.Ranks, w.GPUsPerNode/g.stride()))
	return spec.World{Nodes: g.Ranks / perNode, GPUsPerNode: perNode, GPUsPerProcess: w.GPUsPerProcess}
}

// groups lists every communicator that the options need, the whole world first.
func groups(w spec.World, o Conditions) ([]Group, error) {
	if err := w.CheckSplits(o.Groups, o.Strides, o.Scales); err != nil {
		return nil, err
	}
	all := []Group{{Ranks: w.Size()}}
	for _, g := range o.Groups {
		for first := 0; first < w.Size(); first += g {
			all = append(all, Group{First: first, Ranks: g})
		}
	}
	for _, s := range o.Strides {
		for first := range s {
			all = append(all, Group{First: first, Ranks: w.Size() / s, Stride: s})
		}
	}
	for _, n := range o.Scales {
		all = append(all, Group{Ranks: n * w.GPUsPerNode})
	}
	return all, nil
}

// fairRails returns the rate, in bytes per second, that one group gets from the rails. It is
// finite if several groups with a stride run at once and a node has fewer NICs than GPUs.
// Otherwise it is infinite.
func (f *Fabric) fairRails(g Group, w spec.World) float64 {
	own := g.world(w)
	if g.Stride == 0 || own.Nodes == 1 || f.Node.NICs >= w.GPUsPerNode {
		return math.Inf(1)
	}
	all := float64(f.Node.NICs) * f.Node.NICLineRate * f.model(own.Nodes).RailEfficiency
	return all * float64(own.GPUsPerNode) / float64(w.GPUsPerNode)
}
