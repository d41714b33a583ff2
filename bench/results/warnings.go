package results

import (
	"slices"

	"zbench/bench/answers/judge"
	"zbench/bench/base/unit"
	"zbench/bench/run/curve"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
)

// warningGroup holds warnings that differ only in their figures, with their cases.
type warningGroup struct {
	code, hint string
	kind       *messageGroup
	cases      []*record.Result
}

// warningGroups groups warnings that have the same code and hint and differ only in figures. The record's own
// warnings come first.
func warningGroups(rec *record.Record) []*warningGroup {
	var order []*warningGroup
	var messages messageGroups
	index := map[*messageGroup]*warningGroup{}
	add := func(w record.Warning, r *record.Result) {
		// The codes and the hints must be equal, too.
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
	for _, r := range rec.Each() {
		for _, w := range r.Warnings {
			add(w, r)
		}
	}
	return slices.DeleteFunc(order, func(g *warningGroup) bool { return g.byChance(rec) })
}

// byChance reports whether the number of cases with the warning "correlated" is what independent samples give:
// one series in a hundred has it by chance. The cases' own rows keep the warning.
func (g *warningGroup) byChance(rec *record.Record) bool {
	if g.code != judge.WarnCorrelated {
		return false
	}
	timed := countOf(rec, func(r *record.Result) bool { return r.Isolated != nil || r.Burst != nil })
	return judge.CorrelatedByChance(len(g.cases), timed)
}

// warningBlocks list the warnings, each with its cases.
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

// fewRanges is the number of ranges of cases in a short text.
const fewRanges = 3
