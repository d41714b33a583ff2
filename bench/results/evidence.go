package results

import (
	"cmp"
	"slices"

	"zbench/bench/curve"
	"zbench/bench/document"
	"zbench/bench/plain"
	"zbench/bench/record"
	"zbench/bench/table"
	"zbench/bench/unit"
)

// stuckBlocks show how far every rank got in each case with evidence.
func stuckBlocks(rec *record.Record) []document.Block {
	var out []document.Block
	for i := range rec.Results {
		r := &rec.Results[i]
		if r.Evidence == nil {
			continue
		}
		where := plain.OrUnnamed(r.Collective) + " at " + unit.Bytes(curve.Size(r))
		out = append(out,
			document.Heading{Text: document.Text{{Text: where, To: r.Key}, {Text: ", " + r.Evidence.Where()}}},
			document.Paragraph{Text: document.Said(plain.Sentence(r.Evidence.Verdict()))},
			document.Sheet{Label: "How far each rank got in " + where, Table: stuckTable(r.Evidence)})
		if w := r.Evidence.Witness; w != nil {
			out = append(out, document.Paragraph{Text: document.Said(plain.Sentence("a second witness, asked after the deadline: " + w.Text()))})
		}
	}
	if len(out) == 0 {
		return nil
	}
	return append([]document.Block{document.Paragraph{Role: "small", Text: document.Said("The state is at the first launch that not every rank ended. Launches of a timed burst carry no marks, so it is unknown which have started.")}}, out...)
}

// stuckTable has a row for the ranks that got equally far, with the asynchronous
// error of their communicators where any reports one. Launches are counted.
func stuckTable(e *record.Evidence) table.Table {
	t := table.Table{Columns: []table.Column{
		{Name: "state"},
		{Name: "ranks", Wrap: table.Words},
		{Name: "count", Right: true},
		{Name: "enqueued", Right: true},
		{Name: "started", Right: true},
		{Name: "ended", Right: true},
	}}
	async := slices.ContainsFunc(e.Ranks, func(g record.RankEvidence) bool { return g.Error != "" })
	if async {
		t.Columns = append(t.Columns, table.Column{Name: "asynchronous error", Wrap: table.Sentences})
	}
	for _, g := range e.Ranks {
		cells := []string{g.State.Text(), record.RankList(g.Ranks), unit.Comma(g.Count), unit.Comma(g.Enqueued), counted(g.Started), counted(g.Ended)}
		if async {
			cells = append(cells, cmp.Or(g.Error, "none"))
		}
		t.Add(cells...)
	}
	return t
}

func counted(n *int) string {
	if n == nil {
		return unit.None
	}
	return unit.Comma(*n)
}
