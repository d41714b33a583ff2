package plan

import "slices"

// Split divides the world's ranks into communicators. The zero Split is one communicator
// of all ranks. Ranks are numbered node-major.
type Split struct {
	// Group is the size of the groups of consecutive ranks that run at once, within a node or
	// across several; 0 for no groups.
	Group int
	// Stride is the distance between consecutive ranks of a group, which is also the number of
	// simultaneous groups; 0 for neighbours. Ranks with the same experts (expert parallelism) or
	// the same shards (tensor parallelism) form such groups.
	Stride int
	// Nodes is the number of nodes that take part, 0 for all.
	Nodes int
}

// Rank returns the world rank of the i-th rank of a group of size ranks.
func (s Split) Rank(group, i, size int) int {
	if s.Stride > 0 {
		return group + i*s.Stride
	}
	return group*size + i
}

// splits lists the whole world, then the requested splits, each once, because the journal refuses
// two cases with the same key. A split equal to the whole world is omitted.
func (a Axes) splits() []Split {
	all := []Split{{}}
	add := func(s Split, whole bool) {
		if !whole && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	for _, g := range a.Groups {
		add(Split{Group: g}, g == a.World.Size())
	}
	for _, s := range a.Strides {
		add(Split{Stride: s}, false)
	}
	for _, n := range a.Scales {
		add(Split{Nodes: n}, n == a.World.Nodes)
	}
	return all
}

// Method `of` returns the size of a split's communicators, the number of nodes that each
// communicator spans, and the number of communicators that run at once.
func (a Axes) of(s Split) (ranks, nodes, parallel int) {
	w := a.World
	switch {
	case s.Group > 0:
		return s.Group, max(1, s.Group/w.PerNode()), w.Size() / s.Group
	case s.Stride > 0:
		ranks = w.Size() / s.Stride
		return ranks, min(ranks, w.Nodes), s.Stride
	case s.Nodes > 0:
		return w.PerNode() * s.Nodes, s.Nodes, 1
	}
	return w.Size(), w.Nodes, 1
}
