package topo

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/finding"
	"zbench/bench/table"
	"zbench/bench/unit"
)

// none is a cell without a value.
const none = "–"

func or(s string) string {
	if s == "" {
		return none
	}
	return s
}

func numeral(v *int) string { return or(known(v, fmt.Sprint(deref(v)))) }

// GPUTable has a row for each GPU, with its rail NIC.
func (n *Node) GPUTable() table.Table {
	t := table.Of([]string{"GPU", "product", "NUMA", "partitions", "rail NIC", "shares", "rate", "rated", "port", "found"})
	t.Title, t.Rule = "GPUs and their rails", true
	for _, g := range n.GPUs {
		partitions := strings.TrimSpace(fmt.Sprintf("%d %s", g.Partitions, strings.TrimSpace(g.Compute+" "+g.Memory)))
		if g.Partitions == 0 {
			partitions = none
		}
		rate, rated, state, shared := none, none, none, none
		subjects := []string{g.PCI}
		if g.Rail != nil {
			shared = fmt.Sprintf("%s, %d hops", strings.ReplaceAll(g.Rail.Path, "_", " "), g.Rail.Hops)
			if c := n.nic(g.Rail.NICs[0]); c != nil && len(g.Rail.NICs) == 1 {
				rate, rated, state = Gigabits(c.Negotiated), Gigabits(c.Rated), or(c.State)
				subjects = append(subjects, c.Name)
			}
		}
		t.Add(g.PCI, g.Name, numeral(g.NUMA), partitions, or(g.Rail.String()), shared, rate, rated, state, n.found(subjects...))
	}
	return t
}

// NICTable has a row for each NIC.
func (n *Node) NICTable() table.Table {
	t := table.Of([]string{"NIC", "PCI", "driver", "interface", "port", "rate", "rated", "MTU", "firmware", "link downs", "leaf", "found"})
	t.Title, t.Rule = "RDMA NICs", true
	rated := false
	for _, c := range n.NICs {
		driver := or(c.Driver)
		if c.Virtual {
			driver += " (VF)"
		}
		downs := none
		if c.LinkDowns != nil {
			downs = fmt.Sprint(*c.LinkDowns)
		}
		rate := Gigabits(c.Rated)
		if c.RatedBy == RatedByChip {
			rate, rated = "≤ "+rate, true
		}
		leaf := or(strings.TrimSpace(c.Leaf + " " + c.LeafPort))
		t.Add(c.Name, or(c.PCI), driver, or(c.Interface), or(c.State), Gigabits(c.Negotiated), rate, numeral(c.MTU), or(c.Firmware), downs, leaf, n.found(c.Name))
	}
	if rated {
		t.Notes = append(t.Notes, "≤: the rate of the chip's fastest card; this card may be sold for less")
	}
	return t
}

// LinkTable is the xGMI links as a matrix.
func (n *Node) LinkTable() table.Table {
	names := []string{"xGMI"}
	for _, g := range n.GPUs {
		names = append(names, short(g.PCI))
	}
	t := table.Of(names)
	t.Title, t.Rule = "xGMI links between GPUs", true
	for _, a := range n.GPUs {
		cells := []string{a.PCI}
		for _, b := range n.GPUs {
			cells = append(cells, n.linkCell(a.PCI, b.PCI))
		}
		t.Add(cells...)
	}
	if slices.ContainsFunc(n.Links, func(l Link) bool { return l.Bandwidth == nil }) {
		t.Notes = append(t.Notes, "yes: linked, and the source states no speed")
	}
	return t
}

func (n *Node) linkCell(a, b string) string {
	if a == b {
		return ""
	}
	for _, l := range n.Links {
		if l.A == a && l.B == b || l.A == b && l.B == a {
			if l.Bandwidth != nil {
				return unit.Rate(*l.Bandwidth)
			}
			return "yes"
		}
	}
	return "no"
}

// short is bus and device of an address, with a domain that is not 0.
func short(pci string) string {
	s, _, _ := strings.Cut(strings.TrimPrefix(pci, "0000:"), ".")
	return strings.TrimSuffix(s, ":00")
}

// nic finds a NIC by its name.
func (n *Node) nic(name string) *NIC {
	for i := range n.NICs {
		if n.NICs[i].Name == name {
			return &n.NICs[i]
		}
	}
	return nil
}

// found is the worst finding of components as a word.
func (n *Node) found(subjects ...string) string {
	worst := finding.Note
	for _, subject := range subjects {
		worst = max(worst, n.Worst(subject))
	}
	return map[finding.Severity]string{finding.Fault: "FAULT", finding.Warning: "doubt", finding.Note: none}[worst]
}

// between stands between the two ends of a link.
const between = " – "

// Worst is the highest severity of the findings of a component.
func (n *Node) Worst(subject string) finding.Severity {
	worst := finding.Note
	for _, f := range n.Findings {
		if slices.Contains(strings.Split(f.Subject, between), subject) {
			worst = max(worst, f.Mark.severity())
		}
	}
	return worst
}

// Tables are those with rows.
func (n *Node) Tables() []table.Table {
	var all []table.Table
	if len(n.GPUs) > 0 {
		all = append(all, n.GPUTable())
	}
	if len(n.NICs) > 0 {
		all = append(all, n.NICTable())
	}
	if len(n.Links) > 0 {
		all = append(all, n.LinkTable())
	}
	return all
}
