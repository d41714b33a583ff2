package report

import (
	"slices"
	"strings"

	"zbench/bench/record"
	"zbench/bench/stat"
	"zbench/bench/unit"
)

// warningGroup is warnings of one code and shape, with the cases that they qualify.
type warningGroup struct {
	code, hint string
	kind       *messageGroup
	cases      []*record.Result
}

// warningGroups gather warnings of one code and shape, those of the record first: a
// hundred cases with the same doubt are one.
func warningGroups(rec *record.Record) []*warningGroup {
	var order []*warningGroup
	var messages messageGroups
	index := map[*messageGroup]*warningGroup{}
	add := func(w record.Warning, r *record.Result) {
		// The code and the hint are part of what makes two warnings alike.
		kind := messages.addAs(w.Code+"\x00"+w.Hint, w.Message)
		g := index[kind]
		if g == nil {
			g = &warningGroup{code: w.Code, hint: w.Hint, kind: kind}
			index[kind], order = g, append(order, g)
		}
		if r != nil {
			g.cases = append(g.cases, r)
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
	return slices.DeleteFunc(order, func(g *warningGroup) bool { return g.byChance(rec) })
}

// chance is the probability below which the number of cases with a warning is no chance.
const chance = 0.05

// byChance tells whether no more cases are called correlated than independent samples
// explain, of which one series in a hundred is. The cases' own rows keep the warning.
func (g *warningGroup) byChance(rec *record.Record) bool {
	if g.code != codeCorrelated {
		return false
	}
	timed := 0
	for i := range rec.Results {
		if rec.Results[i].Isolated != nil || rec.Results[i].Burst != nil {
			timed++
		}
	}
	return stat.BinomialTail(len(g.cases), timed, stat.CorrelatedByChance) > chance
}

// warningBlocks list the warnings, each with the cases it qualifies.
func warningBlocks(rec *record.Record) []Block {
	order := warningGroups(rec)
	if len(order) == 0 {
		return nil
	}
	lines := List{Role: "warnings"}
	for _, g := range order {
		line := Text{{Style: "strong", Text: g.code + ":"}, {Text: " " + g.kind.text()}}
		if g.hint != "" {
			line = append(line, Span{Style: "hint", Text: "What to do:", Break: true}, Span{Text: " " + g.hint})
		}
		if text := caseRanges(g.cases); text != "" {
			line = append(line, Span{Style: "small", Text: text, Break: true})
		}
		lines.Items = append(lines.Items, line)
	}
	return []Block{lines}
}

// manyRanges and fewRanges are how many ranges of cases a text lists.
const (
	manyRanges = 12
	fewRanges  = 3
)

// caseRanges lists cases by collective, each with the sizes they span.
func caseRanges(cases []*record.Result) string { return firstFew(rangesOf(cases), manyRanges) }

func rangesOf(cases []*record.Result) []string {
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
	return parts
}

// firstFew lists at most n of the words and says how many more there are.
func firstFew(words []string, n int) string {
	if len(words) <= n {
		return strings.Join(words, ", ")
	}
	return strings.Join(words[:n], ", ") + " and " + comma(int64(len(words)-n)) + " more"
}
