package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/document"
	"zbench/bench/finding"
	"zbench/bench/gate"
	"zbench/bench/plain"
	"zbench/bench/unit"
)

// FailOn is what fails a comparison: cases that are slower by at least Least, a ratio.
type FailOn struct {
	// Text is the condition as it was given.
	Text  string
	Least float64
}

// ParseFailOn reads "slower" or "slower:5%".
func ParseFailOn(text string) (*FailOn, error) {
	word, limit, given := strings.Cut(strings.TrimSpace(text), ":")
	if word != string(Slower) {
		return nil, fmt.Errorf("%q is not %s or %s:5%%", text, Slower, Slower)
	}
	f := &FailOn{Text: strings.TrimSpace(text)}
	if !given {
		return f, nil
	}
	digits, percent := strings.CutSuffix(limit, "%")
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil || !percent || !(v >= 0 && v <= 1000) {
		return nil, fmt.Errorf("%q: the limit is a percentage from 0%% to 1000%%, such as %s:5%%", text, Slower)
	}
	f.Least = v / 100
	return f, nil
}

// Words are the condition in a sentence.
func (f *FailOn) Words() string {
	if f.Least == 0 {
		return string(Slower)
	}
	return fmt.Sprintf("%s by %s or more", Slower, percent(f.Least))
}

// state is what the condition makes of a verdict with a change. A nil condition fails
// nothing.
func (f *FailOn) state(v Verdict, change float64, broken bool) finding.State {
	switch {
	case f != nil && (broken || v == Slower && change >= f.Least):
		return finding.Fail
	case v == Unclear || v == NotChecked:
		return finding.NotChecked
	}
	return finding.Pass
}

func (f *FailOn) of(c *Case) finding.State { return f.state(c.Verdict, c.change(), c.Broken) }

// Require judges the comparison by a condition; nil is none. strict counts what was not checked as
// failed.
func (d *Document) Require(f *FailOn, strict bool) {
	d.failOn, d.strict = f, strict
	if f != nil || strict {
		d.Gated = d.Gate(f)
	}
}

// Gate judges the comparison by a condition: that no case is slower, none failed, and
// that all cases together are not slower. Without a condition it tells only what was
// checked.
func (d *Document) Gate(f *FailOn) *gate.Report {
	name, must := "every case has a verdict", ""
	if f != nil {
		name, must = f.Text, "no case may be "+f.Words()+"; "
	}
	var seen [3][]*Case
	states := gate.States()
	for i := range d.Cases {
		at := slices.Index(states, f.of(&d.Cases[i]))
		seen[at] = append(seen[at], &d.Cases[i])
	}
	passed, failed, unchecked := seen[0], seen[1], seen[2]
	check := gate.Check{Check: finding.Check{Name: name, State: finding.NotChecked}, Cases: len(passed) + len(failed)}
	reason := "there is no case to compare"
	switch {
	case len(failed) > 0:
		check.State = finding.Fail
		reason = fmt.Sprintf("missed by %d of %s, the worst %s", len(failed), plain.Count(len(d.Cases), "case"), worst(failed).text())
	case len(unchecked) > 0:
		reason = fmt.Sprintf("%d of %s not checked, the first %s", len(unchecked), plain.Count(len(d.Cases), "case"), unchecked[0].text())
	case len(passed) > 0:
		check.State = finding.Pass
		reason = fmt.Sprintf("the worst of %s is %s", plain.Count(len(passed), "case"), worst(passed).text())
	}
	check.Reason = must + reason
	checks := []gate.Check{check}
	if f != nil && d.Common != nil {
		c := gate.Check{Check: finding.Check{Name: f.Text + " for all cases together", State: f.state(d.Common.Verdict, d.Common.Change, false)}, Cases: len(d.Cases)}
		c.Reason = fmt.Sprintf("the median over the cases changed by %s (%s to %s)", signed(d.Common.Change), signed(d.Common.Test.Lo), signed(d.Common.Test.Hi))
		if c.State == finding.NotChecked { // the cases have their own verdicts
			c.State = finding.Pass
			c.Reason += ", not beyond chance"
		}
		checks = append(checks, c)
	}
	return gate.NewReport(d.Simulated, "", checks)
}

// worst is a case that broke, else the one that slowed most.
func worst(cases []*Case) *Case {
	return slices.MaxFunc(cases, func(a, b *Case) int { return cmp.Compare(a.change(), b.change()) })
}

// change is that of the time, 0 where it is not known. No change is worse than a case that broke.
func (c *Case) change() float64 {
	switch {
	case c.Broken:
		return math.Inf(1)
	case c.Change == nil:
		return 0
	}
	return *c.Change
}

// checks are the comparison for a test server: one for each case, and one for the common shift.
func (d *Document) checks() []document.Check {
	const together = "all cases together"
	var out []document.Check
	add := func(class, name string, state finding.State, text string) {
		out = append(out, document.Check{Class: class, Check: finding.Check{Name: name, State: state, Reason: text}})
	}
	for i := range d.Cases {
		c := &d.Cases[i]
		add(c.Group, c.Key, d.failOn.of(c), c.text())
	}
	if c := d.Common; c != nil {
		state := d.failOn.state(c.Verdict, c.Change, false)
		if state == finding.NotChecked {
			state = finding.Pass
		}
		add(together, "shift common to all cases", state, fmt.Sprintf("%s: %s", c.Verdict.Word(), signed(c.Change)))
	}
	if len(out) == 0 {
		add(together, "cases to compare", finding.NotChecked, "there is no case to compare")
	}
	return out
}

// text is a case in a sentence.
func (c *Case) text() string {
	out := fmt.Sprintf("%s, %s: %s", c.Group, unit.Bytes(c.Bytes), c.Verdict.Word())
	if c.Change != nil {
		out += fmt.Sprintf(", %s, from %s to %s", signed(*c.Change), c.Base.text(), c.New.text())
	}
	if c.Reason != "" {
		out += " (" + c.Reason + ")"
	}
	return out
}
