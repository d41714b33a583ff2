package nodewatch

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"zbench/bench/answers/fleet/history"
	"zbench/bench/base/finding"
	"zbench/bench/base/jsonfile"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/show/document"
	"zbench/bench/show/table"
)

// Schema is the version of watch.json. Rules is the version of the rules that make its findings.
const (
	Schema = "zbench.watch/1"
	Rules  = 1
)

// Document is the result of one check of a node.
type Document struct {
	// Version of the format.
	Schema string `json:"schema"`
	// Host is the name of the node.
	Host string `json:"host"`
	// Time of the check in UTC.
	Time time.Time `json:"time"`
	// Check is the number of this check since the memory began; 0 if there is no memory.
	Check int64 `json:"check"`
	// Action is the most severe action of the findings.
	Action Action `json:"action"`
	// Reason is the first finding with this action, in one line for scontrol; empty without a finding.
	Reason string `json:"reason"`
	// Withheld is the reason why an ISOLATE was not carried out; empty otherwise.
	Withheld string `json:"withheld"`
	// Simulated is true if the loopback timed the measurements.
	Simulated bool `json:"simulated"`
	// Findings are the defects, the most severe first.
	Findings []Found `json:"findings"`
	// Fallen are the kinds of figures in which the node's components, taken together, are below their past.
	Fallen []string `json:"fallen"`
	// Excused are the kinds whose comparison with the past starts again because the fleet fell together.
	Excused []string `json:"excused"`
	// Unchecked lists what was not judged, with reasons.
	Unchecked []string `json:"unchecked"`
	// Judgement has the result as findings.
	Judgement finding.Judgement `json:"judgement"`
}

// Found is one defect.
type Found struct {
	// Action for this defect: MONITOR, RESET or ISOLATE.
	Action Action `json:"action"`
	// Code is stable across versions.
	Code string `json:"code"`
	// Subject is the component: a GPU, a NIC, a link, or the node.
	Subject string `json:"subject"`
	// Message states the defect.
	Message string `json:"message"`
	// Next is the next step.
	Next string `json:"next"`
	// Checks is the number of the last checks that showed the defect, this check included.
	Checks int `json:"checks"`
	// Times is the number of log lines in this check.
	Times int `json:"times"`
	// Lost is the missing share of a bandwidth or rate, 0 to 1; 0 if the defect is not a loss.
	Lost float64 `json:"lost" jsonschema:"maximum=1"`
	// Pending is true if a longer measurement would decide whether to isolate the node.
	Pending bool `json:"pending"`

	decline history.Decline
}

func (d *Document) index(code, subject string) int {
	return slices.IndexFunc(d.Findings, func(f Found) bool { return f.Code == code && f.Subject == subject })
}

func (d *Document) add(a Action, code, subject, message, next string) int {
	d.Findings = append(d.Findings, Found{Action: a, Code: code, Subject: plain.Line(subject), Message: plain.Line(message), Next: next, Checks: 1, Times: 1})
	return len(d.Findings) - 1
}

// `found` adds a finding with the action of its code. Some codes become ISOLATE if the finding repeats.
func (d *Document) found(m *history.Memory, code, subject, message, next string) {
	action, again := hard[code], m.Again(code+" "+subject)
	if action == "" {
		action = Monitor
	}
	if slices.Contains(repeated, code) && again >= history.Separate {
		action = Isolate
	}
	d.Findings[d.add(action, code, subject, message, next)].Checks = again
}

// mostReason is the length of a reason in bytes that fits a line of sinfo -R.
const mostReason = 160

// Conclude sorts the findings and sets action and reason.
func (d *Document) Conclude() {
	slices.SortStableFunc(d.Findings, func(a, b Found) int { return b.Action.rank() - a.Action.rank() })
	d.Action, d.Reason = None, ""
	if len(d.Findings) > 0 {
		f := d.Findings[0]
		d.Action = f.Action
		text := fmt.Sprintf("zbench: %s %s: %s", f.Code, f.Subject, f.Message)
		d.Reason = strings.ToValidUTF8(text[:min(len(text), mostReason)], "")
	}
}

// State returns Faulty for RESET and ISOLATE, and Healthy for all other actions.
func (d *Document) State() finding.State {
	if d.Action.rank() >= Reset.rank() {
		return finding.Faulty
	}
	return finding.Healthy
}

// severity returns how much an action matters.
func (a Action) severity() finding.Severity {
	if a.rank() >= Reset.rank() {
		return finding.Fault
	}
	return finding.Warning
}

// findings returns the result in the common form.
func (d *Document) findings() (out finding.List) {
	head := finding.Finding{Code: "watch", Severity: finding.OK, Text: "OK: no check of the node failed"}
	if d.Action != None {
		head.Severity, head.Text = d.Action.severity(), string(d.Action)+": "+plain.Count(len(d.Findings), "finding")
	}
	if d.Withheld != "" {
		head.Text += "; not isolated: " + d.Withheld
	}
	if d.Simulated {
		head.Text += " (SIMULATED)"
	}
	out = append(out, head)
	for _, f := range d.Findings {
		out = append(out, finding.Finding{
			Code: f.Code, Severity: f.Action.severity(), Share: f.Lost, Hint: f.Next,
			Subject: &finding.Subject{Name: f.Subject, Nodes: []string{d.Host}}, Text: string(f.Action) + ": " + f.Subject + ": " + f.Message,
		})
	}
	return append(out, slice.Map(d.Unchecked, func(u string) finding.Finding {
		return finding.Finding{Code: finding.CodeNotChecked, Severity: finding.Note, Text: "NOT CHECKED: " + plain.Line(u)}
	})...)
}

// WriteJSON writes the document.
func (d *Document) WriteJSON(w io.Writer) error {
	out := *d
	all := d.findings()
	out.Findings, out.Unchecked, out.Fallen = jsonfile.Filled(d.Findings), jsonfile.Filled(d.Unchecked), jsonfile.Filled(d.Fallen)
	out.Excused = jsonfile.Filled(d.Excused)
	out.Judgement = finding.Judgement{Rules: Rules, State: d.State().General(), Findings: all}
	return jsonfile.Write(w, "watch", &out)
}

// Shown returns the document for readers. version is zbench's version.
func (d *Document) Shown(version string) *document.Document {
	out := &document.Document{
		Command: "watch", Value: d, Title: "Check of " + plain.Line(d.Host), Lead: "The node was compared with its own past.",
		State: d.State(), Findings: d.findings(), Most: 20, Foot: "Written by zbench " + version + ".",
	}
	if d.Simulated {
		out.Simulate()
	}
	t := table.Of([]string{"ACTION", "PART", "FOUND", "NEXT"})
	t.Columns[2].Wrap, t.Columns[3].Wrap = table.Sentences, table.Sentences
	for _, f := range d.Findings {
		t.Add(string(f.Action), f.Subject, f.Message, f.Next)
	}
	if len(d.Findings) > 0 {
		out.Add("findings", "Findings and next steps", document.Sheet{Table: t, Label: "findings"}).Show(document.Page | document.Verbose | document.Markdown)
	}
	return out
}
