package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"zbench/bench/answers/gate"
	"zbench/bench/base/finding"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/show/document"
)

// FailOn is a condition that fails a comparison: a case that is slower by at least Least, a ratio.
type FailOn struct {
	// Text is the condition as given.
	Text  string
	Least float64
}

// ParseFailOn reads "slower" or "slower:5%".
func ParseFailOn(text string) (*FailOn, error) {
	least, err := gate.ParseFailOn(text, string(Slower), 0)
	return &FailOn{strings.TrimSpace(text), least}, err
}

// Words returns the condition as part of a sentence.
func (f *FailOn) Words() string {
	if f.Least == 0 {
		return string(Slower)
	}
	return fmt.Sprintf("%s by %s or more", Slower, Percent(f.Least))
}

// State returns the condition's result for a verdict with a relative change. A nil condition fails
// nothing.
func (f *FailOn) State(v Verdict, change float64, broken bool) finding.State {
	switch {
	case f != nil && (broken || v == Slower && change >= f.Least):
		return finding.Fail
	case v == Unclear || v == NotChecked:
		return finding.NotChecked
	}
	return finding.Pass
}

// `of` returns the state of a case. A case that was not tested never passes. Such a case fails if it is slower by at
// least the limit even after its allowance is subtracted.
func (f *FailOn) of(c *Case) finding.State {
	if f != nil && c.SlowerUntested && c.beyond() >= f.Least {
		return finding.Fail
	}
	return f.State(c.Verdict, c.change(), c.Broken)
}

// Judged is the result of a condition for one case: its relative change, and the case in a
// sentence.
type Judged struct {
	State  finding.State
	Change float64
	Text   string
}

// Check applies the condition to all cases. `must` states the requirement, such as "no variant may be". `broken` is
// the reason why something could not be measured; empty if everything was measured. Such a reason fails the condition.
func (f *FailOn) Check(must, broken string, cases []Judged) gate.Check {
	check := gate.Check{Check: finding.Check{Name: f.Text, State: finding.NotChecked, Reason: "there is no case to compare"}}
	_, by := slice.Group(cases, func(c Judged) finding.State { return c.State })
	passed, failed, unchecked := by[finding.Pass], by[finding.Fail], by[finding.NotChecked]
	check.Cases = len(passed) + len(failed)
	worst := func(of []Judged) string {
		return slices.MaxFunc(of, func(a, b Judged) int { return cmp.Compare(a.Change, b.Change) }).Text
	}
	switch all := plain.Count(len(cases), "case"); {
	case len(failed) > 0:
		check.State, check.Reason = finding.Fail, fmt.Sprintf("missed by %d of %s, the worst %s", len(failed), all, worst(failed))
	case broken != "":
		check.State, check.Reason = f.State(NotChecked, 0, true), broken
	case len(unchecked) > 0:
		check.Reason = fmt.Sprintf("%d of %s not checked, the first %s", len(unchecked), all, unchecked[0].Text)
	case len(passed) > 0:
		check.State, check.Reason = finding.Pass, fmt.Sprintf("the worst of %s is %s", all, worst(passed))
	}
	check.Reason = must + " " + f.Words() + "; " + check.Reason
	return check
}

// Require judges the comparison by a condition; nil stands for no condition. Unless allowUnchecked is set, test
// servers count an unchecked case as failed.
func (d *Document) Require(f *FailOn, allowUnchecked bool) {
	if d.failOn, d.strict = f, f != nil && !allowUnchecked; f != nil {
		d.Gated = d.Gate(f)
	}
}

// Gate judges the comparison by a condition: no case may be slower or fail, and all cases together
// may not be slower.
func (d *Document) Gate(f *FailOn) *gate.Report {
	cases := slice.Map(slice.Pointers(d.Cases), func(c *Case) Judged { return Judged{f.of(c), c.change(), c.text()} })
	checks := []gate.Check{f.Check("no case may be", "", cases)}
	if d.Common != nil {
		c := gate.Check{Check: finding.Check{Name: f.Text + " for all cases together", State: f.State(d.Common.Verdict, d.Common.Change, false)}, Cases: len(d.Cases)}
		c.Reason = fmt.Sprintf("the median over the cases changed by %s (%s to %s)", unit.Change(d.Common.Change), unit.Change(d.Common.Test.Lo), unit.Change(d.Common.Test.Hi))
		if c.State == finding.NotChecked { // the cases have their own verdicts
			c.State = finding.Pass
			c.Reason += ", not beyond chance"
		}
		checks = append(checks, c)
	}
	return gate.NewReport(d.Simulated, "", checks)
}

// `beyond` returns the relative change of an untested case after its allowance is subtracted.
func (c *Case) beyond() float64 { return (1+*c.Change)/(1+*c.Allowance) - 1 }

// change returns the relative change of the time: 0 if unknown, infinite for a broken case.
func (c *Case) change() float64 {
	switch {
	case c.Broken:
		return math.Inf(1)
	case c.Change == nil:
		return 0
	}
	return *c.Change
}

// checks returns the comparison for a test server: a check per case, and a check for the common shift.
func (d *Document) checks() []document.Check {
	const together = "all cases together"
	var out []document.Check
	add := func(class, name string, state finding.State, text string) {
		out = append(out, document.Check{Class: class, Check: finding.Check{Name: name, State: state, Reason: text}})
	}
	for _, c := range slice.Pointers(d.Cases) {
		add(c.Group, c.Key, d.failOn.of(c), c.text())
	}
	if c := d.Common; c != nil {
		state := d.failOn.State(c.Verdict, c.Change, false)
		if state == finding.NotChecked {
			state = finding.Pass
		}
		add(together, "shift common to all cases", state, fmt.Sprintf("%s: %s", c.Verdict.Word(), unit.Change(c.Change)))
	}
	if len(out) == 0 {
		add(together, "cases to compare", finding.NotChecked, "there is no case to compare")
	}
	return out
}

// text returns a case in a sentence.
func (c *Case) text() string {
	out := fmt.Sprintf("%s, %s: %s", c.Group, unit.Bytes(c.Bytes), c.word())
	if c.Change != nil {
		out += fmt.Sprintf(", %s, from %s to %s", unit.Change(*c.Change), c.Base.text(), c.New.text())
	}
	if c.Reason != "" {
		out += " (" + c.Reason + ")"
	}
	return out
}
