package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"zbench/bench/base/finding"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
)

// Codes of findings of a comparison.
const (
	CodeVerdict = "verdict"
	CodeCommon  = "common_shift"
	CodeOverall = "overall_ratio"
	CodeShape   = "change_by_size"
	CodeLargest = "largest_change"
	CodeBroken  = "broken"
	CodeUnclear = "unclear"
	CodeHosts   = "different_hosts"
	CodeMixed   = "mixed_side"
	CodeDevice  = "unknown_device"
	CodeNote    = "note"
)

// Headline returns the overall verdict in one sentence.
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
	count(n.Same, "the same within "+Percent(d.MinEffect))
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

// Word returns the overall verdict in capitals. If no case is slower but some cases failed only in NEW, it says
// BROKEN.
func (d *Document) Word() string {
	n := d.Counts
	switch {
	case n.Slower > 0 && n.Faster > 0:
		return "SLOWER AND FASTER"
	case n.Broken > 0 && n.Slower == 0 && (d.Common == nil || d.Common.Verdict != Slower):
		return "BROKEN IN NEW"
	}
	if d.Verdict == Unclear && d.suspected() != nil {
		return slowerUntested
	}
	return strings.ToUpper(d.Verdict.Word())
}

// slowerUntested is the word for a case that is slower than chance explains but has too few runs for a test.
const slowerUntested = "SLOWER, not tested"

// `suspected` returns the untested case that is slowest after its allowance; nil if there is none.
func (d *Document) suspected() *Case {
	return d.largest(func(c *Case) bool { return c.SlowerUntested }, (*Case).beyond)
}

// word returns the verdict of the case in the user's words.
func (c *Case) word() string {
	if c.SlowerUntested {
		return slowerUntested
	}
	return c.Verdict.Word()
}

// Findings returns the verdict in reading order, the headline first.
func (d *Document) Findings() finding.List {
	out := finding.List{{Code: CodeVerdict, Text: d.Headline(), Severity: d.Verdict.Severity()}}
	if d.Overall != nil {
		out = append(out, d.overallLine())
	}
	shape, shaped := d.shapeLine()
	if c := d.Common; c != nil && (c.Verdict == Slower || c.Verdict == Faster) {
		line := finding.Finding{
			Code: CodeCommon, Severity: c.Verdict.Severity(),
			Text: fmt.Sprintf("The median case is %s by %s (%s to %s).", c.Verdict, Percent(math.Abs(c.Change)), unit.Change(c.Test.Lo), unit.Change(c.Test.Hi)),
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
			out = append(out, finding.Finding{Code: CodeLargest, Subject: c.subject(), Severity: x.verdict.Severity(), Text: fmt.Sprintf("Largest %s: %s, %s: %s, from %s to %s.", x.name, c.Group, unit.Bytes(c.Bytes), unit.Change(*c.Change), unit.Seconds(*c.Base.Seconds), unit.Seconds(*c.New.Seconds))})
		}
	}
	if d.Counts.Broken > 0 {
		i := slices.IndexFunc(d.Cases, func(c Case) bool { return c.Broken })
		out = append(out, finding.Finding{Code: CodeBroken, Subject: d.Cases[i].subject(), Text: fmt.Sprintf("%s failed in NEW and not in BASE, the first %s, %s: %s.", plain.Count(d.Counts.Broken, "case"), d.Cases[i].Group, unit.Bytes(d.Cases[i].Bytes), d.Cases[i].Reason), Hint: "the record of the run has the evidence", Severity: finding.Fault})
	}
	out = append(out, d.limits()...)
	for _, note := range d.Notes {
		out = append(out, finding.Finding{Code: CodeNote, Text: note})
	}
	return append(out, d.Gated.Findings()...)
}

// limits returns what the runs leave open, and what would help.
func (d *Document) limits() finding.List {
	var out finding.List
	if d.Counts.Unclear > 0 {
		are := "cases are"
		if d.Counts.Unclear == 1 {
			are = "case is"
		}
		text := fmt.Sprintf("%d %s unclear: BASE has %s, NEW %s.", d.Counts.Unclear, are, plain.Count(len(d.Base), "run"), plain.Count(len(d.New), "run"))
		if slices.ContainsFunc(d.Cases, func(c Case) bool { return c.Allowance != nil }) {
			text += fmt.Sprintf(" Beyond what runs of one thing may differ by is said with %s chance of any false word, by %s.", Percent(d.Alpha), betweenSource)
		}
		hint := fmt.Sprintf("to test it, give %d runs a side", d.NeedsRuns)
		switch {
		case d.NeedsRuns > ManyRuns:
			hint = fmt.Sprintf("reduce the variation between runs; it would take more than %d runs a side", ManyRuns)
		case min(len(d.Base), len(d.New)) < MinRuns && d.BetweenRunCV == nil:
			hint += ", or --between-run-cv with what is known of the variation between runs"
		}
		out = append(out, finding.Finding{Code: CodeUnclear, Text: text, Hint: hint, Severity: finding.Warning})
	}
	if n := d.Counts.NotChecked - d.Counts.Broken; n > 0 {
		i := slices.IndexFunc(d.Cases, func(c Case) bool { return c.Verdict == NotChecked && !c.Broken })
		out = append(out, finding.Finding{Code: finding.CodeNotChecked, Subject: d.Cases[i].subject(), Text: fmt.Sprintf("%s, the first %s, %s: %s.", plain.Count(n, "case"), d.Cases[i].Group, unit.Bytes(d.Cases[i].Bytes), d.Cases[i].Reason), Severity: finding.Warning})
	}
	for _, c := range d.Changes {
		if c.What == hostsFact && min(len(d.Base), len(d.New)) < HostRuns && d.BetweenRunCV == nil {
			out = append(out, finding.Finding{
				Code: CodeHosts,
				Text: fmt.Sprintf("The runs are of different hosts: hosts and runs have modes of their own, and with %s a side chance can put one mode on each side.", plain.Count(min(len(d.Base), len(d.New)), "run")),
				Hint: fmt.Sprintf("give %d runs a side, or runs of the same hosts by turns", HostRuns), Severity: finding.Warning,
			})
		}
		if c.Within {
			out = append(out, finding.Finding{Code: CodeMixed, Text: fmt.Sprintf("The runs of one side differ in %s: BASE %s, NEW %s.", c.What, strings.Join(c.Base, ", "), strings.Join(c.New, ", ")), Hint: "a side should be runs of one thing", Severity: finding.Warning})
		}
		if c.What == deviceFact && slices.Contains(slices.Concat(c.Base, c.New), notKnown) {
			out = append(out, finding.Finding{Code: CodeDevice, Text: fmt.Sprintf("The device is not known everywhere: BASE %s, NEW %s.", strings.Join(c.Base, ", "), strings.Join(c.New, ", ")), Hint: "times of different GPUs must not be compared; check the logs", Severity: finding.Warning})
		}
	}
	return out
}

// ManyRuns is the number of runs per side above which more runs are not recommended.
const ManyRuns = 100

// `extreme` returns the case that changed most among those with a verdict; nil if there is none.
func (d *Document) extreme(v Verdict) *Case {
	return d.largest(func(c *Case) bool { return c.Verdict == v }, func(c *Case) float64 { return math.Abs(*c.Change) })
}

// `largest` returns the case with the largest value of `by` among the cases for which `holds` is true; nil if there is
// none. Of several such cases it returns the first.
func (d *Document) largest(holds func(*Case) bool, by func(*Case) float64) *Case {
	all := slice.Where(slice.Pointers(d.Cases), holds)
	if len(all) == 0 {
		return nil
	}
	return slices.MaxFunc(all, func(a, b *Case) int { return cmp.Compare(by(a), by(b)) })
}

// Percent prints a ratio: 2 %, 0.45 %.
func Percent(x float64) string { return fmt.Sprintf("%.3g %%", 100*x) }

// Word returns the verdict in the user's words.
func (v Verdict) Word() string {
	if v == NotChecked {
		return "NOT CHECKED"
	}
	return string(v)
}

// Severity returns how much a verdict matters.
func (v Verdict) Severity() finding.Severity {
	severities := map[Verdict]finding.Severity{Slower: finding.Fault, Same: finding.OK, Unclear: finding.Warning, NotChecked: finding.Warning}
	return severities[v] // other verdicts are Note
}

// State returns the verdict as the state of a check.
func (v Verdict) State() finding.State {
	return cmp.Or(map[Verdict]finding.State{Slower: finding.Fail, Unclear: finding.Unclear, NotChecked: finding.NotChecked}[v], finding.Pass)
}

// subject returns the case as the subject of a finding.
func (c *Case) subject() *finding.Subject {
	return &finding.Subject{Kind: finding.Size, Name: c.Group + ", " + unit.Bytes(c.Bytes)}
}
