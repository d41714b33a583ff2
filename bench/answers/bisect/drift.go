package bisect

import (
	"math"

	"zbench/bench/base/slice"
)

// Level is the speed of the machine while one child ran, independent of its variant.
type Level struct {
	// Round of the child, from 0.
	Round int `json:"round"`
	// Variant of the child.
	Variant string `json:"variant"`
	// Cases is the number of the child's cases that determine the level.
	Cases int `json:"cases"`
	// Change is the time divided by the mean of all children, less 1, with the effects of variants and
	// cases removed; null if no case determines it.
	Change *float64 `json:"change"`
}

// sweeps is the number of alternating fits of cases and children. Children share most cases, so the
// error falls quickly.
const sweeps = 200

// levels returns the levels of the children in running order. The logarithm of a reading is the sum
// of the case's time, the variant's effect on the case, and the child's level. The effects come
// from the model with drift; cases and levels are fitted by alternating least squares.
func (s *Search) levels(variants []Variant) []Level {
	rest, counts := s.withoutEffects(), make([]int, len(s.trials))
	level := make([]float64, len(s.trials))
	for range sweeps {
		sums := make([]float64, len(s.trials))
		clear(counts)
		for _, readings := range rest {
			mean := slice.Sum(readings, func(r reading) float64 { return (r.log - level[r.at]) / float64(len(readings)) })
			for _, r := range readings {
				sums[r.at] += r.log - mean
				counts[r.at]++
			}
		}
		centre(level, sums, counts)
	}
	out := make([]Level, len(s.trials))
	for at, t := range s.trials {
		out[at] = Level{Round: t.Round, Variant: variants[t.Variant].Name, Cases: counts[at]}
		if counts[at] > 0 {
			out[at].Change = known(math.Expm1(level[at]))
		}
	}
	return out
}

// withoutEffects returns the readings by case, less the effects of their variants. Cases with one
// reading are left out.
func (s *Search) withoutEffects() [][]reading {
	working := s.working()
	if len(working) < 2 {
		return nil
	}
	all := s.readings(working)
	_, normals := estimate(all, len(working))
	var out [][]reading
	for c, readings := range all {
		effects := normals[c].solve().effects
		var kept []reading
		for _, r := range readings {
			if e := effects[r.variant]; !math.IsNaN(e) {
				r.log -= e
				kept = append(kept, r)
			}
		}
		if len(kept) > 1 {
			out = append(out, kept)
		}
	}
	return out
}

// centre sets each level to its sum divided by its count. It then subtracts the mean over all children.
func centre(level, sums []float64, counts []int) {
	mean, n := 0.0, 0
	for at := range level {
		if counts[at] > 0 {
			level[at] = sums[at] / float64(counts[at])
			mean, n = mean+level[at], n+1
		}
	}
	for at := range level {
		if counts[at] > 0 {
			level[at] -= mean / float64(n)
		}
	}
}
