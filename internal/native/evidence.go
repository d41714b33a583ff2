package native

/*
#include "c/loop.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"
)

// RankState is how far a rank got in a batch that did not end.
type RankState string

// The states, in order.
const (
	NotEnqueued RankState = "not enqueued"
	NotFinished RankState = "not finished"
	Finished    RankState = "finished"
)

// Evidence is what is known of a batch that did not end: no more than the
// libraries tell.
type Evidence struct {
	// Launched of Iterations launches were made before the wait.
	Launched, Iterations int
	// States holds each local rank's.
	States []RankState
}

// HangError is a batch that did not end in time, or whose communicator reported
// an error. It wraps ErrDeadline or ErrAsync.
type HangError struct {
	Evidence
	Call string
	// Rank is the local rank that was found first, Seconds the deadline.
	Rank    int
	Seconds float64
	Text    string
	cause   error
}

func (e *HangError) Error() string {
	count := map[RankState]int{}
	for _, s := range e.States {
		count[s]++
	}
	text := fmt.Sprintf("%s: %v", e.Call, e.cause)
	if e.cause == ErrDeadline { //nolint:errorlint // set below, never wrapped
		text += fmt.Sprintf(" of %g s", e.Seconds)
	} else {
		text += " on rank " + fmt.Sprint(e.Rank) + ": " + e.Text
	}
	return fmt.Sprintf("%s; %d of %d launches made; ranks finished %d, not finished %d, not enqueued %d",
		text, e.Launched, e.Iterations, count[Finished], count[NotFinished], count[NotEnqueued])
}

func (e *HangError) Unwrap() error { return e.cause }

// Timeout tells that others did not come in time.
func (e *HangError) Timeout() bool { return errors.Is(e.cause, ErrDeadline) }

// outcome turns the way the batch ended into an error.
func (b *Batch) outcome() error {
	device := -1
	if b.n > 0 {
		device = int(b.ranks()[b.c.rank].device)
	}
	call := C.GoString(b.c.call)
	switch b.c.outcome {
	case C.ZB_BATCH_RUNTIME:
		return b.p.runtime(call, device, C.int(b.c.code))
	case C.ZB_BATCH_COLLECTIVES:
		return b.p.collectives(call, device, C.int(b.c.code))
	case C.ZB_BATCH_DEADLINE:
		return &HangError{Evidence: b.evidence(), Call: call, Rank: int(b.c.rank), Seconds: float64(b.c.deadline_s), cause: ErrDeadline}
	case C.ZB_BATCH_ASYNC:
		text := b.p.collectives(call, device, C.int(b.c.code)).Error()
		return &HangError{Evidence: b.evidence(), Call: call, Rank: int(b.c.rank), Text: text, cause: ErrAsync}
	case C.ZB_BATCH_CANCELLED:
		return ErrCancelled
	}
	return nil
}

func (b *Batch) evidence() Evidence {
	names := []RankState{NotEnqueued, NotFinished, Finished}
	e := Evidence{Launched: int(b.c.launched), Iterations: int(b.c.iterations) * max(1, int(b.c.replays)), States: make([]RankState, b.n)}
	for i, s := range unsafe.Slice(b.c.state, b.n) {
		e.States[i] = names[s]
	}
	return e
}
