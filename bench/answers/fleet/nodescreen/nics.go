package nodescreen

import (
	"fmt"
	"slices"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
)

const active = "ACTIVE"

// nicCount finds nodes with fewer NICs than most.
func nicCount(f Fleet, _ *Document) []Deviation {
	usual, most := majority(f.Nodes, func(n *Node) int { return len(n.NICs) })
	var out []Deviation
	for _, n := range f.Nodes {
		if have := len(n.NICs); most && have < usual {
			out = append(out, Deviation{
				Host: n.Host, Subject: "node", Next: "lspci, dmesg; has a card left the bus?",
				Message: fmt.Sprintf("it has %s; most nodes have %d", plain.Count(have, "NIC"), usual),
			})
		}
	}
	return out
}

// nicState finds inactive ports that should be active: most nodes have more active ports or, if there is a
// single node, most of its ports are active.
func nicState(f Fleet, d *Document) []Deviation {
	usual, most := majority(f.Nodes, func(n *Node) int { return n.activePorts() })
	if !most && len(f.Nodes) > 1 {
		d.Unchecked = append(d.Unchecked, "the number of active NICs: no number is that of most nodes")
	}
	var out []Deviation
	for _, n := range f.Nodes {
		have := n.activePorts()
		alone := len(f.Nodes) == 1 && 2*have > len(n.NICs)
		if (!most || have >= usual) && !alone {
			continue
		}
		for _, c := range n.NICs {
			if c.State != "" && c.State != active && (alone || elsewhere(f.Nodes, c.Name)) {
				out = append(out, Deviation{
					Host: n.Host, Subject: c.Name, Next: "check the cable and the switch's port, then rdma link",
					Message: fmt.Sprintf("the port is %s; the node has %d active, most have %d", c.State, have, max(usual, have)),
				})
			}
		}
	}
	return out
}

// `elsewhere` reports whether the NIC of this name is active on most nodes that have it. A name that no
// other node has counts as active elsewhere.
func elsewhere(nodes []*Node, name string) bool {
	all := slices.Concat(slice.Map(nodes, func(n *Node) []NIC { return n.NICs })...)
	named := slice.Where(all, func(c NIC) bool { return c.Name == name })
	return len(named) == 1 || 2*slice.Count(named, NIC.up) >= len(named)
}

// activePorts returns the number of active ports.
func (n *Node) activePorts() int {
	return slice.Count(n.NICs, NIC.up)
}

func (c NIC) up() bool { return c.State == active }

// `running` returns the NICs with an active port of a known rate.
func (n *Node) running() []NIC {
	return slices.DeleteFunc(slices.Clone(n.NICs), func(c NIC) bool { return c.State != active || c.Negotiated == nil })
}

// nicRate finds active ports that are slower than usual. A port is compared with the NICs of the same name
// if three nodes or more have it, otherwise with the other NICs of its node.
func nicRate(f Fleet, _ *Document) []Deviation {
	rate := func(c NIC) float64 { return *c.Negotiated }
	_, byName := slice.Group(slices.Concat(slice.Map(f.Nodes, (*Node).running)...), func(c NIC) string { return c.Name })
	var out []Deviation
	for _, n := range f.Nodes {
		ports := n.running()
		for _, c := range ports {
			others := ports
			if same := byName[c.Name]; len(same) >= 3 {
				others = same
			}
			if usual, _ := majority(others, rate); rate(c) < usual {
				out = append(out, Deviation{
					Host: n.Host, Subject: c.Name, Lost: 1 - rate(c)/usual, Next: "check cable, transceiver and the switch's port speed",
					Message: fmt.Sprintf("the port runs at %s; usual is %s", gigabits(rate(c)), gigabits(usual)),
				})
			}
		}
	}
	return out
}

// gigabits formats a port's rate as vendors write it.
func gigabits(rate float64) string { return fmt.Sprintf("%gG", 8*rate/1e9) }
