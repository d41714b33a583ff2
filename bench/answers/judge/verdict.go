// Package judge turns a record into findings. Record judges any benchmark: hangs, wrong data, late
// ranks, slow groups, bandwidth lost against the fabric's model or a published table, then the best
// figure and its confidence. Late and Unstable are the statistics of late ranks and flaky groups.
// Renderers show findings and judge nothing.
package judge

import (
	"slices"
	"strings"

	"zbench/bench/base/finding"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/hardware/signs"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
)

// Codes of findings, in a verdict's order.
const (
	CodeHang        = finding.CodeHang
	CodeAsyncError  = finding.CodeAsyncError
	CodeFailed      = finding.CodeFailed
	CodeWrongData   = finding.CodeWrongData
	CodeInterrupted = finding.CodeInterrupted
	CodeEdited      = "edited"
	CodeLate        = "late"
	CodeSlowGroup   = "slow_group"
	CodeLostBusBW   = "lost_busbw"
	CodeUnstable    = "unstable"
	CodeStall       = "stall"
	CodeOneRank     = "one_rank"
	CodeDip         = "dip"
	CodeNoisy       = "noisy"
	CodeNoFault     = "no_fault"
	CodeBusBW       = "busbw"
	CodePolicy      = "policy"
	CodeScale       = "scale"
	CodeRests       = "rests"
	CodeRule        = "rule"
	CodeAdvice      = "advice"
	CodeAsGood      = "as_good"
	CodeObserved    = "observed"
	CodeConfidence  = "confidence"
)

// Record returns the findings of a record: faults first, with their cost and place; then the best figure with its roof
// and the published figure; then the confidence. The same record gives the same findings. They recommend no setting: a
// recommendation is a separate document.
func Record(rec *record.Record) finding.List {
	switch {
	case rec == nil:
		return collectives(&record.Record{})
	case rec.Benchmark() == "" || rec.Benchmark() == spec.Collectives:
		return collectives(rec)
	}
	return kernels(rec)
}

func collectives(rec *record.Record) finding.List {
	j := judged{rec, expect(rec)}
	v := slices.Concat(
		editedLines(rec), j.hangs(), j.wrongData(), j.interrupted(), j.late(), j.slowGroups(),
		j.lostBusBW(), j.unstable(), j.stalls(), j.dips(), j.noisy(), j.signs(), j.oneRank(),
	)
	if c := check(rec); len(v.Faults()) == 0 {
		classes := j.compared()
		v = append(v, gated(j.noFault(c, classes), classes, c.some(), j.next())...)
	} else {
		v = append(v, c.besideFaults()...)
	}
	return slices.Concat(v, j.corruption(), j.best(), j.policies(), j.scale(), Simulated(rec))
}

// signs returns the defects that the log of an imported table states.
func (j judged) signs() (l finding.List) {
	for _, w := range j.Warnings {
		if s := signs.ByCode(w.Code); s != nil && s.Severity > finding.Note {
			where, _, _ := strings.Cut(w.Message, ": ") // the warning has the line itself
			l = append(l, finding.Finding{Code: w.Code, Severity: s.Severity, Text: "LOG: " + plain.Capital(s.Means) + ": " + where + ".", Hint: plain.Capital(w.Hint) + "."})
		}
	}
	return l
}

// `alone` reports whether every case has a single rank.
func (j judged) alone() bool {
	return len(j.Results) > 0 && !slices.ContainsFunc(j.Results, func(r record.Result) bool { return r.Ranks != 1 })
}

// oneRank explains the figures of a world of one rank.
func (j judged) oneRank() finding.List {
	if !j.alone() {
		return nil
	}
	return finding.List{{
		Code: CodeOneRank, Severity: finding.Note,
		Text: "One rank sends nothing to another: its bus bandwidth is 0 by definition, out of place it copies in its own memory, and in place nothing moves.",
		Hint: "Measure two ranks or more (-g 2, or two processes).",
	}}
}

// corruption warns of known issues that can corrupt the data of such runs. The verification would not find such
// corruption, because it follows a warm-up and reuses buffers.
func (j judged) corruption() finding.List {
	return slice.Map(slice.Where(IssuesOf(IssueFactsOf(j.Record)), func(k KnownIssue) bool { return k.Risk == Corrupts }), func(k KnownIssue) finding.Finding {
		source, _, _ := strings.Cut(k.Source, "; ") // the page's table has all sources
		return finding.Finding{Code: k.ID, Severity: finding.Warning, Text: "KNOWN ISSUE: " + k.What + ": " + k.Cost + " (" + source + ").", Hint: plain.Capital(k.Next) + "."}
	})
}

// NotHardware explains simulated times.
const NotHardware = "a network model, not hardware, decided these times"

// Simulated returns the label of a record without timed hardware; empty for other records.
func Simulated(rec *record.Record) finding.List {
	if !rec.Simulated {
		return nil
	}
	return finding.List{{Code: finding.CodeSimulated, Text: record.Mark(rec) + ": " + NotHardware + ".", Severity: finding.Warning}}
}

// `judged` is a record with the expected times of its cases.
type judged struct {
	*record.Record
	want expected
}

// editedLines returns findings that the figures are not as zbench wrote them.
func editedLines(rec *record.Record) finding.List {
	return slice.Map(rec.Edits(), func(w record.Warning) finding.Finding {
		return finding.Finding{Code: CodeEdited, Text: "EDITED: " + w.Message + ".", Hint: plain.Capital(w.Hint) + ".", Severity: finding.Warning}
	})
}

// Rules is the version of the rules. It changes when the same record gets other findings.
const Rules = 4

// CodeOnReading is the code of the note that a record was judged when it was read.
const CodeOnReading = "judged_on_reading"

// Store judges a new record. Its file keeps the findings.
func Store(rec *record.Record) { rec.Judgement = judgement(Record(rec)) }

func judgement(l finding.List) *finding.Judgement {
	checked := len(l.Only(CodeNoFault)) > 0 && len(l.Only(CodeInterrupted)) == 0
	return &finding.Judgement{Rules: Rules, State: l.State(checked), Findings: l}
}

// Read judges a record that was read without findings, because an earlier version wrote it or because it was edited.
// It adds a note about that. Other records keep their findings.
func Read(rec *record.Record) {
	if rec.Judgement != nil {
		return
	}
	rec.Judgement = judgement(append(Record(rec), finding.Finding{
		Code: CodeOnReading, Text: "The findings were made on reading: the record has none that fit it.",
	}))
}

// State returns the state of a record's findings.
func State(rec *record.Record) finding.State { return judgement(Of(rec)).State }

// Of returns the findings of a record. It judges a record that has none, or that was found to be edited since.
func Of(rec *record.Record) finding.List {
	if rec == nil || rec.Judgement == nil {
		return Record(rec)
	}
	if edited := editedLines(rec); len(edited) > len(rec.Judgement.Findings.Only(CodeEdited)) {
		return Record(rec)
	}
	return rec.Judgement.Findings
}
