package report

import (
	"zbench/bench/advice"
	"zbench/bench/record"
)

// VerdictBox is the answer of a page before any figure: what to set and how far to
// trust it, then the lines of the verdict in their order.
type VerdictBox struct {
	// Chips are the setting and its confidence, in a few words each.
	Chips []Fact
	// Simulated is true where a model decided the times.
	Simulated bool
	Rows      []verdictRow
}

// verdictRow is a line with the name of its severity, for those who do not see its
// colour. Class is the style's.
type verdictRow struct{ Class, Tag, Text, Hint string }

// verdictBox shows the same verdict as the terminal.
func verdictBox(rec *record.Record, d *advice.Document) *VerdictBox {
	box := &VerdictBox{Chips: chips(d), Simulated: rec.Simulated}
	for _, l := range Judge(rec, d).Lines {
		row := verdictRow{Class: "note", Text: l.Text, Hint: l.Hint}
		switch l.Severity {
		case VerdictBad:
			row.Class, row.Tag = "bad", "Fault"
		case VerdictWarning:
			row.Class, row.Tag = "warning", "Limit"
		case VerdictGood:
			row.Class, row.Tag = "good", "OK"
		case VerdictNote:
		}
		box.Rows = append(box.Rows, row)
	}
	return box
}

// chips are what to set and how far to trust that. Without a recommendation they say so.
func chips(d *advice.Document) []Fact {
	if !d.Answered() {
		return []Fact{{"Bucket size", "no recommendation"}}
	}
	a := &d.Answer
	use := "use "
	if a.Keep {
		use = "keep "
	}
	return []Fact{{"Bucket size", use + amountOf(d)}, {"Setting", a.Knob}, {"Confidence", a.Confidence.Level}}
}

// amountOf is the recommended setting, with no more digits than assumptions deserve.
func amountOf(d *advice.Document) string {
	if d.IsAssumed() {
		return d.Setting()
	}
	return d.Amount(d.Answer.Elements)
}
