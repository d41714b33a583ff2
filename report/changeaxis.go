package report

import (
	"math"
	"strings"
	"zbench/bench/unit"
)

// changeAxis is linear, has zero on it, and holds all changes with their intervals.
func changeAxis(c Chart, count int) axis {
	const least = 0.02
	lo, hi := -least, least
	for _, s := range c.Series {
		for _, p := range s.Points {
			lo, hi = min(lo, p.Value), max(hi, p.Value)
			if p.Bounded {
				lo, hi = min(lo, p.Lo), max(hi, p.Hi)
			}
		}
	}
	pad := 0.05 * (hi - lo)
	a := axis{lo: lo - pad, hi: hi + pad, title: c.Axis}
	a.ticks = percentTicks(a, count, "+")
	return a
}

// signedPercent prints a relative change: +3.2 %, −0.41 %.
func signedPercent(v float64) string {
	text := unit.Shortest(math.Round(v*1e4) / 100)
	if v > 0 {
		text = "+" + text
	}
	return strings.Replace(text, "-", "−", 1) + " %"
}
