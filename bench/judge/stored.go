package judge

import (
	"zbench/bench/finding"
	"zbench/bench/record"
)

// Rules is the version of the rules. It changes when the same record gets other findings.
const Rules = 1

// CodeOnReading is the code of the note that a record was judged when it was read.
const CodeOnReading = "judged_on_reading"

// Store judges a record that was made. The findings stand in its file.
func Store(rec *record.Record) { rec.Judgement = judgement(Record(rec)) }

func judgement(l finding.List) *finding.Judgement {
	checked := len(l.Only(CodeNoFault)) > 0 && len(l.Only(CodeInterrupted)) == 0
	return &finding.Judgement{Rules: Rules, State: l.State(checked), Findings: l}
}

// Read judges a record that was read and has no findings, as those of earlier versions and edited
// ones, and notes it. Others keep theirs.
func Read(rec *record.Record) {
	if rec.Judgement != nil {
		return
	}
	rec.Judgement = judgement(append(Record(rec), finding.Finding{
		Code: CodeOnReading, Text: "The findings were made on reading: the record has none that fit it.",
	}))
}

// Of returns the findings of a record: those that it has, else they are made. What was found to be
// edited since then is judged again.
func Of(rec *record.Record) finding.List {
	if rec == nil || rec.Judgement == nil {
		return Record(rec)
	}
	if edited := editedLines(rec); len(edited) > len(rec.Judgement.Findings.Only(CodeEdited)) {
		return Record(rec)
	}
	return rec.Judgement.Findings
}
