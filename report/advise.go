package report

import (
	"cmp"

	"zbench/bench/advice"
	"zbench/bench/recommend"
	"zbench/bench/table"
)

// Rows of the two tables of settings: that which is always shown, and the one that
// unfolds beneath the plot.
const (
	fewRows  = 12
	manyRows = 90
)

// adviceBlocks are a recommendation: the sentence, what its assumptions leave out, the
// plot, the settings, how to write the best, and the reasons. folder has the record. A refusal has what to do instead.
func adviceBlocks(d *advice.Document, folder string) []Block {
	if d == nil {
		return nil
	}
	a := &d.Answer
	out := append([]Block{Paragraph{"answer", said(d.Sentence)}}, listed("", d.Caveats)...)
	reasons := d.Reasons()
	switch {
	case a.Verdict == recommend.Recommended:
		few := d.Rows(fewRows)
		note := d.Note(few)
		full := settings(d, d.Rows(manyRows), "Step time by bucket size", note)
		out = append(out, Plot{Chart: adviceChart(d), Table: &full}, settings(d, few, "Settings and what they cost", note))
	case a.Refusal != nil:
		reasons = []advice.Reasoning{{Title: "What to do", Lines: []string{a.Refusal.Do()}}}
	}
	if r := a.Refusal; r != nil && r.Command != "" {
		out = append(out, Code{"command that looks for the fault", r.Command})
	}
	var others []Block
	for i, s := range d.Snippets {
		lines := []Block{Heading{said(s.Title)}, Code{s.Title, s.Text}}
		if s.Comments != "" {
			lines = append(lines, Code{s.Title + ", remarks", s.Comments})
		}
		if i == 0 {
			out = append(out, lines...)
			continue
		}
		others = append(others, lines...)
	}
	if len(others) > 0 {
		out = append(out, Details{"The same setting for other launchers", others})
	}
	out = append(out, whatIf(d, folder)...)
	var why []Block
	for _, r := range reasons {
		why = append(append(why, Heading{said(r.Title)}), listed("", r.Lines)...)
	}
	if a.Verdict == recommend.Recommended && len(why) > 0 {
		why = []Block{Details{"Why this size, and what limits the step", why}}
	}
	var asked Facts
	for _, f := range d.Facts() {
		asked = append(asked, Fact{f.Term, f.Text})
	}
	return append(append(out, why...), Details{"What was asked", []Block{asked}})
}

// whatIf are the answers to other questions, and the command for the user's own model,
// which reads the record in folder; nothing where the user asked.
func whatIf(d *advice.Document, folder string) []Block {
	if !d.IsAssumed() || len(d.WhatIf) == 0 {
		return nil
	}
	out := []Block{
		Sheet{Label: "Other models and batch sizes", Caption: "Other models and batch sizes, from the same curves", Table: d.WhatIfTable()},
	}
	return append(out, Heading{said("For your own model")}, Code{"command for your own model", advice.Command(cmp.Or(folder, "."))})
}

// settings is a table of settings; the one to use stands out.
func settings(d *advice.Document, rows []advice.Row, title, note string) Sheet {
	s := Sheet{Role: "settings", Label: title, Caption: title + ". " + note, Table: d.Table(rows)}
	if d.Answer.Simulated {
		s.Caption = "SIMULATED. " + s.Caption
	}
	s.Columns[len(s.Columns)-1] = table.Column{Name: "what it is"}
	for i, r := range rows {
		s.Groups[0].Rows[i].Best = r.Elements == d.Answer.Elements
	}
	return s
}
