package report

import (
	"slices"
	"strings"

	"zbench/bench/advice"
	"zbench/bench/bucket"
	"zbench/bench/curve"
	"zbench/bench/plain"
	"zbench/bench/record"
	"zbench/bench/unit"
)

// seriesPerChart is how many curves one chart has at most: with more of them each
// collective gets a chart of its own.
const seriesPerChart = 6

// charts makes the charts of one quantity: one, or one for each collective. Knees
// are marked and the band is shaded in charts of bus bandwidth.
func charts(rec *record.Record, drawn []curve.Curve, q Quantity, note string, knees *bucket.Answer, band *Band) []Chart {
	c := baseChart(rec, drawn)
	c.Quantity = q
	switch q {
	case BusBW:
		c.ID, c.Title, c.Roofs, c.Band = "busbw", "Bus bandwidth by message size", usable(roofsOf(rec)), band
	case Time:
		c.ID, c.Title = "time", "Time per launch in a burst"
	default:
		c.ID, c.Title = "alone", "Time of one launch alone"
	}
	for _, one := range drawn {
		s := Series{Name: one.Label(), Points: points(one, q)}
		if q == BusBW {
			s.Knee = kneeOf(one, knees)
		}
		c.Series = append(c.Series, s)
	}
	out := split(c, collectivesOfCurves(drawn))
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

// split makes one chart for each distinct name where the chart has more series than
// seriesPerChart. names[i] is what series i belongs to.
func split(c Chart, names []string) []Chart {
	order := slices.Compact(slices.Clone(names))
	if len(c.Series) <= seriesPerChart || len(order) < 2 {
		return []Chart{c}
	}
	var out []Chart
	index := map[string]int{}
	for i, s := range c.Series {
		at, known := index[names[i]]
		if !known {
			at = len(out)
			index[names[i]] = at
			one := c
			one.ID, one.Title, one.Series, one.Short = c.ID+"-"+slug(names[i]), names[i]+": "+lowered(c.Title), nil, true
			out = append(out, one)
		}
		// The title names the collective already.
		s.Name = strings.TrimLeft(strings.TrimPrefix(s.Name, names[i]), ", ")
		out[at].Series = append(out[at].Series, s)
	}
	return out
}

// lowered begins a title with a small letter, to stand behind another word.
func lowered(title string) string { return strings.ToLower(title[:1]) + title[1:] }

// kneeShare is the share of the plateau whose size is marked in a chart.
const kneeShare = 0.9

// kneeOf is where the curve reaches kneeShare of its plateau for good; nil is not known.
func kneeOf(c curve.Curve, knees *bucket.Answer) *Point {
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
			if p.Fraction == kneeShare && p.Bytes > 0 && BusBW.drawable(p.BusBW) {
				return &Point{Bytes: p.Bytes, Value: p.BusBW}
			}
		}
	}
	return nil
}

// adviceBand marks the size of the recommended messages; nil where there is no
// recommendation.
func adviceBand(d *advice.Document) *Band {
	if !d.Answered() || d.Answer.Best.LargestBytes <= 0 {
		return nil
	}
	size := d.Answer.Best.LargestBytes
	return &Band{Lo: size, Hi: size, Label: "recommended: " + unit.Bytes(size) + " messages"}
}
