package results

import (
	"slices"

	"zbench/bench/answers/advice"
	"zbench/bench/answers/judge"
	"zbench/bench/base/finding"
	"zbench/bench/base/unit"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
	"zbench/bench/work/kernel"
)

// Verdict returns the record's findings and the recommended setting. d is nil without a
// recommendation; a recommendation labels itself as simulated.
func Verdict(rec *record.Record, d *advice.Document) finding.List {
	own := slices.DeleteFunc(slices.Clone(judge.Of(rec)), func(f finding.Finding) bool { return f.Code == finding.CodeSimulated })
	return append(own, advice.Findings(rec, d)...)
}

// kernelChips returns the best figure, the result of the checks, and the confidence in the times.
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
