package report

import (
	"zbench/bench/advice"
	"zbench/bench/judge"
	"zbench/bench/record"
	"zbench/bench/unit"
)

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
