package record

import (
	"slices"

	"zbench/bench/stat"
)

// slowest finds the slowest group by the mean of the passes' medians; nil where
// the passes have no groups, or not the same.
func (s *samples) slowest(ranks int) *SlowestGroup {
	if len(s.groups) == 0 || len(s.groups[0]) < 2 {
		return nil
	}
	sum := make([]float64, len(s.groups[0]))
	for _, pass := range s.groups {
		if len(pass) != len(sum) {
			return nil
		}
		for i, v := range pass {
			sum[i] += v / float64(len(s.groups))
		}
	}
	worst := slices.Max(sum)
	return &SlowestGroup{
		FirstRank: slices.Index(sum, worst) * ranks, Median: worst,
		Typical: stat.Quantile(sum, 0.5), Fastest: slices.Min(sum),
	}
}
