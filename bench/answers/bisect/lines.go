package bisect

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"zbench/bench/answers/compare"
	"zbench/bench/answers/gate"
	"zbench/bench/base/finding"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/show/document"
)

// Codes of findings of a search, in addition to the codes of a comparison.
const (
	CodeSlow    = "first_slow"
	CodeBetween = "first_slow_between"
	CodeLeftOut = "left_out"
	CodeSkipped = "variants_skipped"
	CodeCost    = "cost"
)

// Unmodelled begins the reason of a variant that differs in a setting that the loopback does not
// model. Its times would say nothing about the variant.
const Unmodelled = "NOT CHECKED: the loopback does not model "

// OfUnmodelled reports whether a reason says that the loopback does not model a setting.
func OfUnmodelled(reason string) bool { return strings.HasPrefix(reason, Unmodelled) }

// unmodelled reports whether the variant was left out because the loopback does not model it.
func (v Variant) unmodelled() bool { return v.LeftOut && OfUnmodelled(v.Reason) }

// Headline returns the answer in one sentence.
func (d *Document) Headline() string {
	all, text := plain.Count(len(d.Cases), "case"), ""
	switch d.Verdict {
	case Slower:
		text = fmt.Sprintf("FIRST SLOW VARIANT: %s. It is slower than %s in %d of %s.", d.First.Variant, d.First.After, d.First.Cases, all)
	case Ranked:
		text = d.ranked()
	case Same:
		text = d.same()
	case Unclear:
		text = fmt.Sprintf("UNCLEAR: %d of %s are not decided after %s.", d.counts()[Unclear], all, plain.Count(d.Rounds, "round"))
	default:
		text = "NOT CHECKED: there is nothing to compare."
		if first, last := d.Ends(); first == last {
			text = "NOT CHECKED: fewer than two variants could be compared."
		}
	}
	if d.Simulated {
		text = "SIMULATED: " + text
	}
	return text
}

func (d *Document) same() string {
	if !d.Ordered {
		return fmt.Sprintf("SAME: no two variants differ by %s or more in any of %s.", compare.Percent(d.MinEffect), plain.Count(len(d.Cases), "case"))
	}
	first, last := d.Ends()
	return fmt.Sprintf("NO SLOW VARIANT: %s is not slower than %s by %s or more in any of %s.", last, first, compare.Percent(d.MinEffect), plain.Count(len(d.Cases), "case"))
}

// Ends returns the first and the last working variant.
func (d *Document) Ends() (first, last string) {
	for _, v := range d.Variants {
		if !v.LeftOut {
			if first == "" {
				first = v.Name
			}
			last = v.Name
		}
	}
	return first, last
}

// `ranked` names the variants that are fastest in most cases.
func (d *Document) ranked() string {
	best := make([]int, len(d.Variants)) // number of cases in which no other variant is faster
	for _, c := range d.Cases {
		for v, r := range c.Variants {
			if r.Rank == 1 {
				best[v]++
			}
		}
	}
	most := slices.Max(best)
	var names []string
	for i, n := range best {
		if n == most && !d.Variants[i].LeftOut {
			names = append(names, d.Variants[i].Name)
		}
	}
	return fmt.Sprintf("FASTEST: %s: no variant is faster in %d of %s.", strings.Join(names, " and "), most, plain.Count(len(d.Cases), "case"))
}

// Findings returns the answer in reading order, the headline first.
func (d *Document) Findings() finding.List {
	out := finding.List{{Code: compare.CodeVerdict, Text: d.Headline(), Severity: d.Verdict.Severity()}}
	if d.Verdict == Ranked {
		out[0].Severity = finding.OK
	}
	out = append(out, d.slowdowns()...)
	for _, v := range slice.Where(d.Variants, func(v Variant) bool { return v.LeftOut }) {
		severity := finding.Fault
		if v.unmodelled() {
			severity = finding.Warning
		}
		out = append(out, finding.Finding{Code: CodeLeftOut, Text: fmt.Sprintf("%s is left out: %s.", v.Name, v.Reason), Severity: severity, Hint: strings.Join(v.Evidence, " | ")})
	}
	if n := d.counts()[Unclear]; n > 0 && d.Verdict != Unclear {
		out = append(out, finding.Finding{Code: compare.CodeUnclear, Text: fmt.Sprintf("%s not decided after %s.", plain.Count(n, "case"), plain.Count(d.Rounds, "round")), Severity: finding.Warning})
	}
	if n := d.counts()[NotChecked]; n > 0 && d.Verdict != NotChecked {
		out = append(out, finding.Finding{Code: finding.CodeNotChecked, Text: fmt.Sprintf("%s: some variant has no time of them.", plain.Count(n, "case")), Severity: finding.Warning})
	}
	if d.Ordered && d.Verdict == Same && len(d.Variants) > 2 {
		out = append(out, finding.Finding{Code: CodeSkipped, Text: "Variants in between were measured only where the first and the last one left a doubt: a slowdown that a later variant repairs is not looked for."})
	}
	out = append(out, finding.Finding{Code: CodeCost, Text: fmt.Sprintf("%s in %s: %s of %s, starts included.", plain.Count(d.Children, "child run"), plain.Count(d.Rounds, "round"), unit.Seconds(d.Seconds), plain.Count(d.GPUs, "GPU"))})
	return append(out, d.Gated.Findings()...)
}

// slowdowns returns a finding for each variant that is the first slow variant of a case, with the largest
// slowdown.
func (d *Document) slowdowns() finding.List {
	var out finding.List
	for _, v := range d.Variants {
		var largest *Measured
		n := 0
		for i := range d.Cases {
			c := &d.Cases[i]
			if c.Verdict != Slower || c.First != v.Name {
				continue
			}
			n++
			if c.Change != nil && (largest == nil || *c.Change > *largest.Change) {
				largest = c
			}
		}
		if largest != nil {
			out = append(out, finding.Finding{Code: CodeSlow, Text: fmt.Sprintf("%s from %s on; the largest slowdown: %s, %s: %s.", plain.Count(n, "slow case"), v.Name, largest.Group, unit.Bytes(largest.Bytes), unit.Change(*largest.Change)), Severity: finding.Fault})
		}
	}
	if d.First != nil && len(d.First.Between) > 0 {
		out = append(out, finding.Finding{Code: CodeBetween, Text: fmt.Sprintf("The change may already be in %s, which could not be measured.", strings.Join(d.First.Between, " or ")), Severity: finding.Warning})
	}
	return out
}

// Gate judges the search by a condition: no variant may be slower than the variants before it, and no
// variant may fail.
func (d *Document) Gate(f *compare.FailOn) *gate.Report {
	broken := ""
	if i := slices.IndexFunc(d.Variants, func(v Variant) bool { return v.LeftOut && !v.unmodelled() }); i >= 0 {
		broken = d.Variants[i].Name + " could not be measured: " + d.Variants[i].Reason
	}
	cases := slice.Map(d.Cases, func(c Measured) compare.Judged { return c.judged(f) })
	for _, v := range slice.Where(d.Variants, Variant.unmodelled) {
		cases = append(cases, compare.Judged{State: finding.NotChecked, Text: v.Name + ": " + v.Reason})
	}
	return gate.NewReport(d.Simulated, "", []gate.Check{f.Check("no variant may be", broken, cases)})
}

// `judged` judges the case by a condition. A case without a known change never fails and counts as
// unchanged.
func (c *Measured) judged(f *compare.FailOn) compare.Judged {
	if c.Change == nil {
		return compare.Judged{State: f.State(c.Verdict, math.Inf(-1), false), Text: c.text()}
	}
	return compare.Judged{State: f.State(c.Verdict, *c.Change, false), Change: *c.Change, Text: c.text()}
}

// text returns a case in a sentence.
func (c *Measured) text() string {
	out := fmt.Sprintf("%s, %s: %s", c.Group, unit.Bytes(c.Bytes), c.Verdict.Word())
	if c.First != "" {
		out += " from " + c.First + " on"
	}
	if c.Change != nil {
		out += ", " + unit.Change(*c.Change)
	}
	return out
}

// Require judges the search by a condition, or by none if f is nil. Unless allowUnchecked is set, an
// unchecked case counts as failed in the list for a test server.
func (d *Document) Require(f *compare.FailOn, allowUnchecked bool) {
	if d.failOn, d.strict = f, f != nil && !allowUnchecked; f != nil {
		d.Gated = d.Gate(f)
	}
}

// checks returns the search for a test server: one check per case, and one check per variant that says
// whether it could be measured.
func (d *Document) checks() []document.Check {
	var out []document.Check
	for i := range d.Cases {
		c := &d.Cases[i]
		j := c.judged(d.failOn)
		out = append(out, document.Check{Class: c.Group, Check: finding.Check{Name: c.Key, State: j.State, Reason: j.Text}})
	}
	for _, v := range d.Variants {
		one := finding.Check{Name: v.Name, State: finding.Pass, Reason: "measured"}
		if v.LeftOut {
			one.State, one.Reason = finding.NotChecked, v.Reason
			if d.failOn != nil && !v.unmodelled() {
				one.State = finding.Fail
			}
		}
		out = append(out, document.Check{Class: "variants", Check: one})
	}
	return out
}
