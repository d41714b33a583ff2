package results

import (
	"zbench/bench/curve"
	"zbench/bench/document"
	"zbench/bench/record"
	"zbench/bench/unit"
)

// figures sums each curve up: its best bus bandwidth, and its times at the smallest
// size that ended ok.
func figures(rec *record.Record, curves []curve.Curve) document.Cards {
	var out document.Cards
	for _, c := range curves {
		card := document.Card{Title: c.Name}
		best := document.CardFigure{Term: "best busbw", Tail: "none"}
		var latency []document.CardFigure
		most, ended, extrapolated := -1.0, 0, false
		for _, r := range c.Rows {
			if r.Status != record.OK {
				continue
			}
			ended++
			extrapolated = extrapolated || r.Extrapolated
			if bw, ok := curve.BusBW(r); ok && bw > most {
				most = bw
				best.Figure, best.Tail = unit.Rate(bw), " at "+unit.Bytes(r.Bytes)
			}
			if latency == nil {
				latency = latencyOf(r)
			}
		}
		card.Figures = append([]document.CardFigure{best}, latency...)
		card.Foot = unit.Count(ended, "case") + " ok"
		if rest := len(c.Rows) - ended; rest > 0 {
			card.Foot += ", " + unit.Comma(rest) + " not"
		}
		if len(c.Also) > 0 && c.Apart >= 0 {
			card.Foot += " · in place within " + unit.Percent(c.Apart)
		}
		if extrapolated {
			card.Foot += " · extrapolated"
		}
		if rec.Simulated {
			card.Foot += " · SIMULATED"
		}
		out = append(out, card)
	}
	return out
}

// latencyOf are the times of a size, where there are any.
func latencyOf(r *record.Result) []document.CardFigure {
	burst, alone := curve.BurstOf(r), curve.IsolatedOf(r)
	if !burst.Known && !alone.Known {
		return nil
	}
	out := []document.CardFigure{{Term: unit.Bytes(r.Bytes) + " in a burst", Tail: "none"}}
	if burst.Known {
		out[0].Figure, out[0].Tail = unit.Seconds(burst.Median), ""
	}
	if alone.Known {
		out = append(out, document.CardFigure{Term: unit.Bytes(r.Bytes) + " alone", Figure: unit.Seconds(alone.Median)})
	}
	return out
}
