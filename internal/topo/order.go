package topo

import (
	"cmp"
	"slices"
	"strings"
)

// nicIndex is the place of a NIC among all by name, numbers in names counted as numbers:
// what a script that pairs by index would take. -1 for a name that is not there.
func (n *Node) nicIndex(name string) int {
	var names []string
	for _, c := range n.NICs {
		names = append(names, c.Name)
	}
	slices.SortFunc(names, naturally)
	return slices.Index(names, name)
}

// naturally compares texts with the numbers in them: mlx5_2 before mlx5_10.
func naturally(a, b string) int {
	for a != "" && b != "" {
		x, restX := chunk(a)
		y, restY := chunk(b)
		c := cmp.Compare(x, y)
		if digit(x[0]) && digit(y[0]) {
			x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
			c = cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y))
		}
		if c != 0 {
			return c
		}
		a, b = restX, restY
	}
	return cmp.Compare(len(a), len(b))
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// chunk cuts the digits, or what are none, from the front.
func chunk(s string) (front, rest string) {
	i := 1
	for i < len(s) && digit(s[i]) == digit(s[0]) {
		i++
	}
	return s[:i], s[i:]
}
