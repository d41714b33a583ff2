package recommend

import "zbench/bench/record"

// Of joins a record with the samples that its journal has.
func SourceOf(rec *record.Record, parts []record.Part) Source {
	s := Source{Record: rec, Samples: map[string]map[string][]float64{}}
	for _, p := range parts {
		at := s.Samples[p.Key]
		if at == nil {
			at = map[string][]float64{}
			s.Samples[p.Key] = at
		}
		if b := p.Burst; b != nil {
			at[record.SeriesBurstMean] = append(at[record.SeriesBurstMean], b.Mean...)
			at[record.SeriesBurstMax] = append(at[record.SeriesBurstMax], b.Max...)
		}
		if b := p.Isolated; b != nil {
			at[record.SeriesIsolatedMax] = append(at[record.SeriesIsolatedMax], b.Max...)
		}
	}
	return s
}
