package results

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/answers/judge"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/run/curve"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
	"zbench/bench/show/table"
)

// lateBlocks names the late ranks, and the number of launches that show it.
func lateBlocks(rec *record.Record) []document.Block {
	var out []document.Block
	worlds := judge.Late(rec)
	for _, l := range worlds {
		if len(worlds) > 1 {
			out = append(out, document.Heading{Text: document.Said(strings.Join([]string{
				unit.Count(l.World.Ranks, "rank"), unit.Count(l.World.Nodes, "node"),
				unit.Count(l.World.GPUsPerProcess, "GPU") + " per process",
			}, " · "))})
		}
		looked := fmt.Sprintf("%s of %s", unit.Count(l.Launches, "launch"), unit.Count(l.Results, "result"))
		if len(l.Late)+len(l.Candidates) == 0 {
			out = append(out, document.Paragraph{Text: document.Said(l.NoneText(looked))})
			continue
		}
		out = append(out, document.Paragraph{Text: document.Said(looked + " were looked at; by chance every rank comes last in " + unit.Percent(1/float64(l.World.Ranks)) + " of them.")})
		out = append(append(out, document.Listed("", l.Texts())...), whatToDo(l.Remedy()))
	}
	return out
}

// unstableLines returns a sentence for each unstable group.
func unstableLines(rec *record.Record) []string {
	return slice.Map(judge.Unstable(rec), func(i judge.Instability) string { return plain.Sentence(i.Text()) })
}

// unstableBlocks name the groups that are sometimes slow, and the remedy.
func unstableBlocks(rec *record.Record) []document.Block {
	out := document.Listed("", unstableLines(rec))
	if len(out) > 0 {
		out = append(out, whatToDo(judge.UnstableRemedy(rec)+"."))
	}
	return out
}

// whatToDo is a remedy as a paragraph.
func whatToDo(remedy string) document.Paragraph {
	return document.Paragraph{Text: document.Text{{Style: "hint", Text: "What to do:"}, {Text: " " + remedy}}}
}

// stuckBlocks show every rank's progress in each case with evidence.
func stuckBlocks(rec *record.Record) []document.Block {
	var out []document.Block
	for _, r := range rec.Each() {
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

// stuckTable has a row for each set of ranks with equal progress, in launches. If any rank reports an
// asynchronous error, a column has the errors.
func stuckTable(e *record.Evidence) table.Table {
	t := table.Numbers("count", "enqueued", "started", "ended")
	t.Columns = append([]table.Column{{Name: "state"}, {Name: "ranks", Wrap: table.Words}}, t.Columns...)
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

// nicBlocks shows the NICs' counters, summed over all cases.
func nicBlocks(rec *record.Record) []document.Block {
	nics := record.AddNICs(slice.Map(rec.Each(), func(r *record.Result) []record.NICCounters { return r.NICs })...)
	if len(nics) == 0 {
		return nil
	}
	apart, alike := record.NICTables(nics)
	return append(document.Apart("counters of NICs", apart, alike, record.NICsAlike), document.Paragraph{Role: "small", Text: document.Said(record.NICNote)})
}

// longRunBlocks show settings for a run of days, and known issues of the record's library and
// environment. It is nil for a record without times of all ranks.
func longRunBlocks(rec *record.Record) []document.Block {
	s := judge.SettingsOf(rec)
	issues := judge.IssuesOf(judge.IssueFactsOf(rec))
	if s == nil {
		return nil
	}
	out := []document.Block{document.Paragraph{Text: document.Said(s.Lead())}, document.Sheet{Label: "Settings for a long run", Table: s.Table()}}
	if len(issues) > 0 {
		out = append(out, document.Sheet{Label: "Known issues", Table: judge.IssueTable(issues)})
	}
	return out
}
