package suite

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/exit"
	"zbench/bench/base/finding"
	"zbench/bench/base/jsonfile"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
	"zbench/bench/show/table"
)

// Schema is the version of suite.json. Rules is the version of the rules that make its findings.
const (
	Schema = "zbench.suite/1"
	Rules  = 1
)

// agreement is the largest difference, as a share, at which a figure agrees with a published figure.
const agreement = 0.05

// Verdicts on a figure that has a published figure beside it. A model's figure is not compared, because
// the model was fitted to published figures.
const (
	Agrees      = "agrees"
	Differs     = "differs"
	NotCompared = "not_compared"
)

// Verdicts returns all verdicts.
func Verdicts() []string { return []string{Agrees, Differs, NotCompared} }

// The origins of a row's figures.
const (
	Measured   = "measured"
	Simulated  = "simulated"
	Emulated   = "emulated"
	HostMemory = "host memory"
)

// Origins returns all origins.
func Origins() []string { return []string{Measured, Simulated, Emulated, HostMemory} }

// Document is the content of suite.json.
type Document struct {
	// Version of the format.
	Schema string `json:"schema"`
	// Suite is the name of the suite.
	Suite string `json:"suite"`
	// About says what the suite is for.
	About string `json:"about"`
	// Nodes is the number of nodes.
	Nodes int `json:"nodes"`
	// Complete is false if rows have not run yet.
	Complete bool `json:"complete"`
	// Rows are the rows in the order in which they run.
	Rows []Outcome `json:"rows"`
	// Judgement has the result as findings.
	Judgement finding.Judgement `json:"judgement"`
}

// Outcome is the result of one row.
type Outcome struct {
	// Name of the row and of its folder.
	Name string `json:"name"`
	// Title of the row for people.
	Title string `json:"title"`
	// Command is the command line without the folder; empty if the row could not run.
	Command string `json:"command"`
	// Folder is the folder of the result, below the suite's folder.
	Folder string `json:"folder"`
	// State is pass, fail, unclear or not_checked.
	State finding.State `json:"state"`
	// Code is the exit code of the command; null if the command did not run.
	Code *int `json:"code"`
	// Reason says why the row did not pass; empty if the row passed.
	Reason string `json:"reason"`
	// Origin says where the figures come from: measured, simulated, emulated, host memory; empty
	// without a result.
	Origin string `json:"origin"`
	// Figures of the row.
	Figures []Measure `json:"figures"`

	// chart is the chart of the row's result; nil if it has none.
	chart document.Block
}

// Measure is a figure of a row with the figures that others published.
type Measure struct {
	// Name of the figure.
	What string `json:"what"`
	// Value in base units; null if the figure is a text, or if there is no figure.
	Value *float64 `json:"value"`
	// Lower end of the value's 95 % interval; null if unknown.
	Lo *float64 `json:"lo"`
	// Upper end of the value's 95 % interval; null if unknown.
	Hi *float64 `json:"hi"`
	// Text is the figure for people; empty if there is no figure.
	Text string `json:"text"`
	// Why says why there is no figure; absent if there is one.
	Why string `json:"why,omitempty"`
	// Published are the figures that others published; empty if there are none.
	Published []Compared `json:"published"`

	show func(float64) string
}

// Compared is a published figure beside the figure of this suite.
type Compared struct {
	Published
	// Text is the published value for people.
	Text string `json:"text"`
	// Verdict is agrees (within 5 %), differs, or not_compared.
	Verdict string `json:"verdict"`
	// Change is the figure of this suite divided by the published figure, less 1; null if they are not
	// compared.
	Change *float64 `json:"change"`

	// letter ties the figure to its line in the table of sources.
	letter string
}

// Outcome reads the figures of a row from its result. result is nil if the row has no result. command
// holds the words of the command line that ran, without the folder. e is nil for a row that has not run
// yet.
func (r *Row) Outcome(e *Entry, result *Result, command []string, folder string) Outcome {
	o := Outcome{Name: r.Name, Title: plain.Line(r.Title), Folder: folder, State: finding.NotChecked, Reason: notRun, Figures: []Measure{}}
	if len(command) > 0 {
		o.Command = plain.Shell(append([]string{"zbench"}, command...)...)
	}
	if result != nil {
		o.Origin = result.origin()
		o.chart = r.chart(result.Shown, o.Origin)
	}
	switch {
	case e == nil:
	case e.Why != "":
		o.Reason = e.Why
	default:
		o.Code, o.State, o.Reason = &e.Code, e.end().state, ""
		if o.State != finding.Pass {
			o.Reason = e.reason(result)
		}
	}
	for i := range r.Figures {
		o.Figures = append(o.Figures, r.Figures[i].measure(result, o.Origin))
	}
	return o
}

// notRun is the reason of a row that has not run yet.
const notRun = "not run yet"

// end is the meaning of an exit code: the state of the row, and the code of its finding. A final row
// is not run again.
type end struct {
	state finding.State
	code  string
	final bool
}

var ends = map[int]end{
	exit.OK:          {finding.Pass, "", true},
	exit.Regression:  {finding.Fail, CodeRow, true},
	exit.WrongData:   {finding.Fail, finding.CodeWrongData, true},
	exit.Want:        {finding.Unclear, finding.CodeUnclear, true},
	exit.Unavailable: {finding.NotChecked, finding.CodeNotChecked, false},
	exit.Interrupted: {finding.NotChecked, finding.CodeNotChecked, false},
}

func (e Entry) end() end {
	if known, ok := ends[e.Code]; ok {
		return known
	}
	return end{finding.Fail, finding.CodeFailed, false}
}

// reason returns why a row did not pass: its worst finding, or else what its command printed last, or
// else the meaning of its exit code.
func (e Entry) reason(result *Result) string {
	said := ""
	if result != nil && len(result.Shown.Findings) > 0 {
		rising := []finding.State{finding.NotChecked, finding.Unclear, finding.Fail}
		worst := slices.MaxFunc(result.Shown.Findings, func(a, b finding.Finding) int {
			return cmp.Compare(slices.Index(rising, a.State()), slices.Index(rising, b.State()))
		})
		if worst.State() != finding.Pass {
			_, text := worst.Word()
			said = strings.TrimSuffix(text, ".")
		}
	}
	if said == "" && len(e.Evidence) > 0 {
		said = e.Evidence[0]
	}
	meaning := slice.First(exit.Table(), func(r exit.Row) bool { return r.Code == e.Code }).Meaning
	return cmp.Or(said, meaning, "ended by a signal")
}

// origin returns where a result's figures come from.
func (r *Result) origin() string {
	if r.Record != nil {
		for _, d := range r.Record.World.Devices {
			switch d.Kind {
			case record.Checked:
				return Emulated
			case record.HostMemory:
				return HostMemory
			}
		}
	}
	if r.Simulated {
		return Simulated
	}
	return Measured
}

func (f *Figure) measure(result *Result, origin string) Measure {
	m := f.read(result)
	m.What, m.Published = f.What, []Compared{}
	if m.show == nil && f.pick != nil && f.over == nil && !f.Knee {
		m.show = f.pick.Show
	}
	if m.show == nil {
		m.show = unit.Digits
	}
	if m.Why != "" && origin == Emulated {
		m.Why = "results are checked, not timed"
	}
	for _, p := range f.Published {
		c := Compared{Published: p, Text: m.show(p.Value), Verdict: NotCompared}
		if m.Value != nil && origin == Measured && !p.SecondHand {
			change := *m.Value/p.Value - 1
			c.Change, c.Verdict = &change, Differs
			if math.Abs(change) <= agreement {
				c.Verdict = Agrees
			}
		}
		m.Published = append(m.Published, c)
	}
	return m
}

// New returns the document of a suite's rows.
func New(s *Suite, nodes int, rows []Outcome) *Document {
	letters := 0
	for _, o := range rows {
		for _, m := range o.Figures {
			for i := range m.Published {
				m.Published[i].letter = document.Letter(letters)
				letters++
			}
		}
	}
	d := &Document{Schema: Schema, Suite: s.Name, About: plain.Line(s.About), Nodes: nodes, Rows: rows}
	d.Complete = !slices.ContainsFunc(rows, func(o Outcome) bool { return o.Reason == notRun })
	d.Judgement = finding.Judgement{Rules: Rules, State: d.state(), Findings: d.findings()}
	return d
}

// state returns the state of the whole suite. The suite passes only if every row passed: a row that
// could not run is no proof of anything.
func (d *Document) state() finding.State {
	is := func(s finding.State) bool {
		return slices.ContainsFunc(d.Rows, func(o Outcome) bool { return o.State == s })
	}
	return finding.Settle(is(finding.Fail), is(finding.Unclear), !is(finding.NotChecked))
}

// Codes of the findings of a suite.
const (
	CodeRow     = "row"
	CodeRows    = "rows"
	CodeDiffers = "differs"
)

// findings returns one finding for each row that did not pass, one finding for the figures that differ
// from published figures, and one finding with the number of rows that passed.
func (d *Document) findings() finding.List {
	var out finding.List
	passed := 0
	var differs []string
	for _, o := range d.Rows {
		for _, m := range o.Figures {
			if len(m.Published) > 0 && m.Published[0].Verdict == Differs {
				differs = append(differs, fmt.Sprintf("%s %s (%s)", m.What, m.Text, unit.Change(*m.Published[0].Change)))
			}
		}
		if o.State == finding.Pass {
			passed++
			continue
		}
		code, hint := finding.CodeNotChecked, ""
		if o.Code != nil {
			code, hint = Entry{Code: *o.Code}.end().code, o.Folder+".txt has what it printed; `"+o.Command+"` repeats it alone"
		}
		out = append(out, finding.Finding{
			Code: code, Severity: o.State.Severity(), Subject: &finding.Subject{Name: o.Name},
			Text: plain.Sentence(plain.Line(o.Title + ": " + o.Reason)), Hint: hint,
		})
	}
	slices.SortStableFunc(out, func(a, b finding.Finding) int { return cmp.Compare(b.Severity, a.Severity) })
	if len(differs) > 0 {
		out = append(out, finding.Finding{Code: CodeDiffers, Severity: finding.Warning, Text: "Figures that differ from published ones by more than 5 %: " + unit.FirstFew(differs, 4) + "."})
	}
	if made := slice.Where(d.Rows, func(o Outcome) bool { return o.Origin == Simulated }); len(made) > 0 {
		names := slice.Map(made, func(o Outcome) string { return o.Name })
		out = append(out, finding.Finding{
			Code: finding.CodeSimulated, Severity: finding.Warning,
			Text: fmt.Sprintf("A model, not hardware, decided the times of %s: %s.", unit.Count(len(made), "row"), unit.FirstFew(names, 4)),
		})
	}
	ok := finding.Finding{Code: CodeRows, Severity: finding.OK, Text: fmt.Sprintf("%d of %s ended without a fault.", passed, unit.Count(len(d.Rows), "row"))}
	if passed < len(d.Rows) {
		ok.Severity = finding.Note
	}
	return append(out, ok)
}

// WriteJSON writes suite.json.
func (d *Document) WriteJSON(w io.Writer) error { return jsonfile.Write(w, "suite", d) }

// Shown returns the document for people: the table of figures first, then a chart for each row.
func (d *Document) Shown() *document.Document {
	out := &document.Document{
		Command: "suite", Value: d, CSV: d.csv, Title: "Suite " + d.Suite + " on " + unit.Count(d.Nodes, "node"), Lead: d.About,
		State: d.Judgement.State, Findings: d.Judgement.Findings,
		Chips: []document.Fact{{Term: "Rows", Text: strconv.Itoa(len(d.Rows))}, {Term: "State", Text: d.Judgement.State.Word()}},
		Foot:  "A figure agrees with a published one within 5 %. Figures of a model, and claims known at second hand, are not compared.",
	}
	if slices.ContainsFunc(d.Rows, func(o Outcome) bool { return o.Origin == Simulated }) {
		out.Simulated = true
		out.Banners = append(out.Banners, document.Banner{Kind: "simulated", Label: "SIMULATED", Text: "A model decided the times of the rows marked simulated, not hardware."})
	}
	if !d.Complete {
		out.Banners = append(out.Banners, document.Banner{Kind: "interrupted", Label: "INCOMPLETE", Text: "Rows have not run yet; `zbench suite --resume DIR` runs them."})
	}
	figures, sources := d.table()
	out.Results("Rows", document.Sheet{Table: figures, Label: "Rows", Role: document.ResultsID}).Show(document.Everywhere)
	var all, alone []string
	for _, o := range d.Rows {
		all = append(all, o.words()...)
		if len(o.Figures) > 0 && !slices.ContainsFunc(o.Figures, func(m Measure) bool { return len(m.Published) > 0 }) {
			alone = append(alone, o.Name)
		}
	}
	if len(alone) > 0 {
		text := "Nothing published is known of " + strings.Join(alone, ", ") + "."
		all, out.Foot = append(all, text), out.Foot+" "+text
	}
	out.Add("words", "In words", document.Listed("", all)...).Show(document.Brief)
	if len(sources) > 0 {
		out.Add("published", "Published figures", document.Listed("", sources)...).Show(document.Everywhere &^ document.Terminal)
	}
	for _, o := range d.Rows {
		var blocks []document.Block
		if picture := cmp.Or(o.chart, o.bars()); picture != nil {
			blocks = append(blocks, picture)
		}
		blocks = append(blocks, document.Listed("", o.words())...)
		if o.Command != "" {
			blocks = append(blocks, document.Command{For: "the row", Line: o.Command})
		}
		if o.Reason != "" {
			blocks = append(blocks, document.Paragraph{Text: document.Said(plain.Sentence(plain.Line(o.Reason)))})
		}
		out.Add("row-"+o.Name, o.Title, blocks...)
	}
	return out
}

// chart returns the chart of a result that the row shows; nil if there is none. Its name is unique
// among the charts of all rows. If the figures do not come from hardware, it says so.
func (r *Row) chart(d *document.Document, origin string) document.Block {
	for b := range d.Blocks() {
		switch b := b.(type) {
		case document.Plot: // its mark says where its figures come from
			if strings.HasPrefix(b.ID, r.Chart) {
				b.ID = r.Name + "-" + b.ID
				return b
			}
		case document.Bars:
			if strings.HasPrefix(b.ID, r.Chart) {
				b.ID, b.Title, b.File = r.Name+"-"+b.ID, marked(b.Title, origin), true
				return b
			}
		case document.HeatMap:
			if strings.HasPrefix(b.ID, r.Chart) {
				b.ID, b.Title = r.Name+"-"+b.ID, marked(b.Title, origin)
				return b
			}
		}
	}
	return nil
}

// marked adds the origin to the title of a chart, unless the title has it.
func marked(title, origin string) string {
	if word := strings.ToUpper(origin); origin != Measured && !strings.Contains(strings.ToUpper(title), word) {
		return title + ", " + word
	}
	return title
}

// bars draws the figures of a row whose result has no chart, if the figures are bandwidths. Published
// figures are marks.
func (o *Outcome) bars() document.Block {
	b := document.Bars{ID: o.Name + "-figures", Title: marked(o.Title+", GB/s", o.Origin), File: true}
	for _, m := range o.Figures {
		if m.Value == nil || !strings.HasSuffix(m.Text, "B/s") {
			continue
		}
		bar := document.Bar{Label: m.What, Value: unit.Digits(*m.Value / 1e9), Length: *m.Value}
		b.Most = max(b.Most, bar.Length)
		for _, p := range m.Published {
			bar.Marks = append(bar.Marks, document.BarMark{At: p.Value, Letter: p.letter})
			b.Most = max(b.Most, p.Value)
		}
		b.Bars = append(b.Bars, bar)
	}
	if len(b.Bars) < 2 {
		return nil
	}
	return b
}

// table returns the figures of all rows that are numbers, and the published figures with their sources.
func (d *Document) table() (out table.Table, sources []string) {
	out = table.Of([]string{"row", "figure", "here", "published", "verdict"})
	for _, o := range d.Rows {
		name := o.Name
		for _, m := range o.Figures {
			for _, p := range m.Published {
				text := fmt.Sprintf("%s: %s: %s, %s; %s; %s", p.letter, m.What, p.Text, p.Of, p.Source, p.Date)
				if p.SecondHand {
					text += "; known at second hand"
				}
				sources = append(sources, text)
			}
			if m.Value == nil {
				continue // such a figure stands beneath the table
			}
			published, verdict := m.beside(o.Origin)
			out.Add(name, m.What, m.here(), published, verdict)
			name = ""
		}
		if o.State != finding.Pass {
			out.Add(name, "", o.State.Word(), "", o.Origin)
		}
	}
	return out, sources
}

// beside returns the first published figure with its letter, and the comparison for people. A figure
// that was not compared gets its origin or "second-hand".
func (m *Measure) beside(origin string) (published, verdict string) {
	if len(m.Published) == 0 {
		return "nothing", origin
	}
	p := m.Published[0]
	switch {
	case p.Change != nil:
		verdict = p.Verdict + ", " + unit.Change(*p.Change)
	case p.SecondHand && origin == Measured:
		verdict = "second-hand"
	}
	return p.Text + " " + p.letter, cmp.Or(verdict, origin)
}

// words returns the figures without a value as sentences.
func (o *Outcome) words() (out []string) {
	for _, m := range o.Figures {
		if m.Value != nil {
			continue
		}
		text := fmt.Sprintf("%s (%s): %s", plain.Capital(m.What), cmp.Or(o.Origin, o.Name), cmp.Or(m.Text, "none: "+m.Why))
		if len(m.Published) > 0 {
			beside, _ := m.beside(o.Origin)
			text += "; published: " + beside
		}
		out = append(out, text)
	}
	return out
}

// `here` returns the figure of this suite with its bounds.
func (m *Measure) here() string {
	if m.Lo == nil || m.Hi == nil {
		return m.Text
	}
	if half := (*m.Hi - *m.Lo) / 2 / *m.Value; half < 0.05 {
		return m.Text + " ±" + unit.SmallPercent(half)
	}
	return fmt.Sprintf("%s [%s, %s]", m.Text, m.show(*m.Lo), m.show(*m.Hi))
}

// csv returns a row for each published figure, and for each figure without one, in base units.
func (d *Document) csv() (names []string, rows [][]string) {
	for _, o := range d.Rows {
		for _, m := range o.Figures {
			cells := []string{o.Name, m.What, table.Number(m.Value), table.Number(m.Lo), table.Number(m.Hi), m.Text, o.Origin}
			for _, p := range m.Published {
				rows = append(rows, append(slices.Clone(cells), table.Number(&p.Value), p.Of, p.Source, p.Date, p.Verdict))
			}
			if len(m.Published) == 0 {
				rows = append(rows, append(cells, "", "", "", "", NotCompared))
			}
		}
	}
	return []string{"row", "figure", "value", "lo", "hi", "text", "origin", "published", "of", "source", "date", "verdict"}, rows
}
