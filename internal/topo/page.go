package topo

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/document"
	"zbench/bench/finding"
	"zbench/bench/judge"
)

// Page is the page of a node, and its picture.
func (n *Node) Page() (*document.Document, document.Diagram) {
	picture := n.picture()
	d := &document.Document{
		Title: "Topology of " + n.Host, Lead: n.Verdict, Findings: n.shown(), Chips: n.chips(),
		Foot: "Port rates are decimal, 400G = 50 GB/s. zbench topo reads; it measures nothing.",
	}
	add := func(name, title string, blocks ...document.Block) {
		d.Sections = append(d.Sections, document.Section{Name: name, Title: title, Blocks: blocks})
	}
	if len(picture.Columns) > 0 {
		add("picture", "How the node is wired", picture)
	}
	for i, t := range n.Tables() {
		title := t.Title
		t.Title = ""
		add(fmt.Sprintf("table-%d", i), title, document.Sheet{Table: t, Label: title})
	}
	if len(n.NotChecked) > 0 {
		var items []document.Text
		for _, u := range n.NotChecked {
			items = append(items, document.Text{{Style: "strong", Text: u.What + ": "}, {Text: u.Why}, {Style: "hint", Text: u.Next, Break: true}})
		}
		add("unchecked", "NOT CHECKED", document.List{Role: "warnings", Items: items})
	}
	var facts document.Facts
	for _, f := range n.Stack {
		facts = append(facts, document.Fact{Term: f.Name, Text: f.Value})
	}
	if len(facts) > 0 {
		add("stack", "Software", facts)
		d.Sections[len(d.Sections)-1].Folded = true
	}
	return d, picture
}

// shown is what was found, or that nothing is wrong.
func (n *Node) shown() finding.List {
	all := n.Grouped()
	if all.Worst() < finding.Warning && !n.Empty() {
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
