package record

import (
	"fmt"
	"slices"

	"zbench/bench/stat"
)

// slowest finds the slowest group by the mean of the passes' medians; nil where
// the passes have no groups, or not the same.
func (s *samples) slowest(ranks, stride int) *SlowestGroup {
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
	first := slices.Index(sum, worst)
	if stride == 0 {
		first *= ranks
	}
	return &SlowestGroup{
		FirstRank: first, Median: worst,
		Typical: stat.Quantile(sum, 0.5), Fastest: slices.Min(sum),
	}
}

// groupFrom names the group whose first rank is given.
func (r *Result) groupFrom(first int) string {
	if r.Stride > 0 {
		return fmt.Sprintf("ranks %d, %d, … %d", first, first+r.Stride, first+r.Stride*(r.Ranks-1))
	}
	return fmt.Sprintf("ranks %d to %d", first, first+r.Ranks-1)
}
