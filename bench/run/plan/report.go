package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"zbench/bench/run/record"
)

// MaxReport is the limit of a report's size as JSON, in bytes, for a process with up to
// 1,024 ranks. A report of one rank with MaxBatch times of both timings has less than 2 KiB.
const MaxReport = 2 << 20

// Limits of the texts in a report, in bytes.
const (
	maxText      = 4 << 10
	maxRankError = 256
)

// Report is the answer of one process to an order, for its own ranks in their order. It is sent as
// JSON with the protocol number, exact to the last bit; a report of another protocol is refused.
type Report struct {
	// Failure is the process's failure; nil for none.
	Failure *Failure `json:"failure,omitempty"`
	// Stop is true if this process received a signal to stop. It executes orders until
	// the leader ends the sweep.
	Stop bool `json:"stop,omitempty"`
	// StartedEarly is true if isolated launches started before the host had enqueued all
	// of them.
	StartedEarly bool `json:"started_early,omitempty"`
	// Hold is the hold that this process would use for the next isolated launches, in seconds per
	// launch.
	Hold float64 `json:"hold,omitempty"`
	// Seconds are the times of this process's ranks, by burst × rank or launch × rank.
	Seconds Times `json:"seconds,omitempty"`
	Budget  Room  `json:"budget,omitzero"`
	// IDs are the ids of the communicators whose rank 0 is in this process.
	IDs []CommID `json:"ids,omitempty"`
	// Facts are an opened process's description of itself.
	Facts json.RawMessage `json:"facts,omitempty"`
	// NICs are the counters of the node's NICs; one process per node reads them.
	NICs []record.NICCounters `json:"nics,omitempty"`
	// Unverifiable is the reason why the process cannot verify any case; empty if it can.
	Unverifiable string `json:"unverifiable,omitempty"`
	// Parts are the parts of a complete pass; none if it was cut short.
	Parts    []record.Part `json:"parts,omitempty"`
	Verified Verification  `json:"verified,omitzero"`
}

// FailureKind classifies a process's failure to execute an order.
type FailureKind string

// The kinds, from the most to the least specific cause.
const (
	// FailedLost: the process does not answer. The leader sets this kind.
	FailedLost FailureKind = "lost"
	// FailedUnreached: the process is connected through another process, which was lost. The leader
	// sets this kind.
	FailedUnreached FailureKind = "unreached"
	// FailedHanging: a call of this process does not return.
	FailedHanging FailureKind = "hanging"
	// FailedCall: something failed in this process itself.
	FailedCall FailureKind = "failed"
	// FailedOrder: the order, or the report on it, cannot be decoded.
	FailedOrder FailureKind = "refused"
	// FailedAsync: a communicator reports an asynchronous error. The cause may be
	// another process.
	FailedAsync FailureKind = "async"
	// FailedLate: the deadline passed while this process waited for others.
	FailedLate FailureKind = "late"
)

var failureKinds = []FailureKind{FailedLost, FailedHanging, FailedCall, FailedOrder, FailedAsync, FailedUnreached, FailedLate}

// Failure is a failure in one process.
type Failure struct {
	Kind FailureKind `json:"kind"`
	// Message describes the failure, without the evidence.
	Message string `json:"message"`
	// Evidence is the progress of the process's ranks, by their numbers in the world; nil if
	// unknown.
	Evidence *record.Evidence `json:"evidence,omitempty"`
}

// Own reports whether the failure is the process's own, and not a wait for another process.
func (f *Failure) Own() bool {
	return f != nil && slices.Contains([]FailureKind{FailedHanging, FailedCall, FailedOrder}, f.Kind)
}

// Failing returns the report of a process that failed. The leader also makes it for a process that cannot report.
func Failing(kind FailureKind, message string) Report {
	return failed(Failure{Kind: kind, Message: message}).bounded()
}

// failed returns a process's report on its own failure.
func failed(f Failure) Report { return Report{Failure: &f} }

// errOrder is the error of an order that cannot be executed.
var errOrder = errors.New("an order that this zbench cannot execute")

// sameBuild is the hint for a message that cannot be decoded.
const sameBuild = "all processes must run the same version of zbench"

// failureOf converts a driver's error to a Failure.
func failureOf(err error) Failure {
	f := Failure{Kind: FailedCall, Message: err.Error()}
	var late interface{ Timeout() bool }
	timeout := errors.As(err, &late) && late.Timeout()
	if stuck, ok := errors.AsType[Stuck](err); ok && stuck.Evidence() != nil {
		f.Evidence = stuck.Evidence()
		// The leader describes the evidence of all processes.
		f.Message = strings.TrimSuffix(f.Message, "; "+f.Evidence.Text())
	}
	switch {
	case errors.Is(err, errOrder):
		f.Kind = FailedOrder
	case f.Evidence != nil && f.Evidence.During == record.DuringOpen:
		f.Kind = FailedHanging
	case timeout:
		f.Kind = FailedLate
	case f.Evidence != nil:
		f.Kind = FailedAsync
	}
	return f
}

// bounded returns the report in a form that can be sent: texts are within their limits and valid
// UTF-8, and all times are finite.
func (r Report) bounded() Report {
	notFinite := func(s float64) bool { return math.IsNaN(s) || math.IsInf(s, 0) }
	if i := slices.IndexFunc(r.Seconds, notFinite); i >= 0 {
		stop := r.Stop
		r = failed(Failure{Kind: FailedCall, Message: fmt.Sprintf("time %d of %d is %g s; a time must be finite", i+1, len(r.Seconds), r.Seconds[i])})
		r.Stop = stop
	}
	r.Verified.First = clip(r.Verified.First, maxText)
	r.Unverifiable = clip(r.Unverifiable, maxText)
	if r.Failure == nil {
		return r
	}
	f := *r.Failure
	f.Message = clip(f.Message, maxText)
	if f.Evidence != nil {
		e := *f.Evidence
		e.Ranks = slices.Clone(e.Ranks)
		for i := range e.Ranks {
			e.Ranks[i].Error = clip(e.Ranks[i].Error, maxRankError)
		}
		f.Evidence = &e
	}
	r.Failure = &f
	return r
}

// clip shortens a text to at most the given bytes of UTF-8.
func clip(text string, most int) string {
	const more = "…"
	whole := strings.ToValidUTF8(text[:min(len(text), most+1)], string(utf8.RuneError))
	if len(whole) <= most {
		return whole
	}
	end := most - len(more)
	for !utf8.RuneStart(whole[end]) {
		end--
	}
	return whole[:end] + more
}
