package plan

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"zbench/bench/record"
)

// MaxReport is the most bytes of a report, as JSON, of a process that holds up to
// 1,024 ranks. A report of one rank with MaxBatch times has about 2 KiB.
const MaxReport = 2 << 20

// Texts in a report are cut to so many bytes.
const (
	maxText      = 4 << 10
	maxRankError = 256
)

// Report is what one process answers to an order: about its own ranks, in their
// order. It travels as JSON with the number of the protocol, and comes back the
// same to the last bit; what is not of this protocol is refused.
type Report struct {
	// Failure is what failed, nil for nothing.
	Failure *Failure `json:"failure,omitempty"`
	// Stop tells that this process was asked to stop. It obeys until the leader
	// ends the sweep.
	Stop bool `json:"stop,omitempty"`
	// StartedEarly tells that launches alone began before the host had enqueued them all.
	StartedEarly bool `json:"unheld,omitempty"`
	// Seconds are of this process's ranks, by burst × rank or launch × rank.
	Seconds      []float64    `json:"seconds,omitempty"`
	Budget       Room         `json:"budget"`
	Unverifiable string       `json:"unverifiable,omitempty"`
	Verified     Verification `json:"verified"`
}

// FailureKind is how a process failed in carrying out an order.
type FailureKind string

// The kinds, from the one that explains most to the one that explains nothing.
const (
	// FailedLost: the process does not answer. The leader's side says so.
	FailedLost FailureKind = "lost"
	// FailedCall: something failed in this process itself.
	FailedCall FailureKind = "failed"
	// FailedOrder: the order, or the report on it, is not understood.
	FailedOrder FailureKind = "refused"
	// FailedAsync: a communicator reports an asynchronous error. The cause may be
	// another process.
	FailedAsync FailureKind = "async"
	// FailedLate: the deadline passed while this process waited for others.
	FailedLate FailureKind = "late"
)

var failureKinds = []FailureKind{FailedLost, FailedCall, FailedOrder, FailedAsync, FailedLate}

// Failure is what went wrong in one process.
type Failure struct {
	Kind FailureKind `json:"kind"`
	// Message says it in words, without the evidence.
	Message string `json:"message"`
	// Evidence is how far the process's ranks got, by their numbers in the world;
	// nil where that is not known.
	Evidence *record.Evidence `json:"evidence,omitempty"`
}

// Lost is the report, made on the leader's side, of a process that does not answer.
func Lost(message string) Report {
	return Report{Failure: &Failure{Kind: FailedLost, Message: message}}.bounded()
}

// Unreadable is the report, made on the leader's side, of a process whose answer
// cannot be read.
func Unreadable(err error) Report {
	return Report{Failure: &Failure{Kind: FailedOrder, Message: err.Error()}}.bounded()
}

// errOrder is an order that cannot be carried out as it stands.
var errOrder = errors.New("an order that this zbench cannot carry out")

// sameBuild is what to do about a message that is not understood.
const sameBuild = "all processes must run the same version of zbench"

// failureOf makes data of what a process's driver says.
func failureOf(err error) *Failure {
	f := &Failure{Kind: FailedCall, Message: err.Error()}
	var late interface{ Timeout() bool }
	timeout := errors.As(err, &late) && late.Timeout()
	if stuck, ok := errors.AsType[Stuck](err); ok && stuck.Evidence() != nil {
		f.Evidence = stuck.Evidence()
		// The leader says what the evidence of all processes comes to.
		f.Message = strings.TrimSuffix(f.Message, "; "+f.Evidence.Text())
	}
	switch {
	case errors.Is(err, errOrder):
		f.Kind = FailedOrder
	case timeout:
		f.Kind = FailedLate
	case f.Evidence != nil:
		f.Kind = FailedAsync
	}
	return f
}

// bounded is the report as it may travel: no text is longer than it has to be, all
// of them are UTF-8, and all times are numbers.
func (r Report) bounded() Report {
	notFinite := func(s float64) bool { return math.IsNaN(s) || math.IsInf(s, 0) }
	if i := slices.IndexFunc(r.Seconds, notFinite); i >= 0 {
		r = Report{Failure: &Failure{Kind: FailedCall, Message: fmt.Sprintf("time %d of %d is %g s: no clock shows that", i+1, len(r.Seconds), r.Seconds[i])}}
	}
	r.Unverifiable, r.Verified.First = clip(r.Unverifiable, maxText), clip(r.Verified.First, maxText)
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

// clip cuts a text to at most so many bytes of UTF-8.
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
