package report

import (
	"fmt"
	"strings"

	"zbench/bench/judge"
	"zbench/bench/plain"
	"zbench/bench/record"
	"zbench/bench/unit"
)

// lateBlocks say who is late, and of how many launches that holds.
func lateBlocks(rec *record.Record) []Block {
	var out []Block
	worlds := judge.Late(rec)
	for _, l := range worlds {
		if len(worlds) > 1 {
			out = append(out, Heading{said(strings.Join([]string{
				unit.Count(int64(l.World.Ranks), "rank"), unit.Count(int64(l.World.Nodes), "node"),
				unit.Count(int64(l.World.GPUsPerProcess), "GPU") + " per process",
			}, " · "))})
		}
		looked := fmt.Sprintf("%s of %s", unit.Count(int64(l.Launches), "launch"), unit.Count(int64(l.Results), "result"))
		if len(l.Late)+len(l.Candidates) == 0 {
			out = append(out, Paragraph{Text: said(l.NoneText(looked))})
			continue
		}
		out = append(out, Paragraph{Text: said(looked + " were looked at; by chance every rank comes last in " + unit.Percent(1/float64(l.World.Ranks)) + " of them.")})
		out = append(append(out, listed("", l.Texts())...), whatToDo(l.Remedy()))
	}
	return out
}

// unstableLines are the sentences of a record, empty where nothing is unstable.
func unstableLines(rec *record.Record) []string {
	var out []string
	for _, i := range judge.Unstable(rec) {
		out = append(out, plain.Sentence(i.Text()))
	}
	return out
}

// unstableBlocks say which groups are slow now and then, and what to do.
func unstableBlocks(rec *record.Record) []Block {
	out := listed("", unstableLines(rec))
	if len(out) > 0 {
		out = append(out, whatToDo(judge.UnstableRemedy+"."))
	}
	return out
}

// whatToDo is a remedy.
func whatToDo(remedy string) Paragraph {
	return Paragraph{Text: Text{{Style: "hint", Text: "What to do:"}, {Text: " " + remedy}}}
}
