package topo

import (
	"slices"

	"zbench/bench/plain"
)

// nicIndex is the place of a NIC among all by name, numbers in names counted as numbers:
// what a script that pairs by index would take. -1 for a name that is not there.
func (n *Node) nicIndex(name string) int {
	var names []string
	for _, c := range n.NICs {
		names = append(names, c.Name)
	}
	slices.SortFunc(names, plain.Natural)
	return slices.Index(names, name)
}
