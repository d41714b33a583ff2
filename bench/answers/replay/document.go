package replay

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"zbench/bench/base/finding"
	"zbench/bench/base/jsonfile"
	"zbench/bench/base/stat"
	"zbench/bench/base/unit"
	"zbench/bench/show/document"
	"zbench/bench/show/table"
)

// Schema is the version of replay.json. Rules is the version of the rules that make its findings.
const (
	Schema = "zbench.replay/1"
	Rules  = 1
)

// SchemaJSON is the JSON Schema (draft 2020-12) of WriteJSON's output.
//
//go:embed schema/v1.json
var SchemaJSON []byte

// Document is the result of timed steps with several settings.
type Document struct {
	// Version of the format.
	Schema string `json:"schema"`
	// Simulated is true if a model, not hardware, decided the times.
	Simulated bool `json:"simulated"`
	// Backend of the steps.
	Backend string `json:"backend"`
	// Faults planted into the simulation; absent if there are none.
	Faults []string `json:"faults,omitempty"`
	// Trainer of the steps.
	Trainer string `json:"trainer"`
	// Knob is the name of the trainer's setting.
	Knob string `json:"knob"`
	// Model is the name of the model; empty if the model has no name.
	Model string `json:"model"`
	// Ranks of the world.
	Ranks int `json:"ranks" jsonschema:"minimum=1"`
	// Margin is the difference that matters, as a share of a step.
	Margin float64 `json:"margin" jsonschema:"exclusiveMinimum=0"`
	// Level bounds the probability of any false verdict.
	Level float64 `json:"level"`
	// Block is the number of timed steps of a setting per turn.
	Block int `json:"block" jsonschema:"minimum=1"`
	// Announced is the announcement before the deciding steps; null if only the first rounds were
	// taken.
	Announced *Announced `json:"announced"`
	// Taken is the number of steps of all settings together, including untimed ones.
	Taken int `json:"taken"`
	// Compute is a step without messages, in seconds; null if it was not timed.
	Compute *float64 `json:"compute"`
	// Own is a step of the job from its trace, replayed before all other steps; absent without a trace.
	Own *Own `json:"own,omitempty"`
	// Messages are the messages' own times in the first step; null if there are none.
	Messages *Messages `json:"messages"`
	// Contention is the mutual slowdown of computation and messages; absent unless it was requested.
	Contention *Contention `json:"contention,omitempty"`
	// Policies are the effects of policies of the library; absent if none was requested.
	Policies []PolicyEffect `json:"policies,omitempty"`
	// Slow lists the components that make messages slow; absent unless steps were longer than expected and
	// zbench looked for the cause.
	Slow finding.List `json:"slow,omitempty"`
	// Ended is the reason why the steps ended early; absent if they did not end early.
	Ended string `json:"ended,omitempty"`
	// Settings in the order of their turns. The other settings are compared with the first setting. The
	// last setting repeats the first.
	Settings []Setting `json:"settings"`
	// Judgement has the result as findings.
	Judgement finding.Judgement `json:"judgement"`

	// `predicted` are the steps that the curves predict, by setting, for the chart.
	predicted []document.Point
}

// Predict adds the predicted step with a setting, in elements, to the line of the chart. Settings
// ascend.
func (d *Document) Predict(elements int64, step float64) {
	d.predicted = append(d.predicted, document.Point{Bytes: elements, Value: step})
}

// Setting is one setting with its steps.
type Setting struct {
	// Name of the setting: default, current, answer, half, double; empty for a requested setting.
	Name string `json:"name"`
	// Amount is the setting in its trainer's unit.
	Amount string `json:"amount"`
	// Elements is the setting, in elements.
	Elements int64 `json:"elements"`
	// Number of messages of a step.
	Messages int `json:"messages"`
	// Predicted is the step that the curves predict, in seconds; null without curves. No verdict depends on
	// the prediction.
	Predicted *float64 `json:"predicted"`
	// Steps are the timed steps, of the slowest rank; null if there are none.
	Steps *stat.Summary `json:"steps"`
	// Difference from the first setting; null if there are too few steps.
	Difference *Difference `json:"difference"`
}

// `named` returns the setting's name in a sentence.
func (s *Setting) named() string {
	switch s.Name {
	case "":
		return s.Amount
	case "answer":
		return "the answer, " + s.Amount + ","
	}
	return "the " + s.Name + ", " + s.Amount + ","
}

// Fill copies the outcome into the settings, which have the same order.
func (d *Document) Fill(o *Outcome) {
	d.Taken, d.Announced = d.Taken+o.Taken, o.Announced
	for i := range d.Settings {
		d.Settings[i].Steps = stat.Summarize(o.Steps[i])
		if o.Differences != nil {
			d.Settings[i].Difference = &o.Differences[i]
		}
	}
}

// Codes of the findings.
const (
	CodeOwn        = "own_step"
	CodeDifference = "difference"
	CodeSame       = "same"
	CodeUnsteady   = "unsteady"
	CodeOff        = "prediction_off"
	CodeEnded      = "ended"
)

// offBy is the least reported difference between prediction and measurement, as a share.
const offBy = 0.03

// Findings returns the findings in reading order: disturbances, then one finding per setting, then a wrong
// prediction.
func (d *Document) Findings() finding.List {
	var list finding.List
	if d.Ended != "" {
		list = append(list, finding.Finding{Code: CodeEnded, Severity: finding.Warning, Text: "The steps ended early: " + d.Ended + "."})
	}
	if d.Own != nil {
		list = append(list, d.simulated(d.Own.finding()))
	}
	for _, f := range d.Slow {
		list = append(list, d.simulated(f))
	}
	if d.Messages != nil {
		for _, f := range d.Messages.findings() {
			list = append(list, d.simulated(f))
		}
	}
	if d.Contention != nil {
		list = append(list, d.simulated(d.Contention.finding(d.Margin)))
	}
	for i := range d.Policies {
		list = append(list, d.simulated(d.Policies[i].finding(d.Simulated)))
	}
	last := len(d.Settings) - 1
	if last < 0 {
		return list
	}
	if x := d.Settings[last].Difference; x != nil && (x.Verdict == Faster || x.Verdict == Slower) {
		list = append(list, finding.Finding{
			Code: CodeUnsteady, Severity: finding.Warning, Text: fmt.Sprintf("The machine changes between blocks: %s is %s than itself. No difference of this size means anything.", d.Settings[0].named(), percent(x)),
			Hint: "find out what else runs, and repeat",
		})
	}
	for i := 1; i <= last; i++ {
		if x := d.Settings[i].Difference; i < last || x != nil && x.Verdict == Undecided {
			list = append(list, d.simulated(d.finding(&d.Settings[i])))
		}
	}
	if s := d.off(); s != nil {
		f := finding.Finding{
			Code: CodeOff, Severity: finding.Warning, Text: fmt.Sprintf("The curves predict other steps than those taken: with %s %s, and a step takes %s.", s.Amount, unit.Seconds(*s.Predicted), unit.Seconds(s.Steps.Median)),
			Hint: "something has changed since the sweep, or steps need what it does not have: sweep again, and look for a slow component",
		}
		if m := d.Messages; m != nil && m.Communicators > 1 && s.Steps.Median < *s.Predicted {
			f.Severity, f.Hint = finding.Note, "the prediction sends one message at a time; those of several communicators may run beside one another"
		}
		list = append(list, f)
	}
	return list
}

// `simulated` marks a finding as the result of a model, because its sentence may be copied without the page
// around it.
func (d *Document) simulated(f finding.Finding) finding.Finding {
	if d.Simulated {
		f.Text = "SIMULATED: " + f.Text
	}
	return f
}

// Slower reports whether steps are longer than in the trace, or than the curves predict, or whether
// messages wait for launches.
func (d *Document) Slower() bool {
	if d.Messages != nil && d.Messages.LaunchedLate() {
		return true
	}
	if d.Own != nil && d.Own.Steps != nil && d.Own.off() > ownWithin {
		return true
	}
	s := d.off()
	return s != nil && s.Steps.Median > *s.Predicted
}

// `off` returns the setting whose prediction is furthest off; nil if no prediction is off by more than offBy.
func (d *Document) off() (worst *Setting) {
	most := offBy
	for i := range d.Settings {
		if s := &d.Settings[i]; s.Steps != nil && s.Predicted != nil {
			if by := math.Abs(s.Steps.Median / *s.Predicted - 1); by > most {
				worst, most = s, by
			}
		}
	}
	return worst
}

// finding returns the verdict on a setting in words.
func (d *Document) finding(s *Setting) finding.Finding {
	first := &d.Settings[0]
	switch x := s.Difference; {
	case x == nil:
		return finding.Finding{Code: finding.CodeNotChecked, Severity: finding.Warning, Text: fmt.Sprintf("Too few steps with %s were taken.", s.Amount)}
	case x.Verdict == Same:
		return finding.Finding{Code: CodeSame, Severity: finding.OK, Text: fmt.Sprintf("Between %s and %s there is no difference above %s.", s.Amount, first.Amount, unit.Percent(d.Margin))}
	case x.Verdict == Undecided:
		return finding.Finding{
			Code: finding.CodeUnclear, Severity: finding.Warning,
			Text: fmt.Sprintf("Undecided after %s: a step with %s takes %s to %s of one with the %s, %s.", unit.Count(d.Taken, "step"), strings.TrimSpace(s.Name+" "+s.Amount), share(1+x.Lo), share(1+x.Hi), first.Name, first.Amount),
			Hint: "raise --max-steps, or --margin if less precision is enough",
		}
	default:
		return finding.Finding{Code: CodeDifference, Severity: finding.Note, Text: fmt.Sprintf("%s is %s than the %s, %s.", s.Amount, percent(x), first.Name, first.Amount)}
	}
}

func share(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }

// percent formats a difference with half the width of its interval: 1.8 ± 0.3 % faster.
func percent(x *Difference) string {
	half := 50 * (x.Hi - x.Lo)
	digits := min(max(0, -int(math.Floor(math.Log10(half)))), 2)
	return fmt.Sprintf("%.*f ± %.*f %% %s", digits, 100*math.Abs(x.Mean), digits, half, x.Verdict)
}

// `compared` gives the gate the steps and their predictions. It does so only in a simulation, where the
// curves are known to be of this machine.
func (d *Document) compared() []finding.Compared[string] {
	c := finding.Compared[string]{Class: "steps against the curves", Limit: offBy, Reference: 1}
	for _, s := range d.Settings {
		if d.Simulated && s.Steps != nil && s.Predicted != nil {
			c.Figures = append(c.Figures, finding.Figure[string]{Subject: s.Amount, Rate: *s.Predicted / s.Steps.Median})
		}
	}
	return []finding.Compared[string]{c}
}

// State returns the state of the findings: a fail if slow components were found, unclear if
// messages wait, if steps are longer than predicted, or if a setting is undecided.
func (d *Document) State() finding.State {
	if slow := d.Slow.State(true); slow != finding.Pass {
		return slow
	}
	doubts, _ := finding.Gate(d.compared(), func(string) bool { return false })
	if len(doubts) > 0 || d.Messages != nil && d.Messages.findings().Worst() == finding.Warning {
		return finding.Unclear
	}
	if d.Ended != "" || d.Own != nil && !d.Own.Fits() {
		return finding.Unclear
	}
	if len(d.Settings) == 0 {
		return finding.Pass
	}
	for _, s := range d.Settings[1:] {
		if s.Difference == nil || s.Difference.Verdict == Undecided {
			return finding.Unclear
		}
	}
	if x := d.Settings[len(d.Settings)-1].Difference; x.Verdict != Same {
		return finding.Unclear
	}
	return finding.Pass
}

// WriteJSON writes replay.json.
func (d *Document) WriteJSON(w io.Writer) error {
	c := *d
	c.Judgement = finding.Judgement{Rules: Rules, State: d.State(), Findings: d.Findings()}
	return jsonfile.Write(w, "replay", c)
}

// Shown returns the document for readers.
func (d *Document) Shown() *document.Document {
	lead := unit.Count(d.Ranks, "rank")
	if d.Trainer != "" {
		lead = d.Trainer + " · " + lead
	}
	if d.Model != "" {
		lead += " · " + d.Model
	}
	out := &document.Document{
		Command: "replay", Value: d, CSV: d.csv, Title: "Steps by bucket size", Lead: lead, State: d.State(), Findings: d.Findings(),
		Foot: "Times are those of the slowest rank.",
	}
	if len(d.Settings) == 0 {
		out.Title = "The trace's own step"
	} else {
		out.Foot += fmt.Sprintf(" Intervals hold all at once with a probability of %s.", unit.Percent(1-d.Level))
	}
	if d.Simulated {
		out.Simulate()
	}
	if c := d.chart(); !c.Empty() {
		title := "Predicted and measured"
		if len(d.predicted) == 0 {
			title, c.Title = "Measured", "Step time by bucket size"
		}
		out.Add("steps", title, document.Plot{Chart: c})
	}
	if d.Contention != nil {
		out.Foot += " Of computation they are the mean over ranks."
		out.Add("contention", "Contention", document.Sheet{Table: d.Contention.table(), Label: "Computation and messages"}).Show(document.Everywhere)
	}
	out.Results("Settings", document.Sheet{Table: d.table(), Label: "Settings", Role: document.ResultsID}).Show(document.Everywhere)
	return out
}

// chart returns the measured and the predicted step by setting.
func (d *Document) chart() document.Chart {
	c := document.StepChart("predicted", d.Simulated)
	c.Notes = []string{"Bars are the 95 % intervals of the measured medians."}
	predicted, measured := &c.Series[0], &c.Series[1]
	if len(d.Settings) == 0 {
		return c
	}
	settings := d.Settings[:len(d.Settings)-1]
	least, most := settings[0].Elements, settings[0].Elements
	for _, s := range settings {
		least, most = min(least, s.Elements), max(most, s.Elements)
		if m := s.Steps; m != nil {
			measured.Points = append(measured.Points, document.MeasuredStep(s.Elements, m.Median, m.Lo, m.Hi, m.N))
		}
	}
	for _, p := range d.predicted {
		if least/2 <= p.Bytes && p.Bytes <= 2*most {
			predicted.Points = append(predicted.Points, p)
		}
	}
	slices.SortFunc(measured.Points, func(a, b document.Point) int { return cmp.Compare(a.Bytes, b.Bytes) })
	return c
}

// table has a row for each setting.
func (d *Document) table() table.Table {
	t := table.Numbers("bucket", "messages", "steps", "step", "predicted", "exposed", "difference", "from", "to")
	t.Columns = append(append([]table.Column{{Name: "setting"}}, t.Columns...), table.Column{Name: "verdict"})
	row := func(name, amount string, messages int, steps *stat.Summary, compute *float64) []string {
		cells := []string{name, amount, unit.Comma(messages), "–", "–", "–", "–", "–", "–", "–", "–"}
		if steps != nil {
			cells[3], cells[4] = unit.Comma(steps.N), unit.Seconds(steps.Median)
			if compute != nil {
				cells[6] = unit.Seconds(max(0, steps.Median-*compute))
			}
		}
		return cells
	}
	if o := d.Own; o != nil {
		t.Add(row("the trace's own", "–", o.Messages, o.Steps, &o.Compute)...)
	}
	for _, s := range d.Settings {
		cells := row(s.Name, s.Amount, s.Messages, s.Steps, d.Compute)
		if s.Predicted != nil {
			cells[5] = unit.Seconds(*s.Predicted)
		}
		if x := s.Difference; x != nil {
			format := document.Change.Format
			cells[7], cells[8], cells[9], cells[10] = format(x.Mean), format(x.Lo), format(x.Hi), string(x.Verdict)
		}
		t.Add(cells...)
	}
	return t
}

func (d *Document) csv() (header []string, rows [][]string) {
	header = []string{"setting", "elements", "messages", "steps", "step_seconds", "predicted_seconds", "difference", "lo", "hi", "verdict"}
	for _, s := range d.Settings {
		row := []string{s.Name, fmt.Sprint(s.Elements), fmt.Sprint(s.Messages), "", "", "", "", "", "", ""}
		if s.Predicted != nil {
			row[5] = fmt.Sprint(*s.Predicted)
		}
		if s.Steps != nil {
			row[3], row[4] = fmt.Sprint(s.Steps.N), fmt.Sprint(s.Steps.Median)
		}
		if x := s.Difference; x != nil {
			row[6], row[7], row[8], row[9] = fmt.Sprint(x.Mean), fmt.Sprint(x.Lo), fmt.Sprint(x.Hi), string(x.Verdict)
		}
		rows = append(rows, row)
	}
	return header, rows
}
