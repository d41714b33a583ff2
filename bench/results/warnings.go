package results

import (
	"slices"

	"zbench/bench/curve"
	"zbench/bench/document"
	"zbench/bench/judge"
	"zbench/bench/record"
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
	for r := range rec.Each() {
		for _, w := range r.Warnings {
			add(w, r)
		}
	}
	return slices.DeleteFunc(order, func(g *warningGroup) bool { return g.byChance(rec) })
}

// byChance tells whether no more cases are called correlated than independent samples
// explain, of which one series in a hundred is. The cases' own rows keep the warning.
func (g *warningGroup) byChance(rec *record.Record) bool {
	if g.code != judge.WarnCorrelated {
		return false
	}
	timed := countOf(rec, func(r *record.Result) bool { return r.Isolated != nil || r.Burst != nil })
	return judge.CorrelatedByChance(len(g.cases), timed)
}

// warningBlocks list the warnings, each with the cases it qualifies.
func warningBlocks(rec *record.Record) []document.Block {
	order := warningGroups(rec)
	if len(order) == 0 {
		return nil
	}
	lines := document.List{Role: "warnings"}
	for _, g := range order {
		line := document.Text{{Style: "strong", Text: g.code + ":"}, {Text: " " + g.kind.text()}}
		if g.hint != "" {
			line = append(line, document.Span{Style: "hint", Text: "What to do:", Break: true}, document.Span{Text: " " + g.hint})
		}
		if text := unit.FirstFew(curve.Ranges(g.cases), curve.ManyRanges); text != "" {
			line = append(line, document.Span{Style: "small", Text: text, Break: true})
		}
		lines.Items = append(lines.Items, line)
	}
	return []document.Block{lines}
}

// fewRanges is how many ranges of cases a short text lists.
const fewRanges = 3
