package spec

import "fmt"

// World is the number of ranks and their placement. Flags, fabrics, cases, drivers and
// records all use this type.
type World struct {
	// Number of nodes; 0 if unknown.
	Nodes int `json:"nodes"`
	// GPUs used on each node; 0 if unknown.
	GPUsPerNode int `json:"gpus_per_node"`
	// GPUs driven by one process (-g of rccl-tests); 0 if unknown.
	GPUsPerProcess int `json:"gpus_per_process"`
	// Ranks that share a GPU; absent if each has its own.
	RanksPerGPU int `json:"ranks_per_gpu,omitempty" jsonschema:"minimum=2"`
}

// Share returns the number of ranks on each GPU, 1 or more.
func (w World) Share() int { return max(1, w.RanksPerGPU) }

// GPUs returns the number of GPUs on all nodes.
func (w World) GPUs() int { return w.Nodes * w.GPUsPerNode }

// Size returns the number of ranks.
func (w World) Size() int { return w.GPUs() * w.Share() }

// PerNode returns the number of ranks on each node.
func (w World) PerNode() int { return w.GPUsPerNode * w.Share() }

// CheckSplits refuses sizes of groups, strides and numbers of nodes for which the world has no
// communicators.
func (w World) CheckSplits(groups, strides, scales []int) error {
	for _, g := range groups {
		if per := w.PerNode(); g < 2 || per%g != 0 && (g%per != 0 || w.Size()%g != 0) {
			return fmt.Errorf("groups of %d: a group has 2 ranks or more, and divides the %d GPUs of a node or is several nodes that divide the %d", g, per, w.Nodes)
		}
	}
	for _, s := range strides {
		if s < 2 || s >= w.Size() || !w.Divides(s) {
			return fmt.Errorf("stride %d: it must divide the %d ranks into groups of two or more, be 2 at least, and divide the %d GPUs of a node or be a multiple of them", s, w.Size(), w.PerNode())
		}
	}
	for _, n := range scales {
		if n < 1 || n > w.Nodes {
			return fmt.Errorf("scale %d: there are 1 to %d nodes", n, w.Nodes)
		}
	}
	return nil
}

// Divides reports whether a stride makes equal groups: each node of a group has the same number of its ranks.
func (w World) Divides(stride int) bool {
	return stride > 0 && w.Size()%stride == 0 && (w.PerNode()%stride == 0 || stride%w.PerNode() == 0)
}
