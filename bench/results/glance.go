package results

import (
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/run/curve"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
)

// figures summarises each curve: its best bus bandwidth, and its times at the smallest size that
// ended ok.
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

// latencyOf returns the times of a result as figures of a card; nil without times.
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
		out = append(out, document.CardFigure{Term: unit.Bytes(r.Bytes) + " isolated", Figure: unit.Seconds(alone.Median)})
	}
	return out
}

// averages returns what rccl-tests prints below its table, for each collective: the arithmetic mean of the
// busbw over all rows of the whole world. The mean depends on the requested sizes, so nothing is judged
// by it. It is omitted for a collective that was interrupted or has no busbw above 0, as with one rank.
func averages(rec *record.Record) []document.Fact {
	var each []string
	for _, name := range rec.Collectives() {
		sum, n, world, whole := 0.0, 0, 0, true
		for _, r := range rec.Each() {
			bw, known := curve.BusBW(r)
			whole = whole && (r.Collective != name || r.Status != record.Interrupted)
			if r.Collective != name || r.Status != record.OK || r.Groups > 1 || r.Ranks < world || !known {
				continue
			}
			if r.Ranks > world { // earlier results are of a part of the world
				sum, n, world = 0, 0, r.Ranks
			}
			sum, n = sum+bw, n+1
		}
		if whole && sum > 0 {
			each = append(each, name+" "+unit.Digits(sum/float64(n)/giga))
		}
	}
	if len(each) == 0 {
		return nil
	}
	return []document.Fact{{Term: "Average busbw, GB/s, as rccl-tests prints it", Text: strings.Join(each, ", ")}}
}

// averageBlocks returns the averages as a paragraph.
func averageBlocks(rec *record.Record) []document.Block {
	return slice.Map(averages(rec), func(f document.Fact) document.Block {
		return document.Paragraph{Text: document.Said("Average busbw, GB/s: " + f.Text + ".")}
	})
}
