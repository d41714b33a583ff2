package topo

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/document"
	"zbench/bench/finding"
	"zbench/bench/judge"
)

// Shown is the node for its readers.
func (n *Node) Shown() *document.Document {
	d := &document.Document{
		Command: "topo", Value: n, Title: "Topology of " + n.Host, Lead: n.Verdict, Findings: n.shown(), Chips: n.chips(),
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
	var items document.Items
	for _, u := range n.NotChecked {
		items = append(items, document.Item{Severity: finding.Warning, Name: u.What, Text: u.Why, Hint: u.Next})
	}
	if len(items) > 0 {
		d.Add("unchecked", "NOT CHECKED", items).Show(document.Everywhere)
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

// shown is what was found, or that nothing is wrong.
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

// portNote is a port's rate, of the rated one if that is known, and its state.
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

// picture is NUMA nodes, GPUs, NICs and leaves in columns. Lines are PCI's closeness,
// and the cables.
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
	for _, c := range []document.DiagramColumn{numa, gpus, nics, leaves} {
		if len(c.Boxes) > 0 {
			d.Columns = append(d.Columns, c)
		}
	}
	return d
}
