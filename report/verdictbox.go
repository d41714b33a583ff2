package report

import (
	"zbench/bench/advice"
	"zbench/bench/finding"
	"zbench/bench/judge"
	"zbench/bench/record"
	"zbench/bench/unit"
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
	return boxOf(Verdict(rec, d), rec.Simulated, chips(d))
}

// kernelBox is that of a record of hbm or of kernels.
func kernelBox(rec *record.Record) *VerdictBox {
	return boxOf(judge.Of(rec), rec.OnLoopback(), kernelChips(rec))
}

func boxOf(v finding.List, simulated bool, chips []Fact) *VerdictBox {
	box := &VerdictBox{Chips: chips, Simulated: simulated}
	for _, l := range v {
		row := verdictRow{Class: "note", Text: l.Text, Hint: l.Hint}
		switch l.Severity {
		case finding.Fault:
			row.Class, row.Tag = "bad", "Fault"
		case finding.Warning:
			row.Class, row.Tag = "warning", "Limit"
		case finding.OK:
			row.Class, row.Tag = "good", "OK"
		case finding.Note:
		}
		box.Rows = append(box.Rows, row)
	}
	return box
}

// chips are what to set and how far to trust that. Without a recommendation they say so.
func chips(d *advice.Document) []Fact {
	if !d.Answered() {
		if d.FixFirst() {
			return []Fact{{"Bucket size", "none: fix the fault first"}}
		}
		return []Fact{{"Bucket size", "no recommendation"}}
	}
	a := &d.Answer
	use := "use "
	if a.Keep {
		use = "keep "
	}
	return []Fact{{"Bucket size", use + d.Amount(a.Elements)}, {"Setting", d.Knob()}, {"Confidence", a.Confidence.Level}}
}

// kernelChips are the best figure, whether the data are right, and how far to trust
// the times.
func kernelChips(rec *record.Record) []Fact {
	s := judge.Summarise(rec)
	var out []Fact
	switch {
	case s.Product != nil:
		out = append(out, Fact{"Best product", unit.Flops(*s.Product.Metrics.Effective)})
	case s.Memory != nil:
		out = append(out, Fact{"Best", unit.Rate(*s.Memory.Metrics.Rate)})
		if of := s.Memory.Metrics.OfPeak; of != nil {
			out = append(out, Fact{"Of peak", unit.Part(*of)})
		}
	}
	out = append(out, Fact{"Data", s.Data})
	if s.Level != "" {
		out = append(out, Fact{"Confidence", s.Level})
	}
	if s.Label != "" {
		out = append(out, Fact{"Figures", s.Label})
	}
	return out
}
