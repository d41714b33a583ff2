package report

import (
	"slices"
	"strings"

	"zbench/bench/record"
	"zbench/bench/unit"
)

// warningBlocks gather warnings of one code and shape, those of the record first: a
// hundred cases with the same doubt are one line, with the cases it qualifies.
func warningBlocks(rec *record.Record) []Block {
	type group struct {
		code, hint string
		kind       *kindOf
	}
	var order []group
	var messages alike
	cases := map[group][]*record.Result{}
	add := func(w record.Warning, r *record.Result) {
		// The code and the hint are part of what makes two warnings alike.
		g := group{w.Code, w.Hint, messages.addAs(w.Code+"\x00"+w.Hint, w.Message)}
		if !slices.Contains(order, g) {
			order = append(order, g)
		}
		if r != nil {
			cases[g] = append(cases[g], r)
		}
	}
	for _, w := range rec.Warnings {
		add(w, nil)
	}
	for i := range rec.Results {
		for _, w := range rec.Results[i].Warnings {
			add(w, &rec.Results[i])
		}
	}
	if len(order) == 0 {
		return nil
	}
	lines := List{Role: "warnings"}
	for _, g := range order {
		line := Text{{Style: "strong", Text: g.code + ":"}, {Text: " " + g.kind.text()}}
		if g.hint != "" {
			line = append(line, Span{Style: "hint", Text: "What to do:", Break: true}, Span{Text: " " + g.hint})
		}
		if text := caseRanges(cases[g]); text != "" {
			line = append(line, Span{Style: "small", Text: text, Break: true})
		}
		lines.Items = append(lines.Items, line)
	}
	return []Block{lines}
}

// caseRanges lists cases by collective, each with the sizes they span.
func caseRanges(cases []*record.Result) string {
	var parts []string
	for _, c := range curvesOfRows(cases) {
		lo, hi := sizeOf(c.rows[0]), sizeOf(c.rows[len(c.rows)-1])
		part := c.name + " " + unit.Bytes(lo)
		if lo != hi {
			part += " to " + unit.Bytes(hi)
		}
		if n := len(c.rows); n > 1 {
			part += " (" + plural(int64(n), "case") + ")"
		}
		parts = append(parts, part)
	}
	return firstFew(parts, 12)
}

// firstFew lists at most n of the words and says how many more there are.
func firstFew(words []string, n int) string {
	if len(words) <= n {
		return strings.Join(words, ", ")
	}
	return strings.Join(words[:n], ", ") + " and " + comma(int64(len(words)-n)) + " more"
}
