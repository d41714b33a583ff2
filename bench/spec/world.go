package spec

// World is the number of ranks and their placement. Flags, fabrics, cases, drivers and
// records all use this type.
type World struct {
	// Number of nodes; 0 is not known.
	Nodes int `json:"nodes"`
	// GPUs used on each node; 0 is not known.
	GPUsPerNode int `json:"gpus_per_node"`
	// GPUs driven by one process (-g of rccl-tests); 0 is not known.
	GPUsPerProcess int `json:"gpus_per_process"`
	// Ranks that share a GPU; left out when each has its own.
	RanksPerGPU int `json:"ranks_per_gpu,omitempty" jsonschema:"minimum=2"`
}

// Share is the number of ranks on each GPU, 1 or more.
func (w World) Share() int { return max(1, w.RanksPerGPU) }

// GPUs is the number of GPUs on all nodes.
func (w World) GPUs() int { return w.Nodes * w.GPUsPerNode }

// Size is the number of ranks.
func (w World) Size() int { return w.GPUs() * w.Share() }

// PerNode is the number of ranks on each node.
func (w World) PerNode() int { return w.GPUsPerNode * w.Share() }

// Divides reports whether every stride-th rank makes equal groups: as many ranks on each
// of their nodes.
func (w World) Divides(stride int) bool {
	return stride > 0 && w.Size()%stride == 0 && (w.PerNode()%stride == 0 || stride%w.PerNode() == 0)
}
