package recommend

import (
	"zbench/bench/record"
	"zbench/bench/stat"
)

// Scaled is the source with the times of each result multiplied by a factor; a
// factor of 0 leaves a result as it is. It has no samples, and shares with the
// source what a curve is not drawn from.
func (s Source) Scaled(factor func(*record.Result) float64) Source {
	rec := *s.Record
	rec.Results = make([]record.Result, len(s.Record.Results))
	for i := range s.Record.Results {
		r := s.Record.Results[i]
		if by := factor(&r); by > 0 {
			r.Burst, r.Isolated = scaled(r.Burst, by), scaled(r.Isolated, by)
		}
		rec.Results[i] = r
	}
	return Source{Name: s.Name, Record: &rec}
}

// scaled scales what a curve is drawn through.
func scaled(t *record.Timing, by float64) *record.Timing {
	if t == nil {
		return nil
	}
	out := *t
	out.MeanOfRanks, out.MaxOfRanks = times(t.MeanOfRanks, by), times(t.MaxOfRanks, by)
	return &out
}

func times(s *stat.Summary, by float64) *stat.Summary {
	if s == nil {
		return nil
	}
	out := *s
	out.Median *= by
	out.Mean *= by
	out.Lo, out.Hi = product(s.Lo, by), product(s.Hi, by)
	return &out
}

func product(v *float64, by float64) *float64 {
	if v == nil {
		return nil
	}
	p := *v * by
	return &p
}
