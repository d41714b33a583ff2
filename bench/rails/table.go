package rails

import (
	"math"

	"zbench/bench/stat"
)

// timed is one timing as logarithms over its round's typical time.
type timed struct {
	Timing
	// y is the median of the samples, each the samples.
	y    float64
	each []float64
}

// table is the timings of one kind.
type table struct {
	of []timed
	// rounds is the number of rounds, passes that of times that each pair was timed at most.
	rounds int
}

// tabulate takes the logarithm of the times of a kind, less that of their round's
// median. Times that are not positive are left out.
func tabulate(timings []Timing, kind Kind) table {
	byRound := map[int][]int{}
	n, samples := 0, 0
	for _, t := range timings {
		if t.Kind == kind {
			n, samples = n+1, samples+len(t.Seconds)
		}
	}
	out := table{of: make([]timed, 0, n)}
	room := make([]float64, 0, samples)
	for _, t := range timings {
		if t.Kind != kind {
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
		out.of = append(out.of, timed{t, median(each), each})
	}
	out.rounds = len(byRound)
	for _, at := range byRound {
		ys := make([]float64, len(at))
		for i, k := range at {
			ys[i] = out.of[k].y
		}
		typical := stat.Quantile(ys, 0.5)
		for _, k := range at {
			t := &out.of[k]
			t.y -= typical
			for i := range t.each {
				t.each[i] -= typical
			}
		}
	}
	return out
}
