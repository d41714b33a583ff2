package topo

import (
	"fmt"
	"io"
	"strings"

	"zbench/bench/finding"
	"zbench/bench/jsonfile"
	"zbench/bench/plain"
	"zbench/bench/table"
)

// Text writes the node for a terminal of a width in columns, 0 for 120: the verdict, the
// findings, the tables, and what was not checked.
func (n *Node) Text(w io.Writer, width int) error {
	if width == 0 {
		width = table.Terminal
	}
	before, after := n.lines(width)
	return around(w, before, after, func(w io.Writer) error { return table.Text(w, width, n.Tables()...) }, len(n.Tables()) > 0)
}

// around writes lines, tables, lines, with an empty line between two.
func around(w io.Writer, before, after []string, tables func(io.Writer) error, some bool) error {
	var b strings.Builder
	b.WriteString(strings.Join(before, "\n") + "\n")
	if some {
		b.WriteString("\n")
		if err := tables(&b); err != nil {
			return err
		}
	}
	if len(after) > 0 {
		b.WriteString("\n" + strings.Join(after, "\n") + "\n")
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write topology: %w", err)
	}
	return nil
}

// mostAlike is the number of components that a line for people names beside the first.
const mostAlike = 8

// Grouped are the findings for people: those that differ in their component alone are one,
// the first, which names the others.
func (n *Node) Grouped() finding.List {
	var out finding.List
	at, others := map[Finding]int{}, map[int][]string{}
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
		more := ""
		if len(names) > mostAlike {
			more = fmt.Sprintf(" and %d more", len(names)-mostAlike)
		}
		out[i].Text += "; likewise " + strings.Join(names[:min(len(names), mostAlike)], ", ") + more
	}
	return out
}

// subject is a component as what a finding is about.
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

// Markdown writes the node for an issue or a page.
func (n *Node) Markdown(w io.Writer) error {
	before := []string{"**" + plain.Markdown(plain.Line(n.Heading())) + "**"}
	if len(n.Findings) > 0 {
		before = append(before, "")
	}
	for _, f := range n.Grouped() {
		line := "- " + signs[f.Severity] + " " + plain.Markdown(plain.Line(f.Text))
		if f.Hint != "" {
			line += " → " + plain.Markdown(plain.Line(f.Hint))
		}
		before = append(before, line)
	}
	var after []string
	if len(n.NotChecked) > 0 {
		after = append(after, "**NOT CHECKED**", "")
	}
	for _, u := range n.NotChecked {
		after = append(after, "- "+plain.Markdown(plain.Line(u.What+": "+u.Why+" → "+u.Next)))
	}
	return around(w, before, after, func(w io.Writer) error { return table.Markdown(w, n.Tables()...) }, len(n.Tables()) > 0)
}

// WriteJSON writes the node as its file has it.
func (n *Node) WriteJSON(w io.Writer) error { return jsonfile.Write(w, "topology", n) }
