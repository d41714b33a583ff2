package recommend

import (
	"math"
	"slices"

	"zbench/bench/trainer"
)

const (
	// maxEdges bounds how many sums of tensors are tried beside the grid. Of more
	// than exactTensors, one sum is kept in each of 2^binBits parts of an octave.
	maxEdges     = 2048
	exactTensors = 512
	binBits      = 7
)

// wholeStep is the ratio of neighbouring settings of the layer-wise rule.
const wholeStep = 1.0905077326652577 // 2^(1/8)

// edges are settings in addition to the grid that can change where buckets end. With
// Megatron's layer-wise rule these are not sums of neighbours: a finer grid is used.
func (e *engine) edges(total int64) []int64 {
	if !e.run.LayerWise || e.run.LegacyLayout || e.run.Zero == 0 {
		return sums(e.q.Params, leastSetting, total, maxEdges)
	}
	var all []int64
	for s := float64(leastSetting); s < float64(total); s *= wholeStep {
		all = append(all, int64(s))
	}
	return all
}

// sums are the sums of neighbouring tensors, which decide where buckets end: those
// between lo and hi, at most most of them, spread evenly in their logarithm.
func sums(params []trainer.Param, lo, hi int64, most int) []int64 {
	before := make([]int64, 1, len(params)+1)
	for i, p := range params {
		before = append(before, before[i]+p.Elements)
	}
	find := allSums
	if len(params) > exactTensors {
		find = binnedSums
	}
	return spread(find(before, lo, hi), most)
}

// allSums are the differences of a rising list, ascending.
func allSums(before []int64, lo, hi int64) []int64 {
	var all []int64
	for to := range before {
		for from := range to {
			if s := before[to] - before[from]; lo <= s && s <= hi {
				all = append(all, s)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// binnedSums are the least in each bin. Each is found in one walk over the list,
// as the least of those that are not in the bins before.
func binnedSums(before []int64, lo, hi int64) []int64 {
	var all []int64
	for least := max(1, lo); ; {
		s := leastSum(before, least)
		if s > hi {
			return all
		}
		all = append(all, s)
		least = binEnd(s)
	}
}

// leastSum is the least difference of a rising list that is at least the given bound;
// MaxInt64 if there is none.
func leastSum(before []int64, least int64) int64 {
	best := int64(math.MaxInt64)
	from := 0
	for _, b := range before {
		// from is the first whose difference is too small. The one before it has the least
		// sufficient difference.
		for b-before[from] >= least {
			from++
		}
		if from > 0 {
			if s := b - before[from-1]; s < best {
				if best = s; s == least {
					return s
				}
			}
		}
	}
	return best
}

// bin is the part of an octave that contains a positive sum.
func bin(s int64) uint64 { return math.Float64bits(float64(s)) >> (52 - binBits) }

// binEnd is the least sum above the bin of a given sum.
func binEnd(s int64) int64 {
	return int64(math.Ceil(math.Float64frombits((bin(s) + 1) << (52 - binBits))))
}

// spread keeps at most most of ascending values, evenly in their logarithm.
func spread(all []int64, most int) []int64 {
	if len(all) <= most {
		return all
	}
	first := float64(max(1, all[0]))
	ratio := math.Log(float64(all[len(all)-1]) / first)
	kept := make([]int64, 0, most)
	for i := range most {
		at, _ := slices.BinarySearch(all, int64(first*math.Exp(ratio*float64(i)/float64(most-1))))
		kept = append(kept, all[min(at, len(all)-1)])
	}
	return slices.Compact(kept)
}
