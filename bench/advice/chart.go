package advice

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/document"
	"zbench/bench/recommend"
	"zbench/bench/trainer"
	"zbench/bench/unit"
)

// adviceChart draws the step time over the setting: the curve, the plateau as a
// band, and the settings with a name as points of their own.
func adviceChart(d *Document) document.Chart {
	a := &d.Answer
	c := document.Chart{
		ID: "bucket", Title: "Step time over the best, by bucket size", Subtitle: adviceSubtitle(d), Quantity: document.Setting,
		Series: []document.Series{{Name: "step time"}},
	}
	if a.Simulated {
		c.Mark = "SIMULATED"
	}
	for _, x := range a.Table {
		if x.Elements < d.Floor() {
			continue
		}
		c.Series[0].Points = append(c.Series[0].Points, settingPoint(d, &x))
	}
	mark := func(name, amount string, x *recommend.Candidate) {
		if x != nil && x.Elements > 0 {
			c.Series = append(c.Series, document.Series{Name: name + " " + amount, Points: []document.Point{settingPoint(d, x)}})
		}
	}
	use := "use"
	if a.Keep {
		use = "keep"
	}
	mark(use, d.Amount(a.Elements), a.Best)
	if a.Default != nil && (a.Default.Elements != a.Elements || a.Default.Step != a.Best.Step) {
		mark("default", d.Amount(a.Default.Elements), a.Default)
	}
	if a.Current != nil && *a.Current != *a.Best {
		mark("yours", d.Amount(a.Current.Elements), a.Current)
	}
	within := Share(recommend.PlateauWidth)
	c.Band = &document.Band{Lo: a.Plateau.Lo, Hi: a.Plateau.Hi, Label: "within " + within}
	for _, r := range a.Within {
		if r != *a.Plateau {
			c.Band.Others = append(c.Band.Others, document.Stretch{Lo: r.Lo, Hi: r.Hi})
		}
	}
	c.Range = settingRange(d)
	c.Notes = []string{
		"Every setting that costs at most " + within + " is shaded.",
		"The line is how much longer a step is than with the best size: as measured, or on average over slower networks and other computation where that is more.",
	}
	if text := settingRangeNote(d); text != "" {
		c.Notes = append(c.Notes, text)
	}
	if top := document.CostTop(c); slices.ContainsFunc(c.Series[0].Points, func(p document.Point) bool { return p.Value > top }) {
		c.Notes = append(c.Notes, "Settings that cost more than "+unit.Percent(top)+" lie above the axis; the table has them.")
	}
	return c
}

func adviceSubtitle(d *Document) string {
	a := &d.Answer
	s := a.Trainer
	if t, err := trainer.ByName(a.Trainer); err == nil {
		s = t.Title
	}
	s += " · " + unit.Count(int64(a.Run.DP), "data-parallel rank")
	if d.Model != nil {
		s += " · " + d.Model.Name
	}
	return s + " · confidence " + a.Confidence.Level
}

func settingPoint(d *Document, x *recommend.Candidate) document.Point {
	cost := d.Answer.Cost(x)
	return document.Point{
		Bytes: x.Elements, Value: cost, Extrapolated: x.Extrapolated,
		Words: fmt.Sprintf("%s: %s over the best, %s, %s of up to %s", d.Amount(x.Elements), Over(x, cost), unit.Seconds(x.Step), unit.Count(int64(x.Buckets), "bucket"), unit.Bytes(x.LargestBytes)),
	}
}

// settingRange is between which settings the model's bracket moves the answer; nil
// where there is no bracket, or it moves nothing.
func settingRange(d *Document) *document.Band {
	b := d.Bracket
	if b == nil || b.Lo >= b.Hi {
		return nil
	}
	return &document.Band{Lo: b.Lo, Hi: b.Hi, Label: document.RangeName + " " + d.Range()}
}

// settingRangeNote says what moves the answer between both ends.
func settingRangeNote(d *Document) string {
	if settingRange(d) == nil {
		return ""
	}
	return "The line across is the " + document.RangeName + ": from its fast to its slow end the best size lies between " + strings.Replace(d.Range(), " to ", " and ", 1) + " elements."
}
