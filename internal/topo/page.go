package topo

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/answers/judge"
	"zbench/bench/base/finding"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/show/document"
	"zbench/bench/show/table"
)

// Shown returns the node for display.
func (n *Node) Shown() *document.Document {
	d := &document.Document{
		Command: "topo", Value: n, Title: "Topology of " + n.Host, Lead: n.Verdict, State: finding.Pass, Findings: n.shown(), Chips: n.chips(),
		Foot: "Port rates are decimal, 400G = 50 GB/s. zbench topo reads; it measures nothing. Written by zbench " + n.Tool + ".",
	}
	if picture := n.picture(); len(picture.Columns) > 0 {
		d.Add("picture", "How the node is wired", picture)
	}
	for i, t := range n.Tables() {
		title := t.Title
		t.Title = ""
		d.Add(fmt.Sprintf("table-%d", i), title, document.Sheet{Table: t, Label: title}).Show(document.Everywhere)
	}
	if len(n.NotChecked) > 0 {
		d.Add("unchecked", "NOT CHECKED", document.Items(slice.Map(n.NotChecked, func(u Unchecked) document.Item {
			return document.Item{Severity: finding.Warning, Name: u.What, Text: u.Why, Hint: u.Next}
		}))).Show(document.Everywhere)
	}
	var facts document.Facts
	for _, f := range n.Stack {
		facts.Add(f.Name, f.Value)
	}
	if len(facts) > 0 {
		d.Fold("stack", "Software", facts)
	}
	return d
}

// shown() returns the findings, or a single finding that says that nothing is wrong.
func (n *Node) shown() finding.List {
	all := n.Grouped()
	switch {
	case n.Empty():
		all = append(all, finding.Finding{Code: finding.CodeNotChecked, Text: n.Verdict, Severity: finding.Warning})
	case all.Worst() < finding.Warning:
		all = append(all, finding.Finding{Code: judge.CodeNoFault, Text: n.Verdict, Severity: finding.OK})
	}
	return all
}

func (n *Node) chips() []document.Fact {
	return []document.Fact{{Term: "GPUs", Text: fmt.Sprint(len(n.GPUs))}, {Term: "NICs", Text: fmt.Sprint(len(n.NICs))}, {Term: "Not checked", Text: fmt.Sprint(len(n.NotChecked))}}
}

// portNote returns the rate of a port with its nominal rate if that is known, and its state.
func portNote(c NIC) string {
	var words []string
	if c.Negotiated != nil && c.State != "DOWN" {
		words = append(words, Gigabits(c.Negotiated))
		if c.Rated != nil {
			words = append(words, "of", Gigabits(c.Rated))
		}
	}
	return strings.Join(append(words, c.State), " ")
}

// picture returns a diagram with columns of NUMA nodes, GPUs, NICs and leaf switches. The lines
// show which components are close on PCI, and the cables.
func (n *Node) picture() document.Diagram {
	d := document.Diagram{ID: "topo", Title: "GPUs, rails and switches of " + n.Host}
	var numa, gpus, nics, leaves document.DiagramColumn
	numa.Name, gpus.Name, nics.Name, leaves.Name = "NUMA node", "GPU", "NIC", "leaf switch"
	put := func(c *document.DiagramColumn, b document.DiagramBox) {
		if !slices.ContainsFunc(c.Boxes, func(o document.DiagramBox) bool { return o.Name == b.Name }) {
			c.Boxes = append(c.Boxes, b)
		}
	}
	join := func(a, b string, s finding.Severity) {
		d.Lines = append(d.Lines, document.DiagramLine{From: a, To: b, Severity: s})
	}
	for _, g := range n.GPUs {
		put(&gpus, document.DiagramBox{Name: g.PCI, Note: g.Name + " " + g.Compute, Severity: n.Worst(g.PCI)})
		if g.NUMA != nil {
			name := fmt.Sprintf("NUMA %d", *g.NUMA)
			put(&numa, document.DiagramBox{Name: name})
			join(name, g.PCI, finding.Note)
		}
		if g.Rail != nil {
			for _, nic := range g.Rail.NICs {
				join(g.PCI, nic, max(n.Worst(nic), n.Worst(g.PCI)))
			}
		}
	}
	for _, c := range n.NICs {
		put(&nics, document.DiagramBox{Name: c.Name, Note: portNote(c), Severity: n.Worst(c.Name)})
		if c.Leaf != "" {
			put(&leaves, document.DiagramBox{Name: c.Leaf, Note: c.LeafPort})
			join(c.Name, c.Leaf, finding.Note)
		}
	}
	d.Columns = slice.Where([]document.DiagramColumn{numa, gpus, nics, leaves}, func(c document.DiagramColumn) bool { return len(c.Boxes) > 0 })
	return d
}

// A cell without a value contains `none`.
const none = "–"

// numeral formats a number for a cell.
func numeral[T any](v *T) string {
	return cmp.Or(spelled(v, func(v T) string { return fmt.Sprint(v) }), none)
}

// GPUTable returns a table with one row per GPU, with its rail NIC.
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
				rate, rated, state = Gigabits(c.Negotiated), Gigabits(c.Rated), cmp.Or(c.State, none)
				subjects = append(subjects, c.Name)
			}
		}
		t.Add(g.PCI, g.Name, numeral(g.NUMA), partitions, cmp.Or(g.Rail.String(), none), shared, rate, rated, state, n.found(subjects...))
	}
	return t
}

// NICTable returns a table with one row per NIC.
func (n *Node) NICTable() table.Table {
	t := table.Of([]string{"NIC", "PCI", "driver", "interface", "port", "rate", "rated", "MTU", "firmware", "link downs", "leaf", "found"})
	t.Title, t.Rule = "RDMA NICs", true
	rated := false
	for _, c := range n.NICs {
		driver := cmp.Or(c.Driver, none)
		if c.Virtual {
			driver += " (VF)"
		}
		rate := Gigabits(c.Rated)
		if c.RatedBy == RatedByChip {
			rate, rated = "≤ "+rate, true
		}
		leaf := cmp.Or(strings.TrimSpace(c.Leaf+" "+c.LeafPort), none)
		t.Add(c.Name, cmp.Or(c.PCI, none), driver, cmp.Or(c.Interface, none), cmp.Or(c.State, none), Gigabits(c.Negotiated), rate, numeral(c.MTU), cmp.Or(c.Firmware, none), numeral(c.LinkDowns), leaf, n.found(c.Name))
	}
	if rated {
		t.Notes = append(t.Notes, "≤: the rate of the chip's fastest card; this card may be sold for less")
	}
	return t
}

// LinkTable returns the xGMI links as a matrix.
func (n *Node) LinkTable() table.Table {
	t := table.Of(append([]string{"xGMI"}, slice.Map(n.GPUs, func(g GPU) string { return short(g.PCI) })...))
	t.Title, t.Rule = "xGMI links between GPUs", true
	for _, a := range n.GPUs {
		t.Add(append([]string{a.PCI}, slice.Map(n.GPUs, func(b GPU) string { return n.linkCell(a.PCI, b.PCI) })...)...)
	}
	if slices.ContainsFunc(n.Links, func(l Link) bool { return l.Bandwidth == nil }) {
		t.Notes = append(t.Notes, "yes: linked, and the source states no speed")
	}
	return t
}

func (n *Node) linkCell(a, b string) string {
	l := linkOf(n.Links, a, b)
	switch {
	case a == b:
		return ""
	case l == nil:
		return "no"
	}
	return cmp.Or(spelled(l.Bandwidth, unit.Rate), "yes")
}

// short() returns bus and device of an address, and the domain if it is not zero.
func short(pci string) string {
	s, _, _ := strings.Cut(strings.TrimPrefix(pci, "0000:"), ".")
	return strings.TrimSuffix(s, ":00")
}

// found() returns the worst finding about the given components, as a word.
func (n *Node) found(subjects ...string) string {
	worst := finding.Note
	for _, subject := range subjects {
		worst = max(worst, n.Worst(subject))
	}
	return map[finding.Severity]string{finding.Fault: "FAULT", finding.Warning: "doubt", finding.Note: none}[worst]
}

// The text `between` separates the two ends of a link.
const between = " – "

// Worst returns the highest severity of the findings about a component.
func (n *Node) Worst(subject string) finding.Severity {
	worst := finding.Note
	for _, f := range n.Findings {
		if slices.Contains(strings.Split(f.Subject, between), subject) {
			worst = max(worst, f.Mark.severity())
		}
	}
	return worst
}

// Tables returns the tables that have rows.
func (n *Node) Tables() []table.Table {
	all := []table.Table{n.GPUTable(), n.NICTable()}
	if len(n.Links) > 0 {
		all = append(all, n.LinkTable())
	}
	return slice.Where(all, table.Table.Filled)
}
