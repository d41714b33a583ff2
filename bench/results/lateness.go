package results

import (
	"fmt"
	"strings"

	"zbench/bench/document"
	"zbench/bench/judge"
	"zbench/bench/plain"
	"zbench/bench/record"
	"zbench/bench/unit"
)

// lateBlocks say who is late, and of how many launches that holds.
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

// unstableLines are the sentences of a record, empty where nothing is unstable.
func unstableLines(rec *record.Record) []string {
	var out []string
	for _, i := range judge.Unstable(rec) {
		out = append(out, plain.Sentence(i.Text()))
	}
	return out
}

// unstableBlocks say which groups are slow now and then, and what to do.
func unstableBlocks(rec *record.Record) []document.Block {
	out := document.Listed("", unstableLines(rec))
	if len(out) > 0 {
		out = append(out, whatToDo(judge.UnstableRemedy+"."))
	}
	return out
}

// whatToDo is a remedy.
func whatToDo(remedy string) document.Paragraph {
	return document.Paragraph{Text: document.Text{{Style: "hint", Text: "What to do:"}, {Text: " " + remedy}}}
}
