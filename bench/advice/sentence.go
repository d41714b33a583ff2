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

// sentence is the whole answer: what to set, what that gains, what is as good, and how
// far to trust it.
func (d *Document) sentence() string {
	a := &d.Answer
	switch a.Verdict {
	case recommend.NoCommunication:
		return "No gradient communication: one data-parallel rank has no other rank to reduce with, and no bucket size matters."
	case recommend.Refused:
		return "No bucket size: " + a.Refusal.Message + "."
	}
	said := d.Advice()
	if as := d.AsGood(); as != "" {
		said += " " + as
	}
	if len(d.Assumed) > 0 {
		said += " " + d.Assumes()
	}
	return d.mark() + capital(said) + " Confidence " + a.Confidence.Level + "."
}

// Advice says what to set, and what that gains over what is set now.
func (d *Document) Advice() string {
	switch {
	case len(d.Assumed) > 0:
		return d.assumedAdvice()
	case d.Answer.Keep:
		return d.keep()
	}
	return d.use()
}

// Knob is the name of the setting as the first printed lines spell it.
func (d *Document) Knob() string {
	knob := d.Answer.Knob
	t, err := trainer.ByName(d.Answer.Trainer)
	if err != nil || t.Flag == "" {
		return knob
	}
	if len(d.Snippets) > 0 && strings.Contains(d.Snippets[0].Text, knob) && !strings.Contains(d.Snippets[0].Text, t.Flag) {
		return knob
	}
	return t.Flag
}

// kept says that the setting stays as it is, which of the two it is, and its value.
func (d *Document) kept(value string) string {
	if d.Answer.Current == nil {
		return "keep " + d.Knob() + " at its default, " + value
	}
	return "keep " + d.Knob() + " at " + value
}

// shorter bounds what the best size would gain over one that is kept.
func shorter(gain float64) string {
	return "the best size makes a training step at most " + AtMost(gain) + " shorter"
}

// keep says that what is set stays. What the missing switches gain is a sentence of
// its own.
func (d *Document) keep() string {
	a := &d.Answer
	keep := func(gain float64) string {
		worst := ""
		if a.Current == nil {
			worst = d.atWorst(gain)
		}
		return d.kept(d.named(a.Elements)) + ": " + shorter(gain) + worst + "."
	}
	if len(a.Changes) == 0 {
		return keep(a.Gain)
	}
	bucket, rest := a.Changes[0], a.Changes[1:]
	set := "set " + gained(rest, ": it makes a training step ") + "."
	if alone := over(bucket.Gain); alone < recommend.PlateauWidth {
		return keep(max(a.Gain, alone)) + " " + capital(set)
	}
	return set + " With that, " + keep(a.Gain)
}

// over is what a step costs more without a change that saves a share of it.
func over(gain float64) float64 { return gain / (1 - gain) }

// gained lists switches and what each saves, with the words between the two.
func gained(all []recommend.Change, makes string) string {
	var texts []string
	for _, c := range all {
		texts = append(texts, c.Name+makes+Share(max(0, c.Gain))+" shorter")
	}
	return strings.Join(texts, ", and ")
}

// use says what to set, and what it costs to stay.
func (d *Document) use() string {
	a := &d.Answer
	s := fmt.Sprintf("set %s to %s%s", d.Knob(), d.Amount(a.Elements), d.spelled())
	if len(a.Changes) > 0 {
		s += " and set " + d.lacking()
	}
	now, named, after := a.Default, "the default, ", ","
	if a.Current != nil {
		now, named, after = a.Current, "your ", ""
	}
	if now == nil {
		return s + "."
	}
	named += d.Amount(now.Elements) + after
	if len(a.Changes) == 0 {
		return s + ". " + d.costs(named, now)
	}
	return fmt.Sprintf("%s. With your flags and %s a training step takes %s longer than with your flags and the best size for them; %s.",
		s, named, Share(over(a.Changes[0].Gain)), gained(a.Changes[1:], " makes it "))
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

// WithinTitle heads the list of all settings that are nearly as good.
func WithinTitle() string { return "Within " + Share(recommend.PlateauWidth) }

// AsGood says what is as good within a per cent: all of it where that is few ranges,
// else the one around the answer, and how many there are besides. It is empty where the
// setting is kept, or assumed.
func (d *Document) AsGood() string {
	if d.Answer.Keep || len(d.Assumed) > 0 {
		return ""
	}
	all := d.Answer.Within
	within := "within " + Share(recommend.PlateauWidth) + " of its step time"
	switch n := len(all); {
	case n == 1 && all[0].OpenLo && all[0].OpenHi:
		return "Any setting is " + within + "."
	case n == 1 && all[0].Lo == all[0].Hi:
		return "No other setting is " + within + "."
	case n == 1:
		return "Anything " + d.stretch(all[0], "from ") + " is " + within + "."
	case n <= fewRanges:
		return capital(d.stretches(all)) + " are " + within + "."
	}
	return fmt.Sprintf("%s are %s, and so are %d more ranges, listed as %q.", capital(d.stretch(*d.Answer.Plateau, "")), within, len(all)-1, WithinTitle())
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

// onAverage is over what scores are averaged.
const onAverage = " on average over slower networks and other computation times"

// costs compares a named setting, as a sentence needs it, with the answer: as measured, and on average too where
// either alone would mislead.
func (d *Document) costs(named string, c *recommend.Candidate) string {
	best := d.Answer.Best
	more, mean := max(0, c.Step/best.Step-1), c.Score-best.Score
	if c.OverBudget {
		return capital(named) + " takes " + unit.Bytes(c.Memory) + " of buffers, more than the budget."
	}
	step := "With " + named + " a training step takes "
	switch {
	case mean > recommend.PlateauWidth && more < same:
		return step + "as long on the curve as measured, and " + Share(mean) + " longer" + onAverage + "."
	case mean > recommend.PlateauWidth && more < recommend.PlateauWidth:
		return step + Share(more) + " longer on the curve as measured, and " + Share(mean) + " longer" + onAverage + "."
	}
	return step + Share(more) + " longer."
}

// capital begins a sentence; a flag or a name with an underscore stays as it is.
func capital(s string) string {
	first, _, _ := strings.Cut(s, " ")
	if strings.ContainsAny(first, "_-") {
		return s
	}
	return strings.ToUpper(s[:min(1, len(s))]) + s[min(1, len(s)):]
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
