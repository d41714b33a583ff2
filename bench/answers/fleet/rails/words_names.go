package rails

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/jsonfile"
	"zbench/bench/base/slice"
)

// `of` returns a component's name.
func (n names) of(c Component) string {
	switch c.Part {
	case Rank:
		if c.Node >= 0 && c.Node < len(n.hosts) {
			return fmt.Sprintf("rank %d on %s", c.A, n.called(c.Node))
		}
		return fmt.Sprintf("rank %d", c.A)
	case Node:
		return n.called(c.Node)
	case GPU:
		return "GPU " + n.gpu(c.Node, c.A)
	case Link:
		if len(n.ends.At) == 0 {
			return fmt.Sprintf("xGMI link between GPUs %d and %d of %s", c.A, c.B, n.called(c.Node))
		}
		return fmt.Sprintf("link between GPU %s and GPU %s", n.gpu(c.Node, c.A), n.gpu(c.Node, c.B))
	case Path:
		return fmt.Sprintf("path between %s and %s", n.end(c.Node, c.A), n.end(c.Peer, c.B))
	case Leaf:
		if c.B < 0 {
			return fmt.Sprintf("rail %d on all nodes (leaf switches)", c.A)
		}
		if c.A < len(n.leaves) && c.B < len(n.leaves[c.A]) {
			return fmt.Sprintf("leaf switch %s of rail %d", n.leaves[c.A][c.B], c.A)
		}
		return fmt.Sprintf("leaf switch %d of rail %d", c.B, c.A)
	default:
		return fmt.Sprintf("rail %d of %s", c.A, n.called(c.Node))
	}
}

// nodes returns the names of a finding's nodes.
func (n names) nodes(f Slow) []string {
	of := []int{f.Component.Node}
	switch f.Component.Part {
	case Leaf:
		of = f.Nodes
	case Path:
		of = append(of, f.Component.Peer)
	default:
	}
	return jsonfile.Filled(slice.Map(slice.Where(of, func(i int) bool { return i >= 0 && i < len(n.hosts) }), n.node))
}

// `called` returns a node's name for a sentence: "node7", but "node gpu-7" for a name without "node".
func (n names) called(i int) string {
	name := n.node(i)
	if strings.HasPrefix(strings.ToLower(name), "node") {
		return name
	}
	return "node " + name
}

func (n names) node(i int) string {
	if i >= 0 && i < len(n.hosts) {
		return n.hosts[i]
	}
	return fmt.Sprint(i)
}

// gpu returns a GPU's name in the input. In a survey the name is the GPU's number on its node.
func (n names) gpu(node, gpu int) string {
	if len(n.ends.At) == 0 {
		return fmt.Sprintf("%d of %s", gpu, n.called(node))
	}
	if name := n.end(node, gpu); name != "" {
		return name
	}
	return fmt.Sprint(gpu)
}

func (n names) end(node, gpu int) string {
	if i := slices.IndexFunc(n.ends.At, func(p Place) bool { return p.Node == node && (p.GPU == gpu || p.GPU < 0) }); i >= 0 {
		return n.ends.Names[i]
	}
	return n.node(node)
}
