package rails

import (
	"math"
	"slices"

	"zbench/bench/base/slice"
)

// `timed` is one timing in logarithms, less its round's typical time.
type timed struct {
	Timing
	// y is the median of the samples, and `each` holds all samples. `typical` is the logarithm that was
	// subtracted from all samples.
	y       float64
	each    []float64
	typical float64
}

// kindTimes holds the timings of one kind.
type kindTimes struct {
	of []timed
	// se is the standard error of a median of samples.
	se     float64
	rounds int
}

// tabulate returns the logarithms of the times of some kinds, minus the typical value of their round.
// `middle` computes that value from the medians of the round and their standard error. Times that are not
// positive are left out.
func tabulate(timings []Timing, middle func([]float64, float64) float64, kinds ...Kind) kindTimes {
	byRound := map[int][]int{}
	n, samples := 0, 0
	for _, t := range timings {
		if slices.Contains(kinds, t.Kind) {
			n, samples = n+1, samples+len(t.Seconds)
		}
	}
	out := kindTimes{of: make([]timed, 0, n)}
	room := make([]float64, 0, samples)
	for _, t := range timings {
		if !slices.Contains(kinds, t.Kind) {
			continue
		}
		first := len(room)
		for _, s := range t.Seconds {
			if s > 0 && !math.IsInf(s, 1) {
				room = append(room, math.Log(s))
			}
		}
		each := room[first:len(room):len(room)]
		if len(each) == 0 {
			continue
		}
		byRound[t.Round] = append(byRound[t.Round], len(out.of))
		out.of = append(out.of, timed{t, median(each), each, 0})
	}
	out.rounds = len(byRound)
	out.se = errorOf(out.of)
	for _, at := range byRound {
		ys := slice.Map(at, func(k int) float64 { return out.of[k].y })
		typical := middle(ys, out.se)
		for _, k := range at {
			t := &out.of[k]
			t.y -= typical
			t.typical = typical
			for i := range t.each {
				t.each[i] -= typical
			}
		}
	}
	return out
}

// errorOf returns the standard error of the medians of transfers, from the scatter of their samples.
func errorOf(of []timed) float64 {
	var all []float64
	for i := 0; i < len(of); i += 1 + len(of)/2000 {
		if n := len(of[i].each); n > 1 {
			all = append(all, 1.25*Deviation(of[i].each)/math.Sqrt(float64(n)))
		}
	}
	if len(all) == 0 {
		return 0
	}
	return median(all)
}
