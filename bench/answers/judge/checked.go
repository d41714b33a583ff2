package judge

import (
	"cmp"
	"fmt"
	"strings"

	"zbench/bench/base/finding"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/run/record"
)

// checked counts the cases with verified data. For the other cases it keeps the reason why their data were not
// verified, or why the case did not run.
type checked struct {
	ok, whole     int
	parts         []string // for each case that was checked by blocks: their number and size
	left, skipped []string // left: why cases were not verified; skipped: why cases did not run
}

// check counts the cases of a record with verified data.
func check(rec *record.Record) *checked {
	c := &checked{}
	for _, x := range rec.Cases() {
		c.add(x)
	}
	return c
}

// add counts a case.
func (c *checked) add(x *record.Case) {
	v := x.Verified
	switch {
	case x.Status == record.Skipped:
		c.skipped = append(c.skipped, short(x.Reason))
		return
	case x.Status != record.OK:
		return
	case v.State == record.VerifiedOK:
		c.whole++
	case v.State == record.VerifiedBlocks:
		c.parts = append(c.parts, fmt.Sprintf("%s of %s", unit.Count(v.Blocks, "random block"), unit.Bytes(v.BlockBytes)))
	default:
		c.left = append(c.left, short(v.Reason))
	}
	c.ok++
}

// `none` reports whether no data were checked, although the user did not switch the checks off.
func (c *checked) none() bool {
	return c.ok > 0 && !c.some() && slice.Count(c.left, func(why string) bool { return why == notAsked }) < c.ok
}

// `some` reports whether the data of any case were checked, either whole or by blocks.
func (c *checked) some() bool { return c.whole+len(c.parts) > 0 }

// notAsked is the short reason for -c 0.
const notAsked = "not asked for (-c 0)"

// reasons maps the beginnings of reasons to the words of a finding.
var reasons = []struct{ begins, text string }{
	{NotRun, "a case failed before them"},
	{"rounds to 0", "fewer than 16 bytes per rank"},
	{"memory: all ranks", "too large to check here (--verify-budget)"},
	{"memory: ", "more than the memory holds"},
	{"no verification requested", notAsked},
}

// `short` returns a reason in a few words, without its case.
func short(reason string) string {
	for _, r := range reasons {
		if strings.HasPrefix(reason, r.begins) {
			return r.text
		}
	}
	first, _, _ := strings.Cut(reason, "\n")
	first, _, _ = strings.Cut(first, " (")
	return cmp.Or(strings.TrimSuffix(first, "."), "no reason is recorded")
}

// `counted` returns the first three different reasons with their numbers of cases.
func counted(reasons []string, form string) string {
	why, of := slice.Group(reasons, func(r string) string { return r })
	return unit.FirstFew(slice.Map(why, func(r string) string { return fmt.Sprintf(form, unit.Comma(len(of[r])), r) }), 3)
}

// text describes in sentences which data were checked, and what did not run.
func (c *checked) text() string {
	text := ""
	switch {
	case c.ok == 0:
	case c.whole == c.ok:
		text = " Data checked in all."
	case len(c.left) == c.ok:
		text = " Data not checked: " + counted(c.left, "%[2]s") + "."
	default:
		var parts []string
		if c.whole > 0 {
			parts = append(parts, "in "+unit.Comma(c.whole))
		}
		if len(c.parts) > 0 {
			parts = append(parts, counted(c.parts, "in %s by %s"))
		}
		if len(c.left) > 0 {
			parts = append(parts, counted(c.left, "not in %s: %s"))
		}
		text = " Data checked " + strings.Join(parts, "; ") + "."
	}
	return text + c.skippedText()
}

func (c *checked) skippedText() string {
	if len(c.skipped) == 0 {
		return ""
	}
	return fmt.Sprintf(" %s skipped: %s.", unit.Count(len(c.skipped), "case"), counted(c.skipped, "%[2]s"))
}

// finding returns the result of a record without a fault: OK with the examined classes, or NOT
// CHECKED if no data were checked that should have been.
func (c *checked) finding(of, looked string) finding.List {
	if c.none() {
		return finding.List{{Code: finding.CodeNotChecked, Severity: finding.Warning, Share: 1, Text: "Data of " + of + ": " + counted(c.left, "%[2]s") + "." + looked + c.skippedText()}}
	}
	return finding.List{{Code: CodeNoFault, Severity: finding.OK, Text: "No fault in " + of + "." + looked + c.text()}}
}

// besideFaults states, for a record with faults, which data were not checked, and what did not run.
func (c *checked) besideFaults() finding.List {
	text := c.skippedText()
	if len(c.left) > 0 {
		text = "Data not checked " + counted(c.left, "in %s: %s") + "." + text
	}
	if text == "" {
		return nil
	}
	return finding.List{{Code: finding.CodeNotChecked, Severity: finding.Warning, Text: strings.TrimSpace(text)}}
}
