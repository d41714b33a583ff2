package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"zbench/bench/gate"
	"zbench/bench/plain"
	"zbench/bench/unit"
)

// Line is one statement of a comparison, with what to do next.
type Line struct {
	Text, Hint string
	Level      Level
}

// Level is how much a line matters.
type Level int

// The levels: a note; nothing got worse; what the runs do not tell; what got worse.
const (
	Note Level = iota
	Good
	Limit
	Worse
)

// Headline is the verdict of the whole in one sentence.
func (d *Document) Headline() string {
	n, all := d.Counts, len(d.Cases)
	var parts []string
	count := func(k int, words string) {
		if k > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", k, words))
		}
	}
	count(n.Broken, "broken")
	count(n.Slower, "slower")
	count(n.Faster, "faster")
	count(n.Same, "the same within "+percent(d.MinEffect))
	count(n.Unclear, "unclear")
	count(n.NotChecked-n.Broken, "not checked")
	text := fmt.Sprintf("%s: of %s", d.Word(), plain.Count(all, "case"))
	if m := d.magnitude(); m != "" && !d.tested() {
		text = fmt.Sprintf("%s: %s, %s; of %s", d.Word(), m, d.untested(), plain.Count(all, "case"))
	}
	if len(parts) > 0 {
		text += " " + strings.Join(parts, ", ")
	}
	if d.Simulated {
		text = "SIMULATED: " + text
	}
	return text + "."
}

// Word is the verdict of the whole in capitals. Cases that failed in NEW alone are not
// called slower where nothing else is.
func (d *Document) Word() string {
	n := d.Counts
	switch {
	case n.Slower > 0 && n.Faster > 0:
		return "SLOWER AND FASTER"
	case n.Broken > 0 && n.Slower == 0 && (d.Common == nil || d.Common.Verdict != Slower):
		return "BROKEN IN NEW"
	}
	return strings.ToUpper(d.Verdict.Word())
}

// Lines are the verdict in the order of reading, the headline first.
func (d *Document) Lines() []Line {
	out := []Line{{Text: d.Headline(), Level: map[Verdict]Level{Slower: Worse, Same: Good, Unclear: Limit, NotChecked: Limit}[d.Verdict]}}
	level := map[Verdict]Level{Slower: Worse}
	shape, shaped := d.shapeLine()
	if c := d.Common; c != nil && (c.Verdict == Slower || c.Verdict == Faster) {
		line := Line{
			Text:  fmt.Sprintf("All cases together are %s by %s (%s to %s).", c.Verdict, percent(math.Abs(c.Change)), signed(c.Test.Lo), signed(c.Test.Hi)),
			Level: level[c.Verdict],
		}
		if !shaped {
			line.Hint = "a shift of all cases points to clocks, placement or the host rather than to one of them"
		}
		out = append(out, line)
	}
	if shaped {
		out = append(out, shape)
	}
	for _, x := range []struct {
		verdict Verdict
		name    string
	}{{Slower, "slowdown"}, {Faster, "speed-up"}} {
		if c := d.extreme(x.verdict); c != nil {
			out = append(out, Line{Text: fmt.Sprintf("Largest %s: %s, %s: %s, from %s to %s.", x.name, c.Group, unit.Bytes(c.Bytes), signed(*c.Change), unit.Seconds(*c.Base.Seconds), unit.Seconds(*c.New.Seconds)), Level: level[x.verdict]})
		}
	}
	if d.Counts.Broken > 0 {
		i := slices.IndexFunc(d.Cases, func(c Case) bool { return c.Broken })
		out = append(out, Line{Text: fmt.Sprintf("%s failed in NEW and not in BASE, the first %s, %s: %s.", plain.Count(d.Counts.Broken, "case"), d.Cases[i].Group, unit.Bytes(d.Cases[i].Bytes), d.Cases[i].Reason), Hint: "the record of the run has the evidence", Level: Worse})
	}
	out = append(out, d.limits()...)
	for _, note := range d.Notes {
		out = append(out, Line{Text: note})
	}
	if d.Gated != nil {
		for i, text := range d.Gated.Lines() {
			out = append(out, Line{Text: text, Level: map[gate.State]Level{gate.Pass: Good, gate.NotChecked: Limit, gate.Fail: Worse}[d.Gated.Checks[i].State]})
		}
	}
	return out
}

// limits are what the runs do not tell, and what would.
func (d *Document) limits() []Line {
	var out []Line
	if d.Counts.Unclear > 0 {
		are := "cases are"
		if d.Counts.Unclear == 1 {
			are = "case is"
		}
		text := fmt.Sprintf("%d %s unclear: BASE has %s, NEW %s.", d.Counts.Unclear, are, plain.Count(len(d.Base), "run"), plain.Count(len(d.New), "run"))
		hint := fmt.Sprintf("to test it, give %d runs a side", d.NeedsRuns)
		switch {
		case d.NeedsRuns > manyRuns:
			hint = fmt.Sprintf("reduce the variation between runs; it would take more than %d runs a side", manyRuns)
		case min(len(d.Base), len(d.New)) < MinRuns && d.BetweenRunCV == nil:
			hint += ", or --between-run-cv with what is known of the variation between runs"
		}
		out = append(out, Line{text, hint, Limit})
	}
	if n := d.Counts.NotChecked - d.Counts.Broken; n > 0 {
		i := slices.IndexFunc(d.Cases, func(c Case) bool { return c.Verdict == NotChecked && !c.Broken })
		out = append(out, Line{Text: fmt.Sprintf("%s NOT CHECKED, the first %s, %s: %s.", plain.Count(n, "case"), d.Cases[i].Group, unit.Bytes(d.Cases[i].Bytes), d.Cases[i].Reason), Level: Limit})
	}
	for _, c := range d.Changes {
		if c.What == hostsFact && min(len(d.Base), len(d.New)) < HostRuns && d.BetweenRunCV == nil {
			out = append(out, Line{
				Text: fmt.Sprintf("The runs are of different hosts: hosts and runs have modes of their own, and with %s a side chance can put one mode on each side.", plain.Count(min(len(d.Base), len(d.New)), "run")),
				Hint: fmt.Sprintf("give %d runs a side, or runs of the same hosts by turns", HostRuns), Level: Limit,
			})
		}
		if c.Within {
			out = append(out, Line{Text: fmt.Sprintf("The runs of one side differ in %s: BASE %s, NEW %s.", c.What, strings.Join(c.Base, ", "), strings.Join(c.New, ", ")), Hint: "a side should be runs of one thing", Level: Limit})
		}
		if c.What == deviceFact && slices.Contains(slices.Concat(c.Base, c.New), notKnown) {
			out = append(out, Line{Text: fmt.Sprintf("The device is not known everywhere: BASE %s, NEW %s.", strings.Join(c.Base, ", "), strings.Join(c.New, ", ")), Hint: "times of different GPUs must not be compared; check the logs", Level: Limit})
		}
	}
	return out
}

// manyRuns is the number of runs above which more runs are no advice.
const manyRuns = 100

// extreme is the case of a verdict that changed most.
func (d *Document) extreme(v Verdict) *Case {
	var out *Case
	for i := range d.Cases {
		c := &d.Cases[i]
		if c.Verdict == v && (out == nil || cmp.Compare(math.Abs(*c.Change), math.Abs(*out.Change)) > 0) {
			out = c
		}
	}
	return out
}

// percent prints a ratio: 2 %, 0.45 %.
func percent(x float64) string { return fmt.Sprintf("%.3g %%", 100*x) }

// signed prints a relative change: +3.1 %, −0.2 %.
func signed(x float64) string {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return "?"
	}
	digits := 1
	if math.Abs(x) >= 0.1 {
		digits = 0
	}
	return strings.Replace(fmt.Sprintf("%+.*f %%", digits, 100*x), "-", "−", 1)
}

// Word is the verdict as people read it.
func (v Verdict) Word() string {
	if v == NotChecked {
		return "NOT CHECKED"
	}
	return string(v)
}
