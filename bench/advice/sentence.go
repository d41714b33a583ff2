package advice

import (
	"fmt"
	"math"
	"strings"

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
	verdict := d.use()
	if a.Keep {
		verdict = d.keep()
	}
	return d.mark() + verdict + " Confidence " + a.Confidence.Level + "."
}

// keep says that what is set stays. What the missing switches gain is a sentence of
// its own.
func (d *Document) keep() string {
	a := &d.Answer
	keep := func(word string, gain float64) string {
		return fmt.Sprintf("%s %s: at most %s to gain.", word, d.named(a.Elements), AtMost(gain))
	}
	if len(a.Changes) == 0 {
		return keep("Keep", a.Gain)
	}
	bucket, rest := a.Changes[0], a.Changes[1:]
	set := "Set " + gained(rest, ", which saves ") + "."
	if alone := over(bucket.Gain); alone < recommend.PlateauWidth {
		return keep("Keep", max(a.Gain, alone)) + " " + set
	}
	return set + " " + keep("With that, keep", a.Gain)
}

// over is what a step costs more without a change that saves a share of it.
func over(gain float64) float64 { return gain / (1 - gain) }

// gained lists switches and what each saves, with the words between the two.
func gained(all []recommend.Change, saves string) string {
	var texts []string
	for _, c := range all {
		texts = append(texts, c.Name+saves+Share(max(0, c.Gain))+" of a step")
	}
	return strings.Join(texts, ", and ")
}

// use says what to set, what else is as good, and what it costs to stay.
func (d *Document) use() string {
	a := &d.Answer
	s := fmt.Sprintf("use %s%s", d.Amount(a.Elements), d.spelled())
	if len(a.Changes) > 0 {
		s += " and set " + d.lacking()
	}
	s += "; " + d.range1()
	now, named := a.Default, "the default"
	if a.Current != nil {
		now, named = a.Current, "your"
	}
	if now == nil {
		return s + "."
	}
	setting := named + " " + d.Amount(now.Elements)
	if len(a.Changes) == 0 {
		return s + "; " + setting + " " + d.costs(now) + "."
	}
	return fmt.Sprintf("%s; with your flags %s costs %s of a step; %s.", s, setting, Share(over(a.Changes[0].Gain)), gained(a.Changes[1:], " saves "))
}

// named is a setting with the word that its unit lacks, and no other number.
func (d *Document) named(setting int64) string {
	switch d.Answer.Unit {
	case trainer.Elements:
		return d.Amount(setting) + " elements"
	case trainer.Blocks:
		return d.Amount(setting) + " per unit"
	}
	return d.Amount(setting)
}

// AtMost prints a bound as per cent, rounded up and never 0: 0.4 %.
func AtMost(r float64) string {
	return Share(max(1, math.Ceil(1000*r-1e-9)) / 1000)
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

// fewRanges is how many ranges a sentence lists.
const fewRanges = 3

// range1 says what is as good within a per cent: all of it where that is few ranges,
// else the one around the answer, and how many there are besides.
func (d *Document) range1() string {
	all := d.Answer.Within
	within := "within " + Share(recommend.PlateauWidth)
	switch n := len(all); {
	case n == 1 && all[0].OpenLo && all[0].OpenHi:
		return "any setting is " + within
	case n == 1 && all[0].Lo == all[0].Hi:
		return "nothing else is " + within
	case n == 1:
		return "anything " + d.stretch(all[0], "from ") + " is " + within
	case n <= fewRanges:
		return d.stretches(all) + " are " + within
	}
	return fmt.Sprintf("%s and %d more ranges, listed below, are %s", d.stretch(*d.Answer.Plateau, ""), len(all)-1, within)
}

// stretch prints a range: "28 M to 419 M", "up to 419 M", "28 M and more", "28 M".
func (d *Document) stretch(r recommend.Range, from string) string {
	switch {
	case r.Lo == r.Hi:
		return d.Amount(r.Lo)
	case r.OpenLo:
		return "up to " + d.Amount(r.Hi)
	case r.OpenHi:
		return from + d.Amount(r.Lo) + " and more"
	}
	return from + d.Amount(r.Lo) + " to " + d.Amount(r.Hi)
}

// stretches lists ranges. Two whose ends print alike are one.
func (d *Document) stretches(all []recommend.Range) string {
	var texts []string
	for i := 0; i < len(all); i++ {
		r := all[i]
		for i+1 < len(all) && d.Amount(r.Hi) == d.Amount(all[i+1].Lo) {
			i++
			r.Hi, r.OpenHi = all[i].Hi, all[i].OpenHi
		}
		texts = append(texts, d.stretch(r, ""))
	}
	last := len(texts) - 1
	if last < 1 {
		return strings.Join(texts, "")
	}
	return strings.Join(texts[:last], ", ") + " and " + texts[last]
}

// same is the share of a step below which two settings are as fast.
const same = 0.0005

// costs compares a setting with the answer: as measured, and on average too where
// either alone would mislead.
func (d *Document) costs(c *recommend.Candidate) string {
	best := d.Answer.Best
	more, mean := max(0, c.Step/best.Step-1), c.Score-best.Score
	switch {
	case c.OverBudget:
		return "takes " + unit.Bytes(c.Memory) + " of buffers, more than the budget"
	case mean > recommend.PlateauWidth && more < same:
		return "is as fast as measured, and costs " + Share(mean) + " on average over slower networks and other computation"
	case mean > recommend.PlateauWidth && more < recommend.PlateauWidth:
		return "costs " + Share(more) + " of a step as measured, and " + Share(mean) + " on average over slower networks and other computation"
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
