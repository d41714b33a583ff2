package topo

import (
	"io"
	"strings"

	"zbench/bench/base/finding"
	"zbench/bench/base/jsonfile"
	"zbench/bench/base/unit"
)

// mostAlike is the largest number of components that a finding names in addition to its first
// component.
const mostAlike = 8

// Grouped returns the findings for people. Findings that differ only in their component become one
// finding, which names the other components.
func (n *Node) Grouped() finding.List {
	var out finding.List
	at, others := map[Remark]int{}, map[int][]string{}
	for _, f := range n.Findings {
		key := f
		key.Subject = ""
		key.Message, key.Hint = strings.ReplaceAll(f.Message, f.Subject, "\x00"), strings.ReplaceAll(f.Hint, f.Subject, "\x00")
		if i, met := at[key]; met {
			others[i] = append(others[i], f.Subject)
			continue
		}
		at[key] = len(out)
		out = append(out, finding.Finding{Code: f.Code, Severity: f.Mark.severity(), Subject: n.subject(f.Subject), Text: f.Message, Hint: f.Hint})
	}
	for i, names := range others {
		out[i].Text += "; likewise " + unit.FirstFew(names, mostAlike)
	}
	return out
}

// subject returns a component as the subject of a finding.
func (n *Node) subject(name string) *finding.Subject {
	s := &finding.Subject{Kind: finding.Node, Name: name}
	switch {
	case strings.Contains(name, between):
		s.Kind = finding.Link
	case n.gpu(name) != nil:
		s.Kind = finding.GPU
	case n.nic(name) != nil:
		s.Kind = finding.NIC
	}
	if n.Host != "" {
		s.Nodes = []string{n.Host}
	}
	return s
}

// WriteJSON writes the node as JSON, in the form of its file.
func (n *Node) WriteJSON(w io.Writer) error {
	c := *n
	all := n.shown()
	c.Judgement = finding.Judgement{Rules: Rules, State: all.State(!n.Empty()), Findings: jsonfile.Filled(all)}
	return jsonfile.Write(w, "topology", c)
}
