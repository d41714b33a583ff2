package report

import (
	"zbench/bench/base/unit"
	"zbench/bench/show/document"
	"zbench/bench/show/table"
)

// deviationAxis returns an axis for the distances of launches from their median.
func deviationAxis(c document.Chart, count int) axis {
	lo, hi := -0.001, 0.001
	for _, s := range c.Series {
		for _, p := range s.Points {
			lo = min(lo, p.Min/p.Value-1)
			if top := p.Max/p.Value - 1; top < document.BeyondAxis {
				hi = max(hi, top)
			}
		}
	}
	pad := (hi - lo) * 0.06
	return shareAxis(lo-pad, hi+pad, "time, from its median", count)
}

// boxLayer draws the launches of each size: a thin line from the fastest to the slowest launch, a
// short line across it at the 95th percentile, and a bar for the interval of the median. The median
// itself is the line at zero.
func boxLayer(s scene, c document.Chart, i int, f format) layer {
	l := layer{series: i}
	role := seriesRole(c.Look + i)
	wide := min(f.font, s.plot.width()/float64(len(c.Series[i].Points)+1)*0.5)
	l.lines = append(l.lines, stroke{role: "muted", width: 1, points: []vec{{s.plot.left, s.at(1, 0).y}, {s.plot.right, s.at(1, 0).y}}})
	for _, p := range c.Series[i].Points {
		at := func(v float64) vec { return s.at(float64(p.Bytes), min(v/p.Value-1, s.y.hi)) }
		upright := func(from, to, width float64) {
			l.lines = append(l.lines, stroke{role: role, width: width, points: []vec{at(from), at(to)}})
		}
		across := func(v, length float64) {
			m := at(v)
			l.lines = append(l.lines, stroke{role: role, width: 1.2, points: []vec{{m.x - length/2, m.y}, {m.x + length/2, m.y}}})
		}
		upright(p.Min, min(p.Max, document.BeyondAxis*p.Value), 1)
		if p.P95 > 0 && p.P95 < document.BeyondAxis*p.Value {
			across(p.P95, wide)
		}
		across(p.Value, wide)
		if p.Bounded {
			upright(p.Lo, p.Hi, wide)
		}
	}
	return l
}

// tableOfDistribution shows the distribution as a table with one row per size.
func tableOfDistribution(c document.Chart) table.Table {
	t := table.Numbers("size", "n", "min", "lo", "median", "hi", "p95", "max")
	figure := func(v float64, known bool) string {
		if !known {
			return unit.None
		}
		return c.Quantity.Format(v)
	}
	for _, s := range c.Series {
		for _, p := range s.Points {
			t.Add(
				unit.Bytes(p.Bytes), unit.Comma(int64(p.N)), figure(p.Min, true), figure(p.Lo, p.Bounded), figure(p.Value, true),
				figure(p.Hi, p.Bounded), figure(p.P95, p.P95 > 0), figure(p.Max, true),
			)
		}
	}
	return t
}
