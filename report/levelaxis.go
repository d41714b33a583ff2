package report

import (
	"strconv"
)

// orderAxis is linear and counts: child runs in the order in which they ran.
func orderAxis(lo, hi int64, share func(label string) float64) axis {
	a := axis{lo: float64(lo) - 0.5, hi: float64(hi) + 0.5, title: "child run"}
	for _, step := range []int64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000} {
		a.ticks = nil
		for v := (lo + step - 1) / step * step; v <= hi; v += step {
			a.ticks = append(a.ticks, tick{float64(v), strconv.FormatInt(v, 10)})
		}
		if spaced(a, share) {
			break
		}
	}
	return a
}
