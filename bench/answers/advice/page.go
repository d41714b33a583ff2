package advice

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/answers/recommend"
	"zbench/bench/base/unit"
	"zbench/bench/show/document"
	"zbench/bench/show/table"
)

// manyRows is the number of settings in the table below the plot.
const manyRows = 90

// Blocks shows a recommendation: the sentence, the plot, the settings, the rule, the observed steps, the
// lines to copy, and the reasons. folder contains the record. A refusal shows the next steps instead.
func Blocks(d *Document, folder string) []document.Block {
	if d == nil {
		return nil
	}
	a := &d.Answer
	out := []document.Block{document.Paragraph{Role: "answer", Text: document.Said(d.Sentence)}}
	reasons := d.Reasons()
	switch {
	case a.Verdict == recommend.Recommended:
		few := d.Rows(fewRows)
		note := d.Note(few)
		full := settings(d, d.Rows(manyRows), "Step time by bucket size", note)
		out = append(out, document.Plot{Chart: adviceChart(d), Table: &full}, settings(d, few, "Settings and what they cost", note))
	case a.Refusal != nil:
		reasons = []Reasoning{{Title: "What to do", Lines: []string{a.Refusal.Do()}}}
	}
	rule := d.ruleBlocks()
	if a.Verdict == recommend.Recommended && len(rule) > 0 { // this answer is for a single amount of computation
		rule = []document.Block{document.Details{Summary: "The answer at other backward times", Blocks: rule}}
	}
	out = append(append(out, rule...), d.observedBlocks()...)
	if r := a.Refusal; r != nil && r.Command != "" {
		out = append(out, document.Command{For: "It looks for the fault", Line: r.Command})
	}
	out = append(out, d.snippetBlocks()...)
	if d.IsAssumed() && a.Verdict != recommend.NoCommunication && !d.FixFirst() {
		out = append(out, document.Command{For: "For your own model", Line: Command(d.Answer.Trainer, cmp.Or(folder, "."))})
	}
	var why []document.Block
	for _, r := range reasons {
		why = append(append(why, document.Heading{Text: document.Said(r.Title)}), document.Listed("", r.Lines)...)
	}
	if a.Verdict == recommend.Recommended && len(why) > 0 {
		why = []document.Block{document.Details{Summary: "Why this size, and what limits the step", Blocks: why}}
	}
	return append(append(out, why...), document.Details{Summary: "What was asked", Blocks: []document.Block{d.Facts()}})
}

// snippetBlocks returns the lines to copy. Lines for other launchers are folded.
func (d *Document) snippetBlocks() []document.Block {
	var first, others []document.Block
	for i, s := range d.Snippets {
		lines := []document.Block{document.Heading{Text: document.Said(s.Title)}}
		if s.Comments != "" {
			lines = append(lines, document.Code{Label: s.Title + ", remarks", Text: s.Comments})
		}
		lines = append(lines, document.Code{Label: s.Title, Language: s.Language, Text: s.Text})
		if i == 0 {
			first = lines
			continue
		}
		others = append(others, lines...)
	}
	if len(others) > 0 {
		first = append(first, document.Details{Summary: "The same setting for other launchers", Blocks: others})
	}
	return first
}

// fewLines is the number of lines to copy that fit on a screen with the rest of the answer.
const fewLines = 7

// Lines returns the setting in the syntax of the requested trainer, without remarks; nothing for a rule, or
// if everything is set already.
func (d *Document) Lines() []document.Block {
	if a := &d.Answer; len(d.Snippets) == 0 || d.IsAssumed() || a.Keep && len(a.Changes) == 0 {
		return nil
	}
	var lines []string
	for line := range strings.Lines(d.Snippets[0].Text) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	if len(lines) > fewLines {
		lines = []string{lines[0], "# the other lines: --verbose\n"}
	}
	return []document.Block{document.Code{Label: d.Snippets[0].Title, Language: d.Snippets[0].Language, Text: strings.Join(lines, "")}}
}

// Commands returns the commands to run next: the command that answers for the user's own model from the
// given paths, or the command that locates a fault to fix first.
func (d *Document) Commands(paths ...string) []document.Command {
	switch {
	case d.FixFirst() && d.Answer.Refusal.Command != "":
		return []document.Command{{For: "Next", Line: d.Answer.Refusal.Command}}
	case d.IsAssumed() && d.Answered() && len(paths) > 0:
		return []document.Command{{For: "Next, for your model", Line: Command(d.Answer.Trainer, paths...)}}
	}
	return nil
}

// settings returns a table of settings. The setting to use is highlighted.
func settings(d *Document, rows []Row, title, note string) document.Sheet {
	s := document.Sheet{Role: "settings", Label: title, Caption: title + ". " + note, Table: d.Table(rows)}
	if d.Answer.Simulated {
		s.Caption = "SIMULATED. " + s.Caption
	}
	s.Columns[len(s.Columns)-1] = table.Column{Name: "what it is"}
	for i, r := range rows {
		s.Groups[0].Rows[i].Best = r.Elements == d.Answer.Elements
	}
	return s
}

// Chips returns the setting and the confidence as short facts, or the fact that there is no recommendation.
func Chips(d *Document) []document.Fact {
	switch {
	case d.FixFirst():
		return []document.Fact{{Term: "Bucket size", Text: "none: fix the fault first"}}
	case !d.Answered():
		return []document.Fact{{Term: "Bucket size", Text: "no recommendation"}}
	}
	a, text := &d.Answer, d.verb()+" "+d.Amount(d.Answer.Elements)
	if r := a.Rule; a.Verdict == recommend.Ruled {
		text = "keep " + d.Amount(r.Kept)
		if r.Elements > 0 {
			inside, _ := d.where()
			text = d.Amount(r.Elements) + " " + inside
		}
	}
	return []document.Fact{{Term: "Bucket size", Text: text}, {Term: "Setting", Text: d.Knob()}, {Term: "Confidence", Text: a.Confidence.Level}}
}

// verb returns what to do with the answer's setting: use it or keep it.
func (d *Document) verb() string {
	if d.Answer.Keep {
		return "keep"
	}
	return "use"
}

// adviceChart draws the step time over the setting: the curve, the plateau as a band, and the named settings
// as points.
func adviceChart(d *Document) document.Chart {
	a := &d.Answer
	c := document.Chart{
		ID: "bucket", Title: "Step time over the best, by bucket size", Subtitle: adviceSubtitle(d), Quantity: document.Setting, Mark: document.MarkOf(a.Simulated),
		Series: []document.Series{{Name: "step time"}},
	}
	for _, x := range a.Table {
		if x.Elements < d.Floor() {
			continue
		}
		c.Series[0].Points = append(c.Series[0].Points, settingPoint(d, &x))
	}
	mark := func(name, amount string, x *recommend.Candidate) {
		if x != nil && x.Elements > 0 {
			c.Series = append(c.Series, document.Series{Name: name + " " + amount, Points: []document.Point{settingPoint(d, x)}})
		}
	}
	mark(d.verb(), d.Amount(a.Elements), a.Best)
	if a.Default != nil && (a.Default.Elements != a.Elements || a.Default.Step != a.Best.Step) {
		mark("default", d.Amount(a.Default.Elements), a.Default)
	}
	if a.Current != nil && *a.Current != *a.Best {
		mark("yours", d.Amount(a.Current.Elements), a.Current)
	}
	within := unit.Share(recommend.PlateauWidth)
	c.Band = &document.Band{Lo: a.Plateau.Lo, Hi: a.Plateau.Hi, Label: "within " + within}
	for _, r := range a.Within {
		if r != *a.Plateau {
			c.Band.Others = append(c.Band.Others, document.Stretch{Lo: r.Lo, Hi: r.Hi})
		}
	}
	c.Notes = []string{
		"Every setting that costs at most " + within + " is shaded.",
		"The line is how much longer a step is than with the best size: as measured, or on average over slower networks and other computation where that is more.",
	}
	if b := d.Bracket; b != nil && b.Lo < b.Hi { // only if the bracket moves the answer
		c.Range = &document.Band{Lo: b.Lo, Hi: b.Hi, Label: document.RangeName + " " + d.Range()}
		c.Notes = append(c.Notes, "The line across is the "+document.RangeName+": from its fast to its slow end the best size lies between "+strings.Replace(d.Range(), " to ", " and ", 1)+" elements.")
	}
	if top := document.CostTop(c); slices.ContainsFunc(c.Series[0].Points, func(p document.Point) bool { return p.Value > top }) {
		c.Notes = append(c.Notes, "Settings that cost more than "+unit.Percent(top)+" lie above the axis; the table has them.")
	}
	return c
}

func adviceSubtitle(d *Document) string {
	a := &d.Answer
	s := d.trainer() + " · " + unit.Count(int64(a.Run.DP), "data-parallel rank")
	if d.Model != nil {
		s += " · " + d.Model.Name
	}
	if !d.Answered() {
		return s
	}
	return s + " · confidence " + a.Confidence.Level
}

func settingPoint(d *Document, x *recommend.Candidate) document.Point {
	cost := d.Answer.Cost(x)
	return document.Point{
		Bytes: x.Elements, Value: cost, Extrapolated: x.Extrapolated,
		Words: fmt.Sprintf("%s: %s over the best, %s, %s of up to %s", d.Amount(x.Elements), Over(x, cost), unit.Seconds(x.Step), unit.Count(int64(x.Buckets), "bucket"), unit.Bytes(x.LargestBytes)),
	}
}
