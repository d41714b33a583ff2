package report

import (
	"zbench/bench/unit"
)

// rankAxis spans numbers of ranks, with ticks at powers of two.
func rankAxis(lo, hi int64, share func(label string) float64) axis {
	a := sizeAxis(lo, hi, func(string) float64 { return 0 })
	a.title = "ranks of a communicator, log scale"
	for _, stride := range []int{1, 2, 5, 10} {
		a.ticks = sizeTicks(a, stride)
		for i, t := range a.ticks {
			if t.label != "" {
				a.ticks[i].label = unit.Comma(int64(t.value))
			}
		}
		if spaced(a, share) {
			break
		}
	}
	return a
}
