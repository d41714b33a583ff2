package results

import (
	"fmt"
	"strings"

	"zbench/bench/curve"
	"zbench/bench/judge"
	"zbench/bench/record"
	"zbench/bench/unit"
)

// summaryNotes are what stands beneath a summary: what was skipped and left out in
// one line, what the headings stand for, and the warnings by cause.
func summaryNotes(rec *record.Record) []string {
	curves, _ := curve.Drawn(curve.Of(rec))
	var out []string
	if first := strings.Join(nonEmpty(skippedText(rec), placeText(curves)), " "); first != "" {
		out = append(out, first)
	}
	return nonEmpty(append(append(out, legend(curves)...), warningText(rec))...)
}

// placeText says that in-place results are left out, and how far they are from what
// is shown.
func placeText(curves []curve.Curve) string {
	apart, left, kept := 0.0, false, false
	for _, c := range curves {
		left, kept = left || len(c.Also) > 0 && c.Apart >= 0, kept || c.Rows[0].InPlace
		apart = max(apart, c.Apart)
	}
	switch {
	case left && kept:
		return "In place is shown where it differs by more than " + unit.Part(curve.NearlySame) + "."
	case left:
		return "In place differs by at most " + unit.Part(apart) + "."
	}
	return ""
}

// legend says what the short names of groups stand for.
func legend(curves []curve.Curve) []string {
	var out tally
	for _, c := range curves {
		r := c.Rows[0]
		if r.Groups > 1 {
			text := fmt.Sprintf("g%d: %s groups of %s at once", r.Ranks, unit.Comma(r.Groups), unit.Count(r.Ranks, "neighbouring rank"))
			if r.Stride > 0 {
				text = fmt.Sprintf("s%d: %s groups of %s, %d apart, at once", r.Stride, unit.Comma(r.Groups), unit.Count(r.Ranks, "rank"), r.Stride)
			}
			out.add(text)
		}
	}
	if len(out.order) == 0 {
		return nil
	}
	return []string{strings.Join(out.order, "; ") + "."}
}

// skippedText gathers the cases that were not run, in one line.
func skippedText(rec *record.Record) string {
	var skipped []*record.Result
	var why tally
	for i := range rec.Results {
		if r := &rec.Results[i]; r.Status == record.Skipped {
			skipped = append(skipped, r)
			why.add(skipReason(r.Reason))
		}
	}
	if len(skipped) == 0 {
		return ""
	}
	return fmt.Sprintf("Skipped %s: %s.", unit.Count(len(skipped), "case"), unit.FirstFew(why.order, 3))
}

// skipReasons are what reasons begin with, and how a summary says it.
var skipReasons = []struct{ begins, text string }{
	{judge.NotRun, "a case failed before them"},
	{"rounds to 0", "less than 16 bytes a rank"},
	{"memory: ", "more than the memory holds"},
}

// skipReason is a reason in a few words, without the case that it is of.
func skipReason(reason string) string {
	for _, r := range skipReasons {
		if strings.HasPrefix(reason, r.begins) {
			return r.text
		}
	}
	head, _, _ := strings.Cut(reason, " (")
	return head
}

// warningText gathers the warnings by cause, each with the cases it qualifies.
func warningText(rec *record.Record) string {
	var parts []string
	for _, g := range warningGroups(rec) {
		part := g.kind.text()
		if len(g.cases) > 0 {
			part += " (" + unit.FirstFew(curve.Ranges(g.cases), fewRanges) + ")"
		}
		parts = append(parts, g.code+": "+part)
	}
	if len(parts) == 0 {
		return ""
	}
	return "Warnings: " + strings.Join(parts, "; ") + "."
}
