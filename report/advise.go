package report

import (
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

// adviceBlocks are a recommendation: the sentence, the plot, the settings, how to
// write the best, and the reasons. A refusal has what to do instead.
func adviceBlocks(d *advice.Document) []Block {
	if d == nil {
		return nil
	}
	a := &d.Answer
	out := []Block{Paragraph{"answer", said(d.Sentence)}}
	reasons := d.Reasons()
	switch {
	case a.Verdict == recommend.Recommended:
		few := d.Rows(fewRows)
		note := advice.Note(few)
		full := settings(d, d.Rows(manyRows), "Step time by bucket size", note)
		out = append(out, Plot{Chart: adviceChart(d), Table: &full}, settings(d, few, "Settings and what they cost", note))
	case a.Refusal != nil:
		reasons = []advice.Reasoning{{Title: "What to do", Lines: []string{a.Refusal.Hint}}}
	}
	for _, s := range d.Snippets {
		out = append(out, Heading{said(s.Title)}, Code{s.Title, s.Text})
	}
	for _, r := range reasons {
		out = append(append(out, Heading{said(r.Title)}), listed("", r.Lines)...)
	}
	var asked Facts
	for _, f := range d.Facts() {
		asked = append(asked, Fact{f.Term, f.Text})
	}
	return append(out, Heading{said("What was asked")}, asked)
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
