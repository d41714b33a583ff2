package report

import (
	"zbench/bench/advice"
	"zbench/bench/finding"
	"zbench/bench/record"
)

// Codes of findings, in the order in which a verdict has them.
const (
	CodeHang        = "hang"
	CodeAsyncError  = "async_error"
	CodeFailed      = "failed"
	CodeWrongData   = "wrong_data"
	CodeInterrupted = "interrupted"
	CodeEdited      = "edited"
	CodeLate        = "late"
	CodeSlowGroup   = "slow_group"
	CodeLostBusBW   = "lost_busbw"
	CodeUnstable    = "unstable"
	CodeDip         = "dip"
	CodeNoisy       = "noisy"
	CodeNoFault     = "no_fault"
	CodeBusBW       = "busbw"
	CodeScale       = "scale"
	CodeAssumed     = "assumed"
	CodeAdvice      = "advice"
	CodeAsGood      = "as_good"
	CodeConfidence  = "confidence"
	CodeSimulated   = "simulated"
	CodeThreshold   = "threshold"
)

// Judge says what a record comes to: what is wrong first, with the share that it
// costs and where it is; then the best bus bandwidth beside its roof and the
// published figure; then the recommendation, what it gains over the default, and
// how far to believe it. d is nil where there is no recommendation. The same record
// gives the same verdict.
func Judge(rec *record.Record, d *advice.Document) finding.List {
	if rec == nil {
		rec = &record.Record{}
	}
	v := editedLines(rec)
	j := judged{rec, expect(rec)}
	for _, find := range []func(judged) finding.List{
		judged.hangs, judged.wrongData, judged.interrupted, judged.late, judged.slowGroups,
		judged.lostBusBW, judged.unstable, judged.dips, judged.noisy,
	} {
		v = append(v, find(j)...)
	}
	if len(v.Faults()) == 0 {
		v = append(v, j.noFault()...)
	}
	v = append(v, j.best()...)
	v = append(v, j.scale()...)
	v = append(v, AdviceLines(rec, d)...)
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
