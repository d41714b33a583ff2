package report

import (
	"slices"

	"zbench/bench/advice"
	"zbench/bench/record"
)

// Severity is how much a line of a verdict matters.
type Severity int

// The severities, the least first. A note is a figure or a label; good is that
// something was looked for and not found; a warning limits what the figures say; bad
// is a fault.
const (
	VerdictNote Severity = iota
	VerdictGood
	VerdictWarning
	VerdictBad
)

// Kinds of lines, in the order in which a verdict has them.
const (
	KindHang        = "hang"
	KindAsyncError  = "async_error"
	KindFailed      = "failed"
	KindWrongData   = "wrong_data"
	KindInterrupted = "interrupted"
	KindEdited      = "edited"
	KindLate        = "late"
	KindSlowGroup   = "slow_group"
	KindLostBusBW   = "lost_busbw"
	KindUnstable    = "unstable"
	KindDip         = "dip"
	KindNoisy       = "noisy"
	KindNoFault     = "no_fault"
	KindBusBW       = "busbw"
	KindScale       = "scale"
	KindAssumed     = "assumed"
	KindAdvice      = "advice"
	KindAsGood      = "as_good"
	KindConfidence  = "confidence"
	KindSimulated   = "simulated"
	KindThreshold   = "threshold"
)

// VerdictLine is one statement about a record.
type VerdictLine struct {
	// Kind is one of the kinds above.
	Kind string
	// Text says it, in one or two sentences of plain text.
	Text string
	// Hint says what to do next; empty where there is nothing to do.
	Hint     string
	Severity Severity
	// Share is what is lost, from 0 to 1: of bandwidth, of time, of elements or of
	// cases, as Text says; 0 where nothing is lost.
	Share float64
}

// Verdict is what a record comes to.
type Verdict struct{ Lines []VerdictLine }

// Faults are the lines that say what is wrong.
func (v Verdict) Faults() []VerdictLine {
	return slices.DeleteFunc(slices.Clone(v.Lines), func(l VerdictLine) bool { return l.Severity != VerdictBad })
}

// Only are the lines of these kinds, in their order.
func (v Verdict) Only(kinds ...string) []VerdictLine {
	return slices.DeleteFunc(slices.Clone(v.Lines), func(l VerdictLine) bool { return !slices.Contains(kinds, l.Kind) })
}

// Judge says what a record comes to: what is wrong first, with the share that it
// costs and where it is; then the best bus bandwidth beside its roof and the
// published figure; then the recommendation, what it gains over the default, and
// how far to believe it. d is nil where there is no recommendation. The same record
// gives the same verdict.
func Judge(rec *record.Record, d *advice.Document) Verdict {
	if rec == nil {
		rec = &record.Record{}
	}
	v := Verdict{editedLines(rec)}
	j := judged{rec, expect(rec)}
	for _, find := range []func(judged) []VerdictLine{
		judged.hangs, judged.wrongData, judged.interrupted, judged.late, judged.slowGroups,
		judged.lostBusBW, judged.unstable, judged.dips, judged.noisy,
	} {
		v.Lines = append(v.Lines, find(j)...)
	}
	if len(v.Faults()) == 0 {
		v.Lines = append(v.Lines, j.noFault()...)
	}
	v.Lines = append(v.Lines, j.best()...)
	v.Lines = append(v.Lines, j.scale()...)
	v.Lines = append(v.Lines, AdviceLines(rec, d)...)
	return v
}

// part prints a share with no more digits than it deserves, and lets nothing that is
// something look like nothing: <0.1 %, 9.5 %, 42 %.
func part(f float64) string {
	if !finite(f) {
		return none
	}
	if f > 0 && f < 0.0005 {
		return "<0.1 %"
	}
	return advice.Share(f)
}

// judged is a record with what its cases should take.
type judged struct {
	*record.Record
	want expected
}
