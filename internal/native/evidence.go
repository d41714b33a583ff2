package native

/*
#include "c/loop.h"
#include "c/shim.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"
)

// Progress is how far a rank got in a batch that did not end.
type Progress struct {
	// Started and Ended are the numbers of launches that the rank has started and
	// ended, as seen by events that mark the launches. They are −1 without marks,
	// as in a timed burst.
	Started, Ended int
	// Finished is true if the rank has finished all of its work.
	Finished bool
	// Async is the asynchronous error of the rank's communicator; empty if there is none.
	Async string
}

// Evidence is the state of a batch that did not end, as reported by the libraries.
type Evidence struct {
	// Launched is how many of the Iterations were launched on every rank before the wait.
	Launched, Iterations int
	// Ranks has the progress of each local rank.
	Ranks []Progress
}

// HangError is the error of a batch that did not end in time, whose communicator reported an
// error, or that was cancelled. It wraps ErrDeadline, ErrAsync or ErrCancelled.
type HangError struct {
	Evidence
	Call string
	// Rank is the first local rank concerned; Seconds is the deadline.
	Rank    int
	Seconds float64
	Text    string
	cause   error
}

func (e *HangError) Error() string {
	switch {
	case errors.Is(e.cause, ErrDeadline):
		return fmt.Sprintf("%s: %v of %g s", e.Call, e.cause, e.Seconds)
	case errors.Is(e.cause, ErrCancelled):
		return fmt.Sprintf("%s: %v", e.Call, e.cause)
	}
	return fmt.Sprintf("%s: %v on rank %d: %s", e.Call, e.cause, e.Rank, e.Text)
}

func (e *HangError) Unwrap() error { return e.cause }

// Timeout reports whether the deadline passed.
func (e *HangError) Timeout() bool { return errors.Is(e.cause, ErrDeadline) }

// outcome returns the result of the batch as an error.
func (b *Batch) outcome() error {
	device := -1
	if b.n > 0 {
		device = int(b.ranks()[b.c.rank].device)
	}
	call := C.GoString(b.c.call)
	hang := func(cause error) *HangError {
		return &HangError{Evidence: b.evidence(), Call: call, Rank: int(b.c.rank), cause: cause}
	}
	switch b.c.outcome {
	case C.ZB_BATCH_RUNTIME:
		return b.p.runtime(call, device, C.int(b.c.code))
	case C.ZB_BATCH_COLLECTIVES:
		return b.p.collectives(call, device, C.int(b.c.code))
	case C.ZB_BATCH_DEADLINE:
		e := hang(ErrDeadline)
		e.Seconds = float64(b.c.deadline_s)
		return e
	case C.ZB_BATCH_ASYNC:
		text := b.p.collectives(call, device, C.int(b.c.code)).Error()
		e := hang(ErrAsync)
		e.Text = text
		return e
	case C.ZB_BATCH_CANCELLED:
		return hang(ErrCancelled)
	case C.ZB_BATCH_VENDOR:
		return fmt.Errorf("%w on device %d: status %d", ErrVendor, device, int(b.c.code))
	}
	return nil
}

// evidence queries the progress of every rank, without waiting.
func (b *Batch) evidence() Evidence {
	C.zb_progress(b.c)
	e := Evidence{Launched: int(b.c.launched), Iterations: int(b.c.iterations) * max(1, int(b.c.replays)), Ranks: make([]Progress, b.n)}
	for i := range e.Ranks {
		r := &e.Ranks[i]
		r.Started, r.Ended = int(unsafe.Slice(b.c.started, b.n)[i]), int(unsafe.Slice(b.c.ended, b.n)[i])
		r.Finished = unsafe.Slice(b.c.state, b.n)[i] == C.ZB_RANK_FINISHED
		if code := unsafe.Slice(b.c.async, b.n)[i]; code != 0 {
			r.Async = C.GoString(C.zb_coll_error(b.p.table, C.int(code)))
		}
	}
	return e
}
