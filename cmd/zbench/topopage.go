package main

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/finding"
	"zbench/bench/judge"
	"zbench/internal/topo"
	"zbench/report"
)

// topoPage is the page of a node, and its picture.
func topoPage(n *topo.Node) (*report.Document, report.Diagram) {
	picture := topoPicture(n)
	d := &report.Document{
		Title: "Topology of " + n.Host, Lead: n.Verdict, Findings: topoVerdict(n), Chips: topoChips(n),
		Foot: "Port rates are decimal, 400G = 50 GB/s. zbench topo reads; it measures nothing.",
	}
	add := func(name, title string, blocks ...report.Block) {
		d.Sections = append(d.Sections, report.Section{Name: name, Title: title, Blocks: blocks})
	}
	if len(picture.Columns) > 0 {
		add("picture", "How the node is wired", picture)
	}
	for i, t := range n.Tables() {
		title := t.Title
		t.Title = ""
		add(fmt.Sprintf("table-%d", i), title, report.Sheet{Table: t, Label: title})
	}
	if len(n.NotChecked) > 0 {
		var items []report.Text
		for _, u := range n.NotChecked {
			items = append(items, report.Text{{Style: "strong", Text: u.What + ": "}, {Text: u.Why}, {Style: "hint", Text: u.Next, Break: true}})
		}
		add("unchecked", "NOT CHECKED", report.List{Role: "warnings", Items: items})
	}
	var facts report.Facts
	for _, f := range n.Stack {
		facts = append(facts, report.Fact{Term: f.Name, Text: f.Value})
	}
	if len(facts) > 0 {
		add("stack", "Software", facts)
		d.Sections[len(d.Sections)-1].Folded = true
	}
	return d, picture
}

// topoVerdict is what was found, or that nothing is wrong.
func topoVerdict(n *topo.Node) finding.List {
	all := n.Grouped()
	if all.Worst() < finding.Warning && !n.Empty() {
		all = append(all, finding.Finding{Code: judge.CodeNoFault, Text: n.Verdict, Severity: finding.OK})
	}
	return all
}

func topoChips(n *topo.Node) []report.Fact {
	return []report.Fact{{Term: "GPUs", Text: fmt.Sprint(len(n.GPUs))}, {Term: "NICs", Text: fmt.Sprint(len(n.NICs))}, {Term: "Not checked", Text: fmt.Sprint(len(n.NotChecked))}}
}

// portNote is a port's rate, of the rated one if that is known, and its state.
func portNote(c topo.NIC) string {
	var words []string
	if c.Negotiated != nil && c.State != "DOWN" {
		words = append(words, topo.Gigabits(c.Negotiated))
		if c.Rated != nil {
			words = append(words, "of", topo.Gigabits(c.Rated))
		}
	}
	return strings.Join(append(words, c.State), " ")
}

// topoPicture is NUMA nodes, GPUs, NICs and leaves in columns. Lines are PCI's closeness,
// and the cables.
func topoPicture(n *topo.Node) report.Diagram {
	d := report.Diagram{ID: "topo", Title: "GPUs, rails and switches of " + n.Host}
	var numa, gpus, nics, leaves report.DiagramColumn
	numa.Name, gpus.Name, nics.Name, leaves.Name = "NUMA node", "GPU", "NIC", "leaf switch"
	put := func(c *report.DiagramColumn, b report.DiagramBox) {
		if !slices.ContainsFunc(c.Boxes, func(o report.DiagramBox) bool { return o.Name == b.Name }) {
			c.Boxes = append(c.Boxes, b)
		}
	}
	join := func(a, b string, s finding.Severity) {
		d.Lines = append(d.Lines, report.DiagramLine{From: a, To: b, Severity: s})
	}
	for _, g := range n.GPUs {
		put(&gpus, report.DiagramBox{Name: g.PCI, Note: g.Name + " " + g.Compute, Severity: n.Worst(g.PCI)})
		if g.NUMA != nil {
			name := fmt.Sprintf("NUMA %d", *g.NUMA)
			put(&numa, report.DiagramBox{Name: name})
			join(name, g.PCI, finding.Note)
		}
		if g.Rail != nil {
			for _, nic := range g.Rail.NICs {
				join(g.PCI, nic, max(n.Worst(nic), n.Worst(g.PCI)))
			}
		}
	}
	for _, c := range n.NICs {
		put(&nics, report.DiagramBox{Name: c.Name, Note: portNote(c), Severity: n.Worst(c.Name)})
		if c.Leaf != "" {
			put(&leaves, report.DiagramBox{Name: c.Leaf, Note: c.LeafPort})
			join(c.Name, c.Leaf, finding.Note)
		}
	}
	for _, c := range []report.DiagramColumn{numa, gpus, nics, leaves} {
		if len(c.Boxes) > 0 {
			d.Columns = append(d.Columns, c)
		}
	}
	return d
}
