package results

import (
	"zbench/bench/document"
	"zbench/bench/judge"
	"zbench/bench/record"
)

// longRunBlocks are settings for a run of days, and the known issues of the record's
// library and environment. Nil of a record without times of all ranks.
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
