package report

import "zbench/bench/document"

// changeAxis is linear, has zero on it, and holds all changes with their intervals.
func changeAxis(c document.Chart, count int) axis {
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
