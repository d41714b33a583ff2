package nodescreen

import (
	"fmt"
	"slices"
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
				Message: fmt.Sprintf("it has %s; most nodes have %d", counted(have, "NIC"), usual),
			})
		}
	}
	return out
}

// nicState finds ports that are not active and should be: most nodes have more active
// ports, or, where there is one node alone, most of its own are.
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

// elsewhere tells that most nodes that have a NIC of the name have it active; a name that
// no other node has counts as one that should be.
func elsewhere(nodes []*Node, name string) bool {
	up, all := 0, 0
	for _, n := range nodes {
		for _, c := range n.NICs {
			if c.Name == name {
				all++
				if c.State == active {
					up++
				}
			}
		}
	}
	return all == 1 || 2*up >= all
}

func (n *Node) activePorts() int {
	count := 0
	for _, c := range n.NICs {
		if c.State == active {
			count++
		}
	}
	return count
}

// nicRate finds active ports that are slower than most, of the NIC of that name on all
// nodes and of the other NICs of the node, and than the card is sold for, unless most
// ports are so.
func nicRate(f Fleet, _ *Document) []Deviation {
	byName := map[string][]float64{}
	for _, n := range f.Nodes {
		for _, c := range n.NICs {
			if c.State == active && c.Negotiated != nil {
				byName[c.Name] = append(byName[c.Name], *c.Negotiated)
			}
		}
	}
	var out []Deviation
	for _, n := range f.Nodes {
		own := n.usualRate()
		for _, c := range n.NICs {
			if c.State != active || c.Negotiated == nil {
				continue
			}
			usual := own
			if len(byName[c.Name]) >= 3 {
				usual = mode(byName[c.Name])
			}
			if *c.Negotiated < usual {
				out = append(out, Deviation{
					Host: n.Host, Subject: c.Name, Lost: 1 - *c.Negotiated/usual, Next: "check cable, transceiver and the switch's port speed",
					Message: fmt.Sprintf("the port runs at %s; usual is %s", gigabits(*c.Negotiated), gigabits(usual)),
				})
			}
		}
	}
	return out
}

// usualRate is the rate of most active ports of the node; 0 without a majority.
func (n *Node) usualRate() float64 {
	var rates []float64
	for _, c := range n.NICs {
		if c.State == active && c.Negotiated != nil {
			rates = append(rates, *c.Negotiated)
		}
	}
	return mode(rates)
}

// mode is the value of more than half; 0 if there is none.
func mode(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	if len(values) == 0 {
		return 0
	}
	middle := values[len(values)/2]
	count := 0
	for _, v := range values {
		if v == middle {
			count++
		}
	}
	if 2*count <= len(values) {
		return 0
	}
	return middle
}

// gigabits is a port's rate as vendors write it.
func gigabits(rate float64) string { return fmt.Sprintf("%gG", 8*rate/1e9) }
