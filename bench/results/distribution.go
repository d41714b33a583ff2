package results

import (
	"fmt"

	"zbench/bench/curve"
	"zbench/bench/document"
	"zbench/bench/record"
	"zbench/bench/unit"
)

// distributions makes a small chart for each curve that was timed alone: by
// size, how far its launches lie from their median.
func distributions(rec *record.Record, drawn []curve.Curve) []document.Chart {
	var out []document.Chart
	for i, c := range drawn {
		chart := baseChart(rec, drawn)
		chart.ID = fmt.Sprintf("spread-%d-%s", i+1, document.Slug(c.Name))
		chart.Title, chart.Quantity, chart.Look = c.Label()+", one launch alone", document.Spread, i
		chart.Series = []document.Series{{Name: c.Label(), Points: points(c, document.Spread)}}
		if chart.Empty() {
			continue
		}
		for _, p := range chart.Series[0].Points {
			if p.Max > document.BeyondAxis*p.Value {
				chart.Notes = []string{fmt.Sprintf("Launches that took more than %d times the median are only in the table.", document.BeyondAxis)}
			}
		}
		out = append(out, chart)
	}
	return out
}

// tails takes over what a summary knows of the ends of the distribution. An end
// that cannot be is left at the median.
func tails(p *document.Point, t curve.Timing) {
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
