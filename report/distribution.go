package report

import (
	"fmt"
	"strings"

	"zbench/bench/curve"
	"zbench/bench/plain"
	"zbench/bench/record"
	"zbench/bench/table"
	"zbench/bench/unit"
)

// beyondAxis is how many medians a launch may take and still be drawn. One
// stray launch beyond that is in the table, but must not flatten all others.
const beyondAxis = 20

// distributions makes a small chart for each curve that was timed alone: by
// size, how far its launches lie from their median.
func distributions(rec *record.Record, drawn []curve.Curve) []Chart {
	var out []Chart
	for i, c := range drawn {
		chart := baseChart(rec, drawn)
		chart.ID = fmt.Sprintf("spread-%d-%s", i+1, slug(c.Name))
		chart.Title, chart.Quantity, chart.Look = c.Label()+", one launch alone", Spread, i
		chart.Series = []Series{{Name: c.Label(), Points: points(c, Spread)}}
		if chart.Empty() {
			continue
		}
		for _, p := range chart.Series[0].Points {
			if p.Max > beyondAxis*p.Value {
				chart.Notes = []string{fmt.Sprintf("Launches that took more than %d times the median are only in the table.", beyondAxis)}
			}
		}
		out = append(out, chart)
	}
	return out
}

// slug makes a name fit for an id and a file.
func slug(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '-'
	}, strings.ToLower(plain.Clip(name, 40)))
}

// tails takes over what a summary knows of the ends of the distribution. An end
// that cannot be is left at the median.
func tails(p *Point, t curve.Timing) {
	sum := t.Sum
	p.N, p.Min, p.Max = sum.N, p.Value, p.Value
	if sum.Min > 0 && sum.Min < p.Value {
		p.Min = sum.Min
	}
	if unit.Finite(sum.Max) && sum.Max > p.Value {
		p.Max = sum.Max
	}
	if sum.P95 != nil && *sum.P95 >= p.Min && *sum.P95 <= p.Max {
		p.P95 = *sum.P95
	}
}

// deviationAxis spans the launches' distances from their medians.
func deviationAxis(c Chart, count int) axis {
	lo, hi := -0.001, 0.001
	for _, s := range c.Series {
		for _, p := range s.Points {
			lo = min(lo, p.Min/p.Value-1)
			if top := p.Max/p.Value - 1; top < beyondAxis {
				hi = max(hi, top)
			}
		}
	}
	pad := (hi - lo) * 0.06
	a := axis{lo: lo - pad, hi: hi + pad, title: "time, from its median"}
	a.ticks = percentTicks(a, count, "+")
	return a
}

// boxLayer draws each size's launches: a thin line from the fastest to the
// slowest, a short one across at the 95th percentile, and a bar for the
// interval of the median, which is the line at zero.
func boxLayer(s scene, c Chart, i int, f format) layer {
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
		upright(p.Min, min(p.Max, beyondAxis*p.Value), 1)
		if p.P95 > 0 && p.P95 < beyondAxis*p.Value {
			across(p.P95, wide)
		}
		across(p.Value, wide)
		if p.Bounded {
			upright(p.Lo, p.Hi, wide)
		}
	}
	return l
}

// tableOfDistribution is the distribution as a table: one row per size.
func tableOfDistribution(c Chart) table.Table {
	t := numbers("size", "n", "min", "lo", "median", "hi", "p95", "max")
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
