package advice

import (
	"fmt"
	"math"
	"strings"

	"zbench/bench/answers/recommend"
	"zbench/bench/base/plain"
	"zbench/bench/base/unit"
	"zbench/bench/job/trainer"
	"zbench/bench/show/document"
	"zbench/bench/show/table"
)

// observations returns the observed steps with their settings in elements.
func observations(t trainer.Trainer, in Input, params []trainer.Param) ([]recommend.Observation, error) {
	if in.Observed == nil {
		return nil, nil
	}
	var all []recommend.Observation
	for _, s := range in.Observed.Settings {
		n, err := t.Spelled(s.Setting, params, in.Run)
		if err != nil {
			return nil, fmt.Errorf("--observed: %w", err)
		}
		all = append(all, recommend.Observation{Elements: n, Seconds: s.Seconds})
	}
	return all, nil
}

// `observed` compares the observed steps with the model and says how they narrow the answer; empty without
// observed steps or without an answer.
func (d *Document) observed() string {
	f := d.Answer.Observed
	if f == nil || !f.Fits {
		return ""
	}
	before, after := 0.0, 0.0
	for _, o := range f.Settings {
		after = max(after, math.Abs(o.Off()))
		if o.Predicted != nil {
			before = max(before, math.Abs(o.Median / *o.Predicted - 1))
		}
	}
	text := fmt.Sprintf("The model fits %s within %s", unit.Count(int64(len(f.Settings)), "observed setting"), AtMost(after))
	if before > 0 {
		text += fmt.Sprintf(", and without them it was off by up to %s", AtMost(before))
	}
	if len(f.Why) > 0 {
		text += ", given that " + f.Why[0].Message
	}
	text += ". " + plain.Capital(strings.Join(d.inferred(), "; ")) + "."
	if f.Before != nil && f.After != nil {
		text += fmt.Sprintf(" By what they allow the best size is %s; without them, %s.", d.reaching(f.After), d.reaching(f.Before))
	}
	return text
}

// reaching returns a range of settings in words.
func (d *Document) reaching(r *recommend.Range) string {
	if lo, hi := d.Amount(r.Lo), d.Amount(r.Hi); lo != hi {
		return lo + " to " + hi
	}
	return d.Amount(r.Lo)
}

// `inferred` lists the value of each quantity that the steps determine, and names the other quantities.
func (d *Document) inferred() []string {
	f := d.Answer.Observed
	times := func(v float64) string { return fmt.Sprintf("%.2f", v) }
	share := unit.Percent
	var all, open []string
	for _, x := range []struct {
		name, what, behind string
		of                 recommend.Estimate
		print              func(float64) string
	}{
		{"computation", "computation takes", " times as long as " + d.computeGiven(), f.Compute, times},
		{"messages", "messages take", " times as long as in the sweep", f.Network, times},
		{"contention", "messages slow computation down by", "", f.Contention, share},
		{"the rest of a step", "outside of both passes a step takes", "", f.Rest, unit.Seconds},
	} {
		if !x.of.Inferred {
			open = append(open, x.name)
			continue
		}
		all = append(all, fmt.Sprintf("%s %s%s (%s to %s)", x.what, x.print(x.of.Value), x.behind, x.print(x.of.Lo), x.print(x.of.Hi)))
	}
	if len(open) > 0 {
		all = append(all, "these settings tell nothing of "+plain.And(open))
	}
	return all
}

// computeGiven names the computation time that the factor refers to.
func (d *Document) computeGiven() string {
	if o := d.Answer.Observed.Settings[0]; o.Predicted == nil {
		return "the gradients in messages of the largest swept size"
	}
	return "given"
}

// observedBlocks returns the chart of predicted and measured steps, and its table.
func (d *Document) observedBlocks() []document.Block {
	f := d.Answer.Observed
	if f == nil {
		return nil
	}
	t := table.Table{Indent: 2, Groups: []table.Group{{}}, Columns: []table.Column{
		{Name: "observed setting"},
		{Name: "buckets", Right: true},
		{Name: "steps", Right: true},
		{Name: "measured", Right: true},
		{Name: "95 %", Right: true},
		{Name: "predicted", Right: true},
		{Name: "off", Right: true},
		{Name: "best fit", Right: true},
		{Name: "off", Right: true},
	}}
	for _, o := range f.Settings {
		interval, predicted, off := unit.None, unit.None, unit.None
		if o.Lo != nil && o.Hi != nil {
			interval = unit.Seconds(*o.Lo) + " to " + unit.Seconds(*o.Hi)
		}
		if o.Predicted != nil {
			predicted, off = unit.Seconds(*o.Predicted), signed(o.Median / *o.Predicted - 1)
		}
		t.Add(d.settingOf(&o), unit.Comma(o.Buckets), unit.Comma(o.Steps), unit.Seconds(o.Median), interval, predicted, off, unit.Seconds(o.Fitted), signed(o.Off()))
	}
	sheet := document.Sheet{
		Label: "Observed steps", Table: t,
		Caption: "Observed steps. measured: the median. predicted: computed without the observed steps. best fit: with the computation, messages and rest of a step that fit them best.",
	}
	return []document.Block{document.Plot{Chart: observedChart(d, f)}, sheet}
}

func (d *Document) settingOf(o *recommend.Observed) string {
	if o.Unset {
		return "default, " + d.Amount(o.Elements)
	}
	return d.Amount(o.Elements)
}

// `signed` prints a relative difference: +3.2 %.
func signed(v float64) string { return strings.Replace(fmt.Sprintf("%+.1f %%", 100*v), "-", "−", 1) }

// observedChart draws the steps by setting: predicted as a line with a band, measured as points with intervals.
func observedChart(d *Document, f *recommend.Fit) document.Chart {
	c := document.StepChart("predicted, best fit", d.Answer.Simulated)
	c.Subtitle = adviceSubtitle(d)
	c.Notes = []string{
		"Points are the medians of measured steps with their 95 % intervals; those of fewer than six steps have none.",
		"The line is the best fit; of measured steps 95 % should lie in the shaded area.",
	}
	if !f.Fits {
		c.Notes = append(c.Notes, "The model does not fit this job.")
	}
	lo, hi := f.Settings[0].Elements, f.Settings[len(f.Settings)-1].Elements
	for _, p := range f.Curve {
		if p.Elements >= lo/4 && p.Elements <= 4*hi {
			c.Series[0].Points = append(c.Series[0].Points, document.Point{Bytes: p.Elements, Value: p.Step, Slow: p.Lo, Fast: p.Hi})
		}
	}
	for _, o := range f.Settings {
		p := document.MeasuredStep(o.Elements, o.Median, o.Lo, o.Hi, o.Steps)
		p.Words = d.settingOf(&o) + ": " + p.Text(document.StepTime) + " measured, " + unit.Seconds(o.Fitted) + " by the best fit"
		c.Series[1].Points = append(c.Series[1].Points, p)
	}
	return c
}
