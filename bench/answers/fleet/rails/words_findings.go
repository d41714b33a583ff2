package rails

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"zbench/bench/base/finding"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
)

// Codes of the findings of slow components, in addition to the common codes.
const (
	CodeSlow    = "slow"
	CodeHealthy = "healthy"
)

// Verdict returns the result as findings, in reading order.
func (d *Document) Verdict() finding.List {
	var out finding.List
	for _, f := range d.Findings {
		kind, lost := "", "has lost "+Percent(f.Lost)+" of its bandwidth"
		switch {
		case d.Kind == OfTimes:
			lost = "lets the others wait for " + Percent(f.Lost) + " of a collective's time"
		case f.Intermittent:
			kind = "intermittent: "
		case f.Lost == 0:
			lost = "has a fault, without a loss of bandwidth"
		}
		out = append(out, finding.Finding{
			Code: CodeSlow, Severity: finding.Fault, Share: f.Lost, Subject: &finding.Subject{Kind: finding.Kind(f.Part), Name: f.Name, Nodes: f.Nodes},
			Text: fmt.Sprintf("%s%s %s (confidence %s): %s", kind, plain.Line(f.Name), lost, f.Level, strings.Join(f.Reasons, "; ")), Evidence: f.Reasons,
		})
	}
	for _, q := range d.Questions {
		text := q.What
		if q.Lost > 0 && !strings.Contains(text, Percent(q.Lost)) { // the text may contain the percentage already
			text += ", " + Percent(q.Lost) + " lost"
		}
		if len(q.Candidates) > 0 {
			text += "; candidates: " + list(q.Candidates)
		}
		out = append(out, finding.Finding{
			Code: finding.CodeUnclear, Severity: finding.Warning, Share: q.Lost, Text: text, Hint: q.Next,
			Candidates: slice.Map(q.Candidates, func(name string) finding.Subject { return finding.Subject{Name: name} }),
		})
	}
	for _, u := range d.Unchecked {
		out = append(out, finding.Finding{Code: finding.CodeNotChecked, Severity: finding.Warning, Text: u})
	}
	if d.State == finding.Healthy {
		out = slices.Insert(out, 0, finding.Finding{Code: CodeHealthy, Severity: finding.OK, Text: d.healthy()})
	}
	if s := d.Survey; s != nil && s.Simulated {
		text := "a model of " + plain.Line(s.Fabric) + " decided these times, not hardware"
		if len(s.Faults) > 0 {
			text += "; planted: " + plain.Line(strings.Join(s.Faults, ", "))
			if slices.ContainsFunc(s.Faults, func(f string) bool { return strings.Contains(f, "left=") }) {
				text += " (left is a share of the wire's rate; a message's start-up time stays, so a message loses less)"
			}
		}
		out = append(out, finding.Finding{Code: finding.CodeSimulated, Severity: finding.Warning, Text: text})
	}
	return out
}

// `healthy` states the scope of an OK: the compared parts and references, and the loss that would be
// named.
func (d *Document) healthy() string {
	if d.Kind == OfTimes {
		return "no rank arrives last beyond chance"
	}
	text := "no component is slow, compared with " + d.Reference
	if len(d.compared) > 0 {
		text += " (" + strings.Join(slice.Distinct(d.compared), ", ") + ")"
	}
	if d.Limit > 0 {
		text += "; a loss of " + Percent(math.Ceil(100*d.Limit)/100) + " would be named"
	}
	return text
}

// list joins names. A long list ends with the number of omitted names.
func list(names []string) string {
	const most = 8
	text := joined(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
