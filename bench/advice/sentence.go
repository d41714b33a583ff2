package advice

import (
	"fmt"
	"math"

	"zbench/bench/recommend"
	"zbench/bench/trainer"
	"zbench/bench/unit"
)

// Amount prints a setting in the trainer's own unit: 350 M, 1335 MiB, 2 blocks.
func (d *Document) Amount(setting int64) string {
	return recommend.Amount(d.Answer.Unit, setting, d.Answer.Run, d.BlockElements)
}

// sentence is what to do, in a sentence.
func (d *Document) sentence() string {
	a := &d.Answer
	switch a.Verdict {
	case recommend.NoCommunication:
		return "No gradient communication: one data-parallel rank has nobody to reduce with, and no bucket size matters."
	case recommend.Refused:
		return "No bucket size: " + a.Refusal.Message + "."
	}
	s := fmt.Sprintf("%suse %s%s; %s", d.mark(), d.Amount(a.Elements), d.spelled(), d.range1())
	switch {
	case a.Current != nil && d.Config != nil && d.Config.Elements == a.Elements && d.Config.Overlap && !a.Run.GatherApart(a.Elements):
		s += "; it is what you have"
	case a.Current != nil && d.Config != nil:
		s += "; your " + d.Amount(d.Config.Elements)
		if a.Run.GatherApart(d.Config.Elements) {
			s += ", with all_gather at " + unit.Bytes(a.Run.GatherBytes) + ","
		}
		s += " " + d.costs(a.Current)
		if !d.Config.Overlap {
			s += ", because nothing overlaps there"
		}
	case a.Default != nil && a.Default.Elements == a.Elements:
		s += "; it is the default"
	case a.Default != nil:
		s += "; the default " + d.Amount(a.Default.Elements) + " " + d.costs(a.Default)
	}
	return s + ". Confidence " + a.Confidence.Level + "."
}

// mark starts a sentence that no measurement stands behind.
func (d *Document) mark() string {
	if d.Answer.Simulated {
		return "SIMULATED: "
	}
	return ""
}

// spelled is what the unit does not say: the word, and elements beside another.
func (d *Document) spelled() string {
	switch d.Answer.Unit {
	case trainer.Elements:
		return " elements"
	case trainer.Blocks:
		return " per unit (" + recommend.Count(d.Answer.Elements) + " elements)"
	}
	return " (" + recommend.Count(d.Answer.Elements) + " elements)"
}

// range1 says what is as good within a per cent.
func (d *Document) range1() string {
	p := d.Answer.Plateau
	within := " is within " + Share(recommend.PlateauWidth)
	switch {
	case p.OpenLo && p.OpenHi:
		return "any setting" + within
	case p.Lo == p.Hi:
		return "nothing else" + within
	case p.OpenLo:
		return "anything up to " + d.Amount(p.Hi) + within
	case p.OpenHi:
		return "anything from " + d.Amount(p.Lo) + " up" + within
	}
	return "anything from " + d.Amount(p.Lo) + " to " + d.Amount(p.Hi) + within
}

// same is the share of a step below which two settings are as good.
const same = 0.0005

// costs compares a setting with the answer. One that is good only while nothing is
// slower than measured is not called good.
func (d *Document) costs(c *recommend.Candidate) string {
	best := d.Answer.Best
	more, mean := c.Step/best.Step-1, c.Score-best.Score
	switch {
	case c.OverBudget:
		return "takes " + unit.Bytes(c.Memory) + " of buffers, more than the budget"
	case mean > recommend.PlateauWidth && more < recommend.PlateauWidth:
		return "costs " + Share(max(0, more)) + " of a step as measured, and " + Share(mean) + " on average over slower networks and other computation"
	case more < same:
		return "is as good: no need to change"
	}
	return "costs " + Share(more) + " of a step"
}

// Share prints a ratio as per cent: 0.4 %, 80 %.
func Share(r float64) string {
	p := 100 * r
	if math.Abs(p) < 9.95 {
		p = math.Round(10*p) / 10
		if p == math.Trunc(p) {
			return fmt.Sprintf("%.0f %%", p)
		}
		return fmt.Sprintf("%.1f %%", p)
	}
	return fmt.Sprintf("%.0f %%", p)
}
