package plan

import (
	"fmt"
	"slices"
)

// Split is how the world's ranks are divided into communicators. The zero Split
// is one communicator of all ranks. Ranks are numbered node-major.
type Split struct {
	// Group is the size of each of the groups of neighbours that run at once, 0 for
	// no groups.
	Group int
	// Stride is how far apart the ranks of a group are, and so how many groups run
	// at once; 0 for neighbours. Expert parallelism makes such groups of the ranks
	// that hold the same experts, tensor parallelism of those that hold the same
	// shards.
	Stride int
	// Nodes is the number of nodes that take part, 0 for all.
	Nodes int
}

// Rank is the number in the world of a group's i-th rank, of size ranks in each.
func (s Split) Rank(group, i, size int) int {
	if s.Stride > 0 {
		return group + i*s.Stride
	}
	return group*size + i
}

// validateSplits reports a split that the world does not have.
func (a Axes) validateSplits() error {
	size, perNode := a.World.Size(), a.World.PerNode()
	for _, g := range a.Groups {
		if g < 2 || perNode%g != 0 {
			return fmt.Errorf("groups of %d (--groups): a group has 2 ranks or more and divides the %d GPUs of a node", g, perNode)
		}
	}
	for _, s := range a.Strides {
		switch {
		case s < 2 || s >= size || size%s != 0:
			return fmt.Errorf("--strides is %d; a stride is 2 or more and divides the ranks (%d) into groups of two or more", s, size)
		case perNode%s != 0 && s%perNode != 0:
			return fmt.Errorf("--strides %d: neither divides the %d GPUs of a node nor is a multiple of them", s, perNode)
		}
	}
	for _, n := range a.Scales {
		if n < 1 || n > a.World.Nodes {
			return fmt.Errorf("--scale %d: there are 1 to %d nodes", n, a.World.Nodes)
		}
	}
	return nil
}

// splits lists the whole world, then what is asked for beside it, each split once:
// two cases of one key would be one case to the journal, which refuses that. A
// split that is the whole world again is left out.
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

// of is the size of the split's communicators, the nodes that each spans, and how
// many run at once.
func (a Axes) of(s Split) (ranks, nodes, parallel int) {
	w := a.World
	switch {
	case s.Group > 0:
		return s.Group, 1, w.Size() / s.Group
	case s.Stride > 0:
		ranks = w.Size() / s.Stride
		return ranks, min(ranks, w.Nodes), s.Stride
	case s.Nodes > 0:
		return w.PerNode() * s.Nodes, s.Nodes, 1
	}
	return w.Size(), w.Nodes, 1
}
