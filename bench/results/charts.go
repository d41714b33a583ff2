package results

import (
	"strings"

	"zbench/bench/advice"
	"zbench/bench/curve"
	"zbench/bench/document"
	"zbench/bench/plain"
	"zbench/bench/recommend"
	"zbench/bench/record"
	"zbench/bench/unit"
)

// baseChart is what all charts of a record share.
func baseChart(rec *record.Record, drawn []curve.Curve) document.Chart {
	sub := []string{worldText(rec.World)}
	if words := curve.Shared(drawn); len(words) > 0 {
		sub = append(sub, strings.Join(words, ", "))
	}
	return document.Chart{Subtitle: strings.Join(sub, " · "), Mark: record.Mark(rec)}
}

// points keeps what ended ok and can be placed on the axes.
func points(c curve.Curve, q document.Quantity) []document.Point {
	var out []document.Point
	for _, r := range c.Rows {
		burst := curve.BurstOf(r)
		t := burst
		if q == document.Alone || q == document.Spread {
			t = curve.IsolatedOf(r)
		}
		if r.Status != record.OK || r.Bytes <= 0 {
			continue
		}
		p := document.Point{Bytes: r.Bytes, Value: t.Median, Lo: t.Lo, Hi: t.Hi, Bounded: t.Bounded, Extrapolated: r.Extrapolated}
		known := t.Known
		switch {
		case q == document.BusBW:
			p.Value, known = curve.BusBW(r)
			bracket(&p, r)
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

// roofsOf letters the roofs of a record's fabric.
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
	var out []document.Roof
	for _, r := range roofs {
		if document.BusBW.Drawable(r.Value) && r.Value > 0 {
			out = append(out, r)
		}
	}
	return out
}

// charts makes the charts of one quantity: one, or one for each collective. Knees
// are marked and the band is shaded in charts of bus bandwidth.
func charts(rec *record.Record, drawn []curve.Curve, q document.Quantity, note string, knees *recommend.Knees, band *document.Band) []document.Chart {
	c := baseChart(rec, drawn)
	c.Quantity = q
	switch q {
	case document.BusBW:
		c.ID, c.Title, c.Roofs, c.Band = "busbw", "Bus bandwidth by message size", usable(roofsOf(rec)), band
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

// collectivesOfCurves names the collective of each curve.
func collectivesOfCurves(curves []curve.Curve) []string {
	names := make([]string, len(curves))
	for i, c := range curves {
		names[i] = plain.OrUnnamed(c.Collective)
	}
	return names
}

// kneeOf is where the curve reaches kneeShare of its plateau for good; nil is not known.
func kneeOf(c curve.Curve, knees *recommend.Knees) *document.Point {
	if knees == nil {
		return nil
	}
	r := c.Rows[0]
	for i := range knees.Curves {
		k := &knees.Curves[i]
		same := k.Collective == r.Collective && k.Dtype == r.Dtype && k.Op == r.Op && k.Ranks == r.Ranks && k.Nodes == r.Nodes &&
			k.GPUsPerProcess == r.GPUsPerProcess && max(k.Groups, 1) == max(r.Groups, 1) && k.Stride == r.Stride && k.InPlace == r.InPlace && k.Setup == r.Setup
		if !same {
			continue
		}
		for _, p := range k.Points {
			if p.Fraction == document.KneeShare && p.Bytes > 0 && document.BusBW.Drawable(p.BusBW) {
				return &document.Point{Bytes: p.Bytes, Value: p.BusBW}
			}
		}
	}
	return nil
}

// adviceBand marks the size of the recommended messages; nil where there is no
// recommendation.
func adviceBand(d *advice.Document) *document.Band {
	if !d.Answered() || d.Answer.Best.LargestBytes <= 0 {
		return nil
	}
	size := d.Answer.Best.LargestBytes
	return &document.Band{Lo: size, Hi: size, Label: "recommended: " + unit.Bytes(size) + " messages"}
}

// bracket sets the ends of a point: between which bus bandwidths the model puts a result.
func bracket(p *document.Point, r *record.Result) {
	lo, hi, ok := r.BusBWBounds()
	if ok && document.BusBW.Drawable(lo) && document.BusBW.Drawable(hi) && lo < hi {
		p.Slow, p.Fast = lo, hi
	}
}
