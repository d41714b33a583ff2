package advice

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"zbench/bench/answers/recommend"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/job/trainer"
)

// Amount prints a setting in the trainer's own unit: 350 M, 1335 MiB, 2 blocks.
func (d *Document) Amount(setting int64) string {
	return recommend.Amount(d.Answer.Unit, setting, d.Answer.Run, d.BlockElements)
}

// sentence returns the whole answer: the setting and its gain, the settings that are as good, and the
// confidence.
func (d *Document) sentence() string {
	a := &d.Answer
	switch a.Verdict {
	case recommend.NoCommunication:
		return "No gradient communication: one data-parallel rank has no other rank to reduce with, and no bucket size matters."
	case recommend.Refused:
		return "No bucket size: " + a.Refusal.Message + "."
	}
	said := slices.DeleteFunc([]string{capital(d.Advice()), d.AsGood(), d.reaches(), d.confidence() + "."}, func(s string) bool { return s == "" })
	return d.mark() + strings.Join(said, " ")
}

// confidence returns the level of confidence. It adds a note if no recorded real steps have as much latency
// as the answer.
func (d *Document) confidence() string {
	c := &d.Answer.Confidence
	if why := c.Why(); d.Answer.Latency > 0 && why != nil {
		return plain.Capital(c.Level) + " confidence: " + why.Message
	}
	return plain.Capital(c.Level) + " confidence"
}

// Advice returns the setting and its gain over the present setting. An assumed answer begins with the
// assumptions.
func (d *Document) Advice() string {
	if d.IsAssumed() {
		return "assuming " + strings.Join(d.Assumed[:2], ", ") + ": " + d.advised()
	}
	return d.advised()
}

func (d *Document) advised() string {
	why := d.unfounded()
	switch {
	case d.Answer.Verdict == recommend.Ruled:
		return d.rule(why)
	case why != "":
		return d.withoutShares(why)
	case d.Answer.Keep:
		return d.keep()
	}
	return d.use()
}

// Knob returns the name of the setting as spelled in the first printed lines.
func (d *Document) Knob() string {
	t, err := trainer.ByName(d.Answer.Trainer)
	if err != nil {
		return d.Answer.Knob
	}
	form := d.form
	if len(d.Snippets) > 0 {
		form = d.Snippets[0].Title
	}
	return t.KnobIn(form, d.Answer.Advised)
}

// value returns a setting as the user types it, followed by `words` in parentheses. If the user types the
// same as `words`, it returns only `words`.
func (d *Document) value(setting int64, words string) string {
	if d.Answer.Unit == trainer.Elements && setting >= 1000 {
		return fmt.Sprintf("%d (%s)", setting, words)
	}
	return words
}

// Size returns the recommended bucket size with its elements, for the verdict: 530 MiB (278 M elements).
func (d *Document) Size() string { return d.spelled(d.Answer.Elements) }

// set returns the instruction to set the answer's size.
func (d *Document) set() string { return d.setTo(d.Answer.Elements) }

func (d *Document) setTo(n int64) string {
	return "set " + d.Knob() + " to " + d.value(n, d.spelled(n))
}

// `also` returns the end of an instruction: the switches that the answer needs and the user's flags lack. It
// is empty if there are no such switches.
func (d *Document) also() string {
	if lacking := d.lacking(); lacking != "" {
		return " and set " + lacking
	}
	return ""
}

// `kept` returns the advice to leave the setting as it is, with its value.
func (d *Document) kept() string {
	a := &d.Answer
	value := d.named(a.Elements) // the user types nothing
	if a.Current == nil {
		value = "its default, " + value
	}
	return "keep " + d.Knob() + " at " + value
}

// keep returns the advice to leave the present setting, with the upper bound of its cost. The gain of
// missing switches is a separate sentence.
func (d *Document) keep() string {
	a := &d.Answer
	keep := func(costs float64) string {
		worst := ""
		if a.Current == nil {
			worst = d.atWorst(costs)
		}
		return fmt.Sprintf("%s: a training step is %s%s.", d.kept(), longer(costs), worst)
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

// longer describes how much longer a step is than with the best size. It prints the same figure as the
// table.
func longer(costs float64) string {
	if costs < same {
		return "as short as with the best size"
	}
	return unit.Share(costs) + " longer than with the best size"
}

// `over` converts a gain to a cost. The gain is a share of the step without a change. The cost is a share of
// the step with the change.
func over(gain float64) float64 { return gain / (1 - gain) }

// `gained` lists switches with the saving of each. `makes` is the text between a switch and its saving.
func gained(all []recommend.Change, makes string) string {
	texts := slice.Map(all, func(c recommend.Change) string { return c.Name + makes + unit.Share(max(0, c.Gain)) + " shorter" })
	return strings.Join(texts, ", and ")
}

// `use` returns the advice to change the setting: what to set, and how much longer a step is with the
// present setting and with the default.
func (d *Document) use() string {
	a := &d.Answer
	s := d.set() + d.also()
	now, named := a.Now(), "the default, "
	if now == nil {
		return s + "."
	}
	if a.Current != nil {
		named = "your "
	}
	named += d.Amount(now.Elements)
	x := a.Default
	standard := a.Current != nil && x != nil && d.Amount(x.Elements) == d.Amount(now.Elements)
	if standard {
		named = "your " + d.Amount(now.Elements) + ", which is the default"
	}
	if len(a.Changes) > 0 {
		if strings.Contains(named, ",") {
			named += ","
		}
		return fmt.Sprintf("%s. With your flags alone a training step is %s longer with %s than with the best size for them; %s.",
			s, unit.Share(over(a.Changes[0].Gain)), named, gained(a.Changes[1:], " makes it "))
	}
	s += ". " + d.costs(named, now)
	if a.Current != nil && x != nil && !standard && !x.OverBudget && x.Unfounded == "" {
		s += fmt.Sprintf(" With the default, %s, it is %s longer.", d.Amount(x.Elements), unit.Share(a.Cost(x)))
	}
	return s
}

// `named` returns a setting with its full unit, such as "350 M elements", and no second number.
func (d *Document) named(setting int64) string {
	return recommend.Named(d.Answer.Unit, setting, d.Answer.Run, d.BlockElements)
}

// AtMost prints an upper bound in per cent, rounded up and never 0: 0.4 %.
func AtMost(r float64) string {
	return unit.Share(max(1, math.Ceil(1000*r-1e-9)) / 1000)
}

// mark returns the word that precedes a sentence without a measurement behind it.
func (d *Document) mark() string {
	if d.Answer.Simulated {
		return "SIMULATED: "
	}
	return ""
}

// `spelled` returns a setting with its full unit. If the unit is not elements, it adds the number of elements
// in parentheses.
func (d *Document) spelled(n int64) string {
	if d.Answer.Unit == trainer.Elements {
		return d.named(n)
	}
	return d.named(n) + " (" + recommend.Count(n) + " elements)"
}

// fewRanges is how many ranges a sentence lists.
const fewRanges = 3

// WithinTitle heads the list of all settings that are nearly as good.
func WithinTitle() string { return "Within " + unit.Share(recommend.PlateauWidth) }

// AsGood lists the settings that are within one per cent of the best: all ranges if they are few, otherwise
// the range around the answer and the number of other ranges. It is empty if the setting is kept.
func (d *Document) AsGood() string {
	if d.Answer.Keep || d.Answer.Verdict == recommend.Ruled || !d.compares() {
		return ""
	}
	all := d.Answer.Within
	if x := d.Answer.Default; x != nil && d.Answer.Current == nil && slices.ContainsFunc(all, func(r recommend.Range) bool { return r.Holds(x.Elements) }) {
		return d.asGood(all) + " The default cuts other buckets than " + d.Amount(x.Elements) + " that is set."
	}
	return d.asGood(all)
}

func (d *Document) asGood(all []recommend.Range) string {
	as := "As good within " + unit.Share(recommend.PlateauWidth) + ": "
	switch n := len(all); {
	case n == 1 && all[0].OpenLo && all[0].OpenHi:
		return as + "any size."
	case n == 1 && all[0].Lo == all[0].Hi:
		return as + "no other size."
	case n <= fewRanges:
		return as + d.stretches(all) + "."
	}
	return fmt.Sprintf("%s%s and %d more ranges, listed as %q (--verbose).", as, d.stretch(*d.Answer.Plateau), len(all)-1, WithinTitle())
}

// stretch prints a range: "28 M to 419 M", "up to 419 M", "28 M and more", "28 M".
func (d *Document) stretch(r recommend.Range) string {
	switch {
	case r.Lo == r.Hi:
		return d.Amount(r.Lo)
	case r.OpenLo:
		return "up to " + d.Amount(r.Hi)
	case r.OpenHi:
		return d.Amount(r.Lo) + " and more"
	}
	return d.Amount(r.Lo) + " to " + d.Amount(r.Hi)
}

// stretches lists ranges. Two neighbouring ranges are joined if the end of the first and the start of the
// second print the same text.
func (d *Document) stretches(all []recommend.Range) string {
	var texts []string
	for i := 0; i < len(all); i++ {
		r := all[i]
		for i+1 < len(all) && d.Amount(r.Hi) == d.Amount(all[i+1].Lo) {
			i++
			r.Hi, r.OpenHi = all[i].Hi, all[i].OpenHi
		}
		texts = append(texts, d.stretch(r))
	}
	return plain.And(texts)
}

// `same` is a share of a step. Two settings whose steps differ by less are equally fast.
const same = 0.0005

// onAverage names the scenarios that scores are averaged over.
const onAverage = " on average over slower networks and other computation times"

// costs compares a named setting with the answer: as measured, and also on average if one of the two
// figures alone would mislead.
func (d *Document) costs(named string, c *recommend.Candidate) string {
	least := d.Answer.Least
	more, cost := max(0, c.Step/least.Step-1), d.Answer.Cost(c)
	if c.OverBudget {
		if strings.Contains(named, ",") {
			named += ","
		}
		return capital(named) + " takes " + unit.Bytes(c.Memory) + " of buffers, more than the budget."
	}
	longer := unit.Share(cost) + " longer"
	switch {
	case cost > recommend.PlateauWidth && more < same:
		longer = "as long on the curve as measured, and " + longer + onAverage + ","
	case cost > recommend.PlateauWidth && more < recommend.PlateauWidth:
		longer = unit.Share(more) + " longer on the curve as measured, and " + longer + onAverage + ","
	}
	return "A training step is " + longer + " with " + named + "."
}

// capital capitalises the first letter, except for a flag or a name with an underscore.
func capital(s string) string {
	first, _, _ := strings.Cut(s, " ")
	if strings.ContainsAny(first, "_-") {
		return s
	}
	return plain.Capital(s)
}

// unfounded says why the advice cannot tell how much longer a step is with another setting; empty if it can.
func (d *Document) unfounded() string {
	a, code := &d.Answer, ""
	for _, c := range []*recommend.Candidate{a.Best, a.Now()} {
		if c != nil {
			code = cmp.Or(code, c.Unfounded)
		}
	}
	if a.Verdict == recommend.Ruled {
		code = a.Rule.Unfounded
	}
	switch code {
	case recommend.BeyondSweep:
		return "most of the time goes to messages larger than the largest size swept, " + d.swept()
	case recommend.OneDip:
		return "slow times at one or two sizes of a single run decide it"
	}
	return ""
}

// `compares` reports whether other settings can be compared with the answer.
func (d *Document) compares() bool {
	return d.Answer.Best == nil || d.Answer.Best.Unfounded == ""
}

// `swept` returns the size up to which all sweeps behind the answer reach.
func (d *Document) swept() string {
	return unit.Bytes(slices.Min(slice.Map(d.Answer.Curves, func(u recommend.Used) int64 { return u.MaxBytes })))
}

// withoutShares returns the advice for a case in which no percentage can be given. The advice has the reason.
func (d *Document) withoutShares(why string) string {
	a, do, longer := &d.Answer, d.set(), "with the default"
	switch {
	case a.Keep:
		do, longer = d.kept(), "than with the best size"
	case a.Current != nil:
		longer = "with your " + d.Amount(a.Current.Elements)
	}
	return do + d.also() + ". How much longer a training step is " + longer + " is not known: " + why + "."
}

// Over prints a setting's cost as a share of a step, or "?" if that is unknown.
func Over(c *recommend.Candidate, r float64) string {
	if c.Unfounded != "" {
		return unknown
	}
	return "+" + unit.Share(max(0, r))
}

// unknown is printed if no percentage can be given.
const unknown = "?"
