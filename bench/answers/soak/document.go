package soak

import (
	"fmt"
	"io"
	"strings"

	"zbench/bench/base/finding"
	"zbench/bench/base/jsonfile"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/show/document"
	"zbench/bench/show/table"
)

// Schema names the version of soak.json. Rules is the version of the rules behind its findings.
const (
	Schema = "zbench.soak/1"
	Rules  = 1
)

// Codes of the findings, in addition to the common codes.
const (
	CodeClean = "clean"
	CodeArm   = "arm"
)

// Document is the output of zbench soak: soak.json.
type Document struct {
	// Version of the format.
	Schema string `json:"schema"`
	// State is pass, fail or not_checked.
	State finding.State `json:"state"`
	// Simulated is true on the loopback.
	Simulated bool `json:"simulated"`
	// Backend is the vendor of the libraries.
	Backend string `json:"backend"`
	// Fabric is the simulated machine; absent on hardware.
	Fabric string `json:"fabric,omitempty"`
	// Faults are the faults planted into the simulation.
	Faults []string `json:"faults,omitempty"`
	// Fired is the number of times that planted faults changed data.
	Fired int `json:"fired,omitempty"`
	// Seed is the seed for the order of the arms and for the data.
	Seed uint64 `json:"seed"`
	// Nodes are the names of the nodes.
	Nodes []string `json:"nodes"`
	// GPUs is the number of GPUs per node.
	GPUs int `json:"gpus"`
	// Launches is the number of launches per attempt.
	Launches int `json:"launches"`
	// Seconds is the duration of the attempts by the host's clock; absent in a simulation.
	Seconds float64 `json:"seconds,omitempty"`
	// Complete is false if the soak ended before its attempts or its time were used up.
	Complete bool `json:"complete"`
	// Attempts is the number of attempts made.
	Attempts int `json:"attempts"`
	// Wrong is the number of attempts with wrong data.
	Wrong int `json:"wrong"`
	// First is the number of attempts whose first message was wrong.
	First int `json:"first"`
	// UpTo is the upper 95 % bound of the rate of wrong attempts.
	UpTo float64 `json:"up_to" jsonschema:"maximum=1"`
	// Arms are the settings that differ between attempts.
	Arms []Arm `json:"arms"`
	// Senders are the senders of wrong data.
	Senders []Sender `json:"senders"`
	// LeftOut are the arms that were not run, with reasons.
	LeftOut []string `json:"left_out"`
	// Preconditions are the assumptions behind a clean result; none in a simulation.
	Preconditions []Precondition `json:"preconditions"`
	// Environment are the environment variables that matter.
	Environment []Variable `json:"environment"`
	// Judgement is the result as findings.
	Judgement finding.Judgement `json:"judgement"`
}

// Judge adds the result of the attempts. `name` returns a rank's GPU and the name of its node.
func (d *Document) Judge(t *Tally, name func(rank int) (gpu, node string)) {
	d.Schema, d.Attempts, d.Wrong, d.First, d.Fired, d.UpTo = Schema, t.Attempts, t.Wrong, t.First, t.Fired, UpTo(t.Wrong, t.Attempts)
	d.Arms, d.Senders, d.State = t.Arms(), t.Senders(), finding.Pass
	for i := range d.Senders {
		s := &d.Senders[i]
		for _, rank := range s.Ranks {
			gpu, node := name(rank)
			s.Names, s.Nodes = append(s.Names, gpu), append(s.Nodes, node)
		}
		s.Nodes = jsonfile.Filled(slice.Distinct(s.Nodes))
	}
	switch {
	case d.Wrong > 0:
		d.State = finding.Fail
	case len(unchecked(d.Preconditions)) > 0:
		d.State = finding.NotChecked
	}
}

// Counted returns the number of wrong attempts and the bound, in words.
func (d *Document) Counted() string {
	text := fmt.Sprintf("%s wrong in %s of %s", unit.Comma(d.Wrong), unit.Count(d.Attempts, "attempt"), unit.Count(len(d.Nodes), "host"))
	switch {
	case d.UpTo >= 1:
		return text + ": too few for a bound"
	case d.Wrong == 0:
		return text + fmt.Sprintf(": at most 1 in %s attempts like these (95 %%)", unit.Comma(int(1/d.UpTo+1e-9)))
	}
	return text + fmt.Sprintf(": %s, at most %s of attempts like these (95 %%)", unit.SmallPercent(float64(d.Wrong)/float64(d.Attempts)), unit.SmallPercent(d.UpTo))
}

// Findings returns the answer in reading order.
func (d *Document) Findings() finding.List {
	var out finding.List
	switch {
	case d.Wrong > 0:
		out = append(out, finding.Finding{
			Code: finding.CodeWrongData, Severity: finding.Fault, Share: float64(d.Wrong) / float64(d.Attempts),
			Text: d.Counted() + fmt.Sprintf("; in the first message of new connections in %s, only later in %s", unit.Comma(d.First), unit.Comma(d.Wrong-d.First)),
			Hint: "`zbench doctor` says which settings are known to corrupt data here; do not train before it is clean",
		})
	case len(unchecked(d.Preconditions)) == 0:
		out = append(out, finding.Finding{Code: CodeClean, Severity: finding.OK, Text: d.Counted() + "; it says nothing of another number of hosts"})
	default:
		out = append(out, finding.Finding{Code: finding.CodeNotChecked, Severity: finding.Warning, Text: d.Counted() + ", whatever way the data took"})
	}
	for _, s := range d.Senders {
		out = append(out, s.finding())
	}
	for _, a := range d.Arms {
		if a.Named {
			out = append(out, finding.Finding{
				Code: CodeArm, Severity: finding.Note,
				Text: fmt.Sprintf("%s %s: wrong in %s of %s attempts, elsewhere in %s of %s (p = %.2g)", a.Factor, a.Level, unit.Comma(a.Wrong), unit.Comma(a.Attempts),
					unit.Comma(d.Wrong-a.Wrong), unit.Comma(d.Attempts-a.Attempts), a.P),
			})
		}
	}
	for _, p := range unchecked(d.Preconditions) {
		out = append(out, finding.Finding{Code: finding.CodeNotChecked, Severity: finding.Warning, Text: p.Name + ": " + plain.Line(p.Text), Hint: p.Next})
	}
	if d.Simulated {
		text := finding.NotHardware
		if len(d.Faults) > 0 {
			text += fmt.Sprintf("; planted: %s, which changed data %s", plain.Line(strings.Join(d.Faults, ", ")), unit.Count(d.Fired, "time"))
		}
		out = append(out, finding.Finding{Code: finding.CodeSimulated, Severity: finding.Warning, Text: text})
	}
	return out
}

func (s *Sender) finding() finding.Finding {
	f := finding.Finding{Code: finding.CodeWrongData, Severity: finding.Fault}
	who := "no single sender explains these data"
	switch len(s.Ranks) {
	case 0:
	case 1:
		who = "sent by " + s.Names[0]
		f.Subject = &finding.Subject{Kind: finding.GPU, Name: s.Names[0], Nodes: s.Nodes}
	default:
		who = fmt.Sprintf("sent by one of %d", len(s.Ranks))
		f.Candidates = slice.Map(s.Names, func(name string) finding.Subject { return finding.Subject{Kind: finding.GPU, Name: name} })
	}
	f.Text = fmt.Sprintf("%s in %s (%d of them with a wrong first message) to %s; there stood %s", who, unit.Count(s.Attempts, "attempt"), s.First,
		unit.Count(len(s.Receivers), "rank"), strings.Join(slice.Map(s.Patterns, describe), ", "))
	if s.Example != "" {
		f.Text += "; " + s.Example
	}
	return f
}

// WriteJSON writes the document.
func (d *Document) WriteJSON(w io.Writer) error {
	c := *d
	c.Judgement = finding.Judgement{Rules: Rules, State: d.State, Findings: d.Findings()}
	return jsonfile.Write(w, "soak.json", c)
}

// Shown returns the document in the form that people read. version is zbench's version.
func (d *Document) Shown(version string) *document.Document {
	out := &document.Document{
		Command: "soak", Value: d, Title: fmt.Sprintf("Soak of %s with %s each", unit.Count(len(d.Nodes), "node"), unit.Count(d.GPUs, "GPU")),
		Lead: d.Counted() + ".", State: d.State, Findings: d.Findings(),
		Chips: []document.Fact{{Term: "State", Text: string(d.State)}, {Term: "Attempts", Text: unit.Comma(d.Attempts)}, {Term: "Wrong", Text: unit.Comma(d.Wrong)}},
		Foot:  "An attempt is new communicators, and all that is launched on them. Written by zbench " + version + ".",
	}
	if d.Simulated {
		out.Simulate()
	}
	arms := table.Of([]string{"FACTOR", "LEVEL", "ATTEMPTS", "WRONG", "UP TO", "P", ""})
	for _, a := range d.Arms {
		arms.Add(a.Factor, a.Level, unit.Comma(a.Attempts), unit.Comma(a.Wrong), unit.SmallPercent(a.UpTo), fmt.Sprintf("%.2g", a.P), map[bool]string{true: "more often wrong"}[a.Named])
	}
	for _, i := range []int{2, 3, 4, 5} {
		arms.Columns[i].Right = true
	}
	arms.Notes = []string{"UP TO: the largest rate that is possible, at 95 %. P: Fisher's exact test against all other attempts, two-sided, times the number of tests."}
	out.Results("Arms", document.Sheet{Table: arms, Label: "arms", Role: document.ResultsID}).Show(document.Everywhere)
	facts := document.Facts{{Term: "Backend", Text: d.Backend}, {Term: "Launches", Text: fmt.Sprintf("%d in each attempt, verified whole", d.Launches)}}
	if d.Seconds > 0 {
		facts = append(facts, document.Fact{Term: "Time", Text: fmt.Sprintf("%s, %s an attempt", unit.Seconds(d.Seconds), unit.Seconds(d.Seconds/float64(d.Attempts)))})
	}
	out.Add("survey", "What was done", facts)
	out.Add("left", "Left out", document.Listed("small", d.LeftOut)...)
	known := table.Of([]string{"PRECONDITION", "FOUND"})
	for _, p := range d.Preconditions {
		known.Add(p.Name, map[bool]string{false: "NOT CHECKED: "}[p.Checked]+plain.Line(p.Text))
	}
	for _, v := range d.Environment {
		if v.Value != "" {
			known.Add(v.Name, plain.Line(v.Value))
		}
	}
	if known.Filled() {
		out.Add("conditions", "Preconditions and environment", document.Sheet{Table: known, Label: "preconditions"}).Show(document.Page | document.Verbose | document.Markdown)
	}
	return out
}
