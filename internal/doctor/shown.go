package doctor

import (
	"io"

	"zbench/bench/base/finding"
	"zbench/bench/base/jsonfile"
	"zbench/bench/show/document"
)

// The map `severities` gives the severity of each mark.
var severities = map[Mark]finding.Severity{Good: finding.OK, Bad: finding.Fault, Warn: finding.Warning, Fact: finding.Note}

// Severity returns how much a mark matters.
func (m Mark) Severity() finding.Severity { return severities[m] }

// Shown returns the report for display: the verdict, then each backend and the machine.
func (r *Report) Shown() *document.Document {
	d := &document.Document{
		Command: "doctor", Value: r, Title: "zbench " + r.Tool + " doctor on " + r.Host, Findings: r.findings(), Most: 1,
		Foot: "zbench doctor opens libraries and reads the machine; it measures nothing.",
	}
	for _, b := range r.Backends {
		title := "backend " + b.Name + ": can run"
		switch {
		case !b.Usable:
			title = "backend " + b.Name + ": cannot run"
		case b.Simulated:
			title += " (SIMULATED: a model's times, no GPU needed)"
		}
		d.Add("backend-"+b.Name, title, items(b.Items())).Show(document.Everywhere)
	}
	if len(r.Machine) > 0 {
		d.Add("machine", "machine", items(r.Machine)).Show(document.Everywhere)
	}
	d.Add("unchecked", "NOT CHECKED: it takes a run on the GPUs to see", document.Listed("", r.NotChecked)...).Show(document.Everywhere)
	return d
}

func items(all []Item) document.Items {
	out := make(document.Items, len(all))
	for i, x := range all {
		out[i] = document.Item{Severity: x.Mark.Severity(), Name: x.Name, Text: x.Value, Hint: x.Remedy}
		if x.Lost != "" {
			out[i].More = []string{"lost: " + x.Lost}
		}
	}
	return out
}

// findings returns the verdict, then the defects. If the user's request can run, no defect is a
// fault.
func (r *Report) findings() finding.List {
	worst := finding.Warning
	all := finding.List{{Code: "verdict", Severity: finding.OK, Text: r.Verdict}}
	if !r.Usable {
		worst, all[0].Severity = finding.Fault, finding.Fault
	}
	add := func(code string, items []Item) {
		for _, x := range items {
			if s := min(x.Mark.Severity(), worst); s >= finding.Warning {
				text := x.Name + ": " + x.Value
				if x.Lost != "" {
					text += "; lost: " + x.Lost
				}
				all = append(all, finding.Finding{Code: code, Severity: s, Subject: &finding.Subject{Name: x.Name}, Text: text, Hint: x.Remedy})
			}
		}
	}
	for _, b := range r.Backends {
		add("backend_"+b.Name, b.Items())
	}
	add("machine", r.Machine)
	return all
}

// WriteJSON writes the report as one indented JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	c := *r
	c.Backends, c.Machine, c.NotChecked = jsonfile.Filled(r.Backends), jsonfile.Filled(r.Machine), jsonfile.Filled(r.NotChecked)
	all := r.findings()
	c.Judgement = finding.Judgement{Rules: Rules, State: all.State(true), Findings: all}
	return jsonfile.WriteBare(w, "report of doctor", c)
}
