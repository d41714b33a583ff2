package results

import (
	"slices"

	"zbench/bench/advice"
	"zbench/bench/document"
	"zbench/bench/finding"
	"zbench/bench/judge"
	"zbench/bench/kernel"
	"zbench/bench/record"
	"zbench/bench/unit"
)

// Verdict is what a record comes to, and what to set. d is nil where there is no recommendation; one
// says itself what is simulated.
func Verdict(rec *record.Record, d *advice.Document) finding.List {
	own := slices.DeleteFunc(slices.Clone(judge.Of(rec)), func(f finding.Finding) bool { return f.Code == finding.CodeSimulated })
	return append(own, advice.Findings(rec, d)...)
}

// kernelChips are the best figure, whether the data are right, and how far to trust
// the times.
func kernelChips(rec *record.Record, family kernel.Family) []document.Fact {
	s := judge.Summarise(rec)
	var out document.Facts
	switch {
	case family.Best != nil:
		out = family.Best(rec)
	case s.Memory != nil:
		out.Add("Best", unit.Rate(*s.Memory.Metrics.Rate))
		if of := s.Memory.Metrics.OfPeak; of != nil {
			out.Add("Of peak", unit.Part(*of))
		}
	}
	out.Add("Data", s.Data)
	out.AddKnown("Confidence", s.Level)
	out.AddKnown("Figures", s.Label)
	return out
}
