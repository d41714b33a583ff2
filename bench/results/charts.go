package results

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/answers/advice"
	"zbench/bench/answers/recommend"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/run/curve"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
)

// baseChart is the common part of all charts of a record.
func baseChart(rec *record.Record, drawn []curve.Curve) document.Chart {
	sub := []string{worldText(rec.World)}
	if words := curve.Shared(drawn); len(words) > 0 {
		sub = append(sub, strings.Join(words, ", "))
	}
	return document.Chart{Subtitle: strings.Join(sub, " · "), Mark: record.Mark(rec)}
}

// points returns the results that ended ok and that the axes can show.
func points(c curve.Curve, q document.Quantity) []document.Point {
	var out []document.Point
	for _, r := range c.Rows {
		burst := curve.BurstOf(r)
		t := burst
		if q == document.Alone || q == document.Spread {
			t = curve.IsolatedOf(r)
		}
		if r.Status != record.OK || r.Bytes <= 0 || q == document.SmallBW && r.Bytes > document.MostSmall {
			continue
		}
		p := document.Point{Bytes: r.Bytes, Value: t.Median, Lo: t.Lo, Hi: t.Hi, Bounded: t.Bounded, Extrapolated: r.Extrapolated}
		known := t.Known
		switch {
		case q.IsRate():
			p.Value, known = curve.BusBW(r)
			known = known && (p.Value > 0 || q == document.BusBW) // a logarithmic axis has no 0
			bracket(&p, r)
			if q == document.SmallBW && p.Slow <= 0 {
				p.Slow, p.Fast = 0, 0
			}
			if t.Bounded {
				p.Lo, p.Hi = p.Value*(t.Median/t.Hi), p.Value*(t.Median/t.Lo)
			}
		case q == document.Alone && burst.Known && q.Drawable(burst.Median):
			p.Burst = burst.Median
		case q == document.Spread && known:
			tails(&p, t)
		}
		p.Bounded = p.Bounded && q.Drawable(p.Lo) && q.Drawable(p.Hi)
		if known && q.Drawable(p.Value) {
			out = append(out, p)
		}
	}
	return out
}

// roofsOf returns the roofs of a record's fabric with their letters.
func roofsOf(rec *record.Record) []document.Roof {
	if rec.Fabric == nil {
		return nil
	}
	out := make([]document.Roof, len(rec.Fabric.Roofs))
	for i, r := range rec.Fabric.Roofs {
		out[i] = document.Roof{Letter: document.Letter(i), Label: r.Label, Value: r.BusBW, Source: r.Source}
	}
	return out
}

// usable keeps the roofs that can be drawn.
func usable(roofs []document.Roof) []document.Roof {
	return slice.Where(roofs, func(r document.Roof) bool { return document.BusBW.Drawable(r.Value) && r.Value > 0 })
}

// charts makes the charts of one quantity: a single chart, or one for each collective. Charts of bus
// bandwidth also show the knees and the band.
func charts(rec *record.Record, drawn []curve.Curve, q document.Quantity, note string, knees *recommend.Knees, band *document.Band) []document.Chart {
	c := baseChart(rec, drawn)
	c.Quantity = q
	switch q {
	case document.BusBW:
		c.ID, c.Title, c.Roofs, c.Band = "busbw", "Bus bandwidth by message size", usable(roofsOf(rec)), band
	case document.SmallBW:
		c.ID, c.Title, c.Short = "busbw-small", smallTitle, true
	case document.Time:
		c.ID, c.Title = "time", "Time per launch in a burst"
	default:
		c.ID, c.Title = "alone", "Time of one launch alone"
	}
	for _, one := range drawn {
		s := document.Series{Name: one.Label(), Points: points(one, q)}
		if q == document.BusBW {
			s.Knee = kneeOf(one, knees)
		}
		c.Series = append(c.Series, s)
	}
	out := document.Split(c, collectivesOfCurves(drawn))
	for i := range out {
		out[i].Notes = notesOf(out[i], rec)
		if note != "" && !out[i].Empty() {
			out[i].Notes = append(out[i].Notes, note)
		}
	}
	return out
}

// smallTitle names the chart of small messages.
var smallTitle = "Bus bandwidth of messages up to " + unit.Bytes(int64(document.MostSmall))

// smallCharts returns the charts of small messages, which the linear axis of the other charts flattens;
// nil if no curve has three such messages.
func smallCharts(rec *record.Record, drawn []curve.Curve, note string) []document.Chart {
	const flat = 64 // if the largest message is at least this many times MostSmall, small messages look flat
	hidden := slices.ContainsFunc(drawn, func(c curve.Curve) bool {
		all := points(c, document.BusBW)
		return len(points(c, document.SmallBW)) > 2 && all[len(all)-1].Bytes >= flat*document.MostSmall
	})
	if !hidden {
		return nil
	}
	return charts(rec, drawn, document.SmallBW, note, nil, nil)
}

// collectivesOfCurves names the collective of each curve.
func collectivesOfCurves(curves []curve.Curve) []string {
	return slice.Map(curves, func(c curve.Curve) string { return plain.OrUnnamed(c.Collective) })
}

// kneeOf returns the size from which the curve stays at kneeShare of its plateau; nil if unknown.
func kneeOf(c curve.Curve, knees *recommend.Knees) *document.Point {
	if knees == nil {
		return nil
	}
	own := slice.First(knees.Curves, func(k recommend.KneeCurve) bool { return k.CurveKey == c.Rows[0].CurveKey() })
	for _, p := range own.Points {
		if p.Fraction == document.KneeShare && p.Bytes > 0 && document.BusBW.Drawable(p.BusBW) {
			return &document.Point{Bytes: p.Bytes, Value: p.BusBW}
		}
	}
	return nil
}

// adviceBand returns a mark at the size of the recommended messages; nil without a recommendation.
func adviceBand(d *advice.Document) *document.Band {
	if !d.Answered() || d.Answer.Best == nil || d.Answer.Best.LargestBytes <= 0 {
		return nil
	}
	size := d.Answer.Best.LargestBytes
	return &document.Band{Lo: size, Hi: size, Label: "recommended: " + d.Size()}
}

// bracket sets the range of a point: its bus bandwidth at the slow and the fast end of the model.
func bracket(p *document.Point, r *record.Result) {
	lo, hi, ok := r.BusBWBounds()
	if ok && document.BusBW.Drawable(lo) && document.BusBW.Drawable(hi) && lo < hi {
		p.Slow, p.Fast = lo, hi
	}
}

// distributions makes a small chart for each curve with isolated times: how far the launches lie from
// their median, by size.
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

// tails sets the ends of a point's distribution from its summary. An impossible end stays at the median.
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

// notesOf returns the notes of a chart. It explains only the signs that occur.
func notesOf(c document.Chart, rec *record.Record) []string {
	var bars, hollow, filled, plotted, bursts bool
	for _, s := range c.Series {
		for _, p := range s.Points {
			plotted = true
			bars = bars || p.Bounded
			hollow = hollow || p.Extrapolated
			filled = filled || !p.Extrapolated
			bursts = bursts || p.Burst > 0
		}
	}
	var notes []string
	if c.Quantity == document.Alone && plotted {
		notes = append(notes, "The slowest rank’s time, nothing else under way: what a small message waits for.")
	}
	if bursts {
		notes = append(notes, "The thin line of the same colour is the time per launch in a burst; it is not mixed in.")
	}
	if !plotted {
		return []string{"No case ended with a figure to draw."}
	}
	if bars {
		notes = append(notes, "Vertical bars bound the median with at least 95 % confidence; a bar shorter than its marker does not show.")
	}
	switch {
	case hollow && filled:
		notes = append(notes, "Hollow markers are extrapolated: "+unmeasured+".")
	case hollow:
		notes = append(notes, "All points are extrapolated (hollow markers): "+unmeasured+".")
	}
	if text := rangeNote(c, rec); text != "" {
		notes = append(notes, text)
	}
	if text := kneeNote(c); text != "" {
		notes = append(notes, text)
	}
	if c.Quantity == document.BusBW && c.Band != nil {
		notes = append(notes, "The dotted vertical line is the largest gradient message of the recommended bucket size, "+unit.Bytes(c.Band.Lo)+".")
	}
	if c.Quantity == document.BusBW && rec.World.Ranks == 1 {
		notes = append(notes, "One rank has no bus traffic: its bus bandwidth is zero by definition.")
	}
	return notes
}

// kneeNote says from which size on each curve stays at kneeShare of its plateau.
func kneeNote(c document.Chart) string {
	marked := slice.Where(c.Series, func(s document.Series) bool { return s.Knee != nil })
	if len(marked) == 0 {
		return ""
	}
	knees := slice.Map(marked, func(s document.Series) string { return s.Name + " " + unit.Bytes(s.Knee.Bytes) })
	return "Large hollow markers: from there on the curve stays above " + unit.Percent(document.KneeShare) + " of its plateau. " + strings.Join(knees, "; ") + "."
}

// rangeNote explains the shaded areas of a chart; empty if it has none.
func rangeNote(c document.Chart, rec *record.Record) string {
	shaded := slices.ContainsFunc(c.Series, func(s document.Series) bool { return slices.ContainsFunc(s.Points, document.Point.Bracketed) })
	if !shaded {
		return ""
	}
	text := "Shaded: between the slow and the fast end of the model"
	if rec.Fabric != nil && rec.Fabric.Bracket != nil {
		text += fmt.Sprintf(", whose latency (R) at %s is not measured and bracketed %.0f ×", unit.Count(rec.World.Nodes, "node"), rec.Fabric.Bracket.Factor)
	}
	return text + "."
}
