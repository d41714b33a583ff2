package nodescreen

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
)

// area is a subject of a screen. `things` names the parts of a node that are counted, such as NICs.
type area struct {
	name, things string
	// The function `of` calls `add` once for each part of a node. `counts` is true if the part needs the
	// check. `known` is true if the node's report covers the part.
	of func(n *Node, add func(counts, known bool))
}

// areas are the subjects that a report may lack without a finding.
var areas = []area{
	{"NICs", "nodes", func(n *Node, add func(counts, known bool)) { add(true, len(n.NICs) > 0) }},
	{"states of NIC ports", "NICs", nicsThat(func(c NIC) (bool, bool) { return true, c.State != "" })},
	{"speeds of NIC ports", "active NICs", nicsThat(func(c NIC) (bool, bool) { return c.State == active, c.Negotiated != nil })},
	{"collectives over single NICs", "active NICs", nicsThat(func(c NIC) (bool, bool) { return c.State == active, c.Collective != nil })},
	{"versions", "nodes", func(n *Node, add func(counts, known bool)) { add(true, len(n.Facts) > 0) }},
	{"memory of GPUs", "GPUs", gpusThat(func(g GPU) bool { return g.Memory != nil })},
	{"products of GPUs", "GPUs", gpusThat(func(g GPU) bool { return g.Product != nil })},
	{"collective over the GPUs of a node", "nodes", func(n *Node, add func(counts, known bool)) { add(len(n.GPUs) > 1, n.Collective != nil) }},
	{"links between the GPUs of a node", "nodes", func(n *Node, add func(counts, known bool)) { add(len(n.GPUs) > 1, n.Links != nil) }},
}

// gpusThat returns the function `of` for an area of GPUs.
func gpusThat(known func(g GPU) bool) func(n *Node, add func(counts, known bool)) {
	return func(n *Node, add func(counts, known bool)) {
		for _, g := range n.GPUs {
			add(true, known(g))
		}
	}
}

// nicsThat returns the function `of` for an area of NICs.
func nicsThat(is func(c NIC) (counts, known bool)) func(n *Node, add func(counts, known bool)) {
	return func(n *Node, add func(counts, known bool)) {
		for _, c := range n.NICs {
			add(is(c))
		}
	}
}

// unchecked lists the gaps that no finding covers: missing parts of reports, omitted steps of
// nodes, and comparisons without a counterpart.
func (d *Document) unchecked(nodes []*Node) {
	for _, a := range areas {
		all, missing := 0, 0
		for _, n := range nodes {
			a.of(n, func(counts, known bool) {
				if counts {
					all++
				}
				if counts && !known {
					missing++
				}
			})
		}
		if missing > 0 {
			d.Unchecked = append(d.Unchecked, fmt.Sprintf("%s: missing for %d of %d %s", a.name, missing, all, a.things))
		}
	}
	all := slices.Concat(slice.Map(nodes, func(n *Node) []string { return n.Notes })...)
	notes, of := slice.Group(all, func(note string) string { return note })
	for _, note := range notes {
		d.Unchecked = append(d.Unchecked, fmt.Sprintf("%s (%s)", note, plain.Count(len(of[note]), "node")))
	}
	if len(nodes) == 1 {
		d.Unchecked = append(d.Unchecked, "differences between nodes: one node reported")
	}
}

// notChecked lists the unchecked things in a few words, without their reasons.
func (d *Document) notChecked() string {
	if len(d.Unchecked) == 0 {
		return ""
	}
	heads := slice.Distinct(slice.Map(d.Unchecked, func(u string) string {
		head, _, _ := strings.Cut(u, ": ")
		return head
	}))
	return "; NOT CHECKED: " + plain.Line(strings.Join(heads, ", "))
}
