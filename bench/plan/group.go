package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// This file and lead.go coordinate several processes. All must launch the same operations, or they
// hang. So one of them, the leader, runs the sweep and sends orders, and the followers execute
// them. A follower decides nothing by its own clock, samples or signals. A single process runs the
// sweep on its own Process without orders.

// Process holds the ranks of one process. It executes orders.
type Process interface {
	Driver
	// Budget returns the memory for the ranks' buffers, including those already allocated.
	Budget() (Room, error)
	// IDs makes the unique ids of the communicators whose rank 0 is in this process.
	IDs(Comms) ([]CommID, error)
	// Join replaces the current communicators. ids has at least those of the communicators in which
	// this process has ranks. The end of ctx ends the wait for the other processes.
	Join(ctx context.Context, c Comms, ids []CommID) error
	// Allocate allocates an arena of need.Bytes for every rank, before the first Begin, and again
	// when larger cases were added. From then on buffers rotate over need.Cache. The first call
	// connects the ranks.
	Allocate(ctx context.Context, need Room) error
}

// Do is the action of an order: a method of Process, or the end.
type Do string

// The orders.
const (
	DoOpen     Do = "open"
	DoBudget   Do = "budget"
	DoIDs      Do = "ids"
	DoJoin     Do = "join"
	DoAllocate Do = "allocate"
	DoPrepare  Do = "prepare"
	DoVerify   Do = "verify"
	DoWarmUp   Do = "warm-up"
	DoBurst    Do = "burst"
	DoIsolated Do = "isolated"
	DoExchange Do = "exchange"
	DoStage    Do = "stage"
	DoPlay     Do = "play"
	DoWatch    Do = "watch"
	DoTake     Do = "take"
	DoCounters Do = "counters"
	DoEnd      Do = "end"
)

// Order is one decision of the leader, equal for all processes, except that a process may get only
// its own ids. It is sent as JSON with the protocol number; an order of another protocol is
// refused.
type Order struct {
	Do Do `json:"do"`
	// Limit is how long the leader waits for the reports, in seconds; 0 for ever.
	Limit float64 `json:"limit,omitempty"`
	// Comms are the communicators for which ids are made, or which are joined with IDs.
	Comms *Comms   `json:"comms,omitempty"`
	IDs   []CommID `json:"ids,omitempty"`
	// Beside keeps the current communicators when Comms are joined.
	Beside bool `json:"beside,omitempty"`
	// Room is the memory to allocate and the cache to rotate over.
	Room *Room `json:"room,omitempty"`
	// Case and Pass select a case to prepare, Job and Pass a pass to take. Verify requests a
	// verification launch.
	Case *Case `json:"case,omitempty"`
	Job  int   `json:"job,omitempty"`
	// Seconds is the expected upper bound of the time of the pass.
	Seconds float64 `json:"seconds,omitempty"`
	Pass    int     `json:"pass,omitempty"`
	Verify  bool    `json:"verify,omitempty"`
	// Count is the number of warm-up or isolated launches, of steps or of messages, or the index of the
	// verification launch.
	Count int `json:"count,omitempty"`
	// Hold is the hold of isolated launches, in seconds per launch; 0 leaves it to the process.
	Hold float64 `json:"hold,omitempty"`
	// Bursts are the bursts to run, also after a preparation. Isolated is the number of isolated
	// launches after them, or after a preparation.
	Bursts   *Bursts `json:"bursts,omitempty"`
	Isolated int     `json:"isolated,omitempty"`
	// Exchange is the round of messages to run.
	Exchange *Exchange `json:"exchange,omitempty"`
	// Setting is the setting of the Step to keep, or of those to take.
	Setting int   `json:"setting,omitempty"`
	Step    *Step `json:"step,omitempty"`
	// Watch selects the timed part of the steps.
	Watch *Watch `json:"watch,omitempty"`
	// Counters asks for the counters of the NICs after the launches of the order.
	Counters bool `json:"counters,omitempty"`
}

// Followers are the other processes, as the leader sees them.
type Followers interface {
	// Send sends an order to all of them except lost ones.
	Send(Order)
	// Reports waits for all answers to the last order and returns them in the order of the
	// processes' ranks. A process that is lost or does not answer in time gives a Lost report; an
	// unreadable answer gives Unreadable. own is this process's report: after a failure of any
	// process the others have less time.
	Reports(own Report) []Report
}

// Leader is the leading process, from a follower's side. Its errors mean that the leader is lost.
type Leader interface {
	// Next waits for the next order.
	Next() (Order, error)
	Report(Report) error
}

// GivingUp is a connection that can give up a run: its Context ends when a process is lost. Running
// launches are then abandoned, because they would wait for the lost process.
type GivingUp interface {
	Context() context.Context
}

// Abandoning is a connection that bounds an order: Returns reports whether a call returned. A call
// that has not returned some time after the end of Context never will, and continues by itself.
type Abandoning interface {
	Returns(call func()) bool
}

// Standing is a connection that finds the processes that stood still during the last order: Stood
// names them, and is empty if none did. Deadlines that passed meanwhile are no evidence.
type Standing interface {
	Stood() string
}

// Opener opens a follower's ranks and describes them as JSON.
type Opener func(context.Context) (Process, json.RawMessage, error)

// Follow executes the leader's orders until the end order. The end of ctx (a signal) is only
// reported to the leader. An error means that the leader was lost.
func Follow(ctx context.Context, p Process, leader Leader) error {
	return follow(ctx, worker{p: p}, leader)
}

// FollowOpening is Follow for a process that opens its ranks at the leader's order (Group.Open), so
// that its error reaches the leader.
func FollowOpening(ctx context.Context, open Opener, leader Leader) error {
	return follow(ctx, worker{open: open}, leader)
}

func follow(ctx context.Context, w worker, leader Leader) error {
	w.ties = tiesOf(leader)
	for {
		o, err := leader.Next()
		if err != nil {
			return fmt.Errorf("lost the process that leads the sweep: %w", err)
		}
		if o.Do == DoEnd {
			return nil
		}
		r := w.bound(o)
		r.Stop = r.Stop || ctx.Err() != nil
		if err := leader.Report(r); err != nil {
			return fmt.Errorf("lost the process that leads the sweep: %w", err)
		}
	}
}

// ties are the optional abilities of a connection; nil if it lacks them.
type ties struct {
	GivingUp
	Abandoning
}

func tiesOf(connection any) (t ties) {
	t.GivingUp, _ = connection.(GivingUp)
	t.Abandoning, _ = connection.(Abandoning)
	return t
}

// worker executes orders on the ranks of one process, including the leader's.
type worker struct {
	p Process
	c Case
	// open opens the process; nil if it is open.
	open Opener
	ties
	// stuck is true after a call did not return: it may still use the process's ranks.
	stuck bool
}

// whole is the context of an order. It only ends if the connection gives up the run: if one process
// stopped its launches early, the others would hang.
func (w *worker) whole() context.Context {
	if w.GivingUp != nil {
		return w.Context()
	}
	return context.Background()
}

// bound executes an order. A call that does not return is abandoned when the connection says so:
// the process can then only report it.
func (w *worker) bound(o Order) Report {
	if w.stuck {
		return hanging()
	}
	if w.Abandoning == nil {
		return w.reported(o)
	}
	var r Report // the call's alone if it does not return
	if !w.Returns(func() { r = w.reported(o) }) {
		w.stuck = true
		return hanging()
	}
	return r
}

// hanging returns the report of a process in which a call does not return.
func hanging() Report {
	return failed(Failure{Kind: FailedHanging, Message: "a call of a library does not return"})
}

func (w *worker) reported(o Order) Report {
	var r Report
	if err := w.dispatch(o, &r); err != nil {
		r = failed(failureOf(err))
		if whole := w.whole(); whole.Err() != nil && errors.Is(err, context.Cause(whole)) {
			// The lost process is the cause; this one waited for it.
			f := failureOf(err)
			r = failed(Failure{Kind: FailedLate, Message: "stopped waiting: " + context.Cause(whole).Error(), Evidence: f.Evidence})
		}
		r.NICs = CountersOf(w.p) // no order follows that could ask for them
	}
	return r.bounded()
}

func (w *worker) dispatch(o Order, r *Report) (err error) {
	whole := w.whole()
	switch {
	case o.lacks():
		return fmt.Errorf("%w: %q lacks its arguments", errOrder, o.Do)
	case w.p == nil && o.Do != DoOpen:
		return fmt.Errorf("%w: %q before %q", errOrder, o.Do, DoOpen)
	}
	switch o.Do {
	case DoOpen:
		if w.open != nil {
			w.p, r.Facts, err = w.open(whole)
			w.open = nil
		}
	case DoBudget:
		r.Budget, err = w.p.Budget()
	case DoIDs:
		r.IDs, err = w.p.IDs(*o.Comms)
	case DoJoin:
		err = w.join(o, r)
	case DoAllocate:
		err = w.p.Allocate(whole, *o.Room)
	case DoPrepare:
		err = w.prepare(o, r)
	case DoVerify:
		r.Verified, err = w.p.Verify(whole, w.c, o.Count)
	case DoWarmUp:
		r.Seconds, err = w.p.WarmUp(whole, o.Count)
	case DoBurst:
		var got Timed
		got, err = runBatches(whole, w.p, o.batches())
		w.timed(o, got, r)
	case DoIsolated:
		err = w.isolated(o, r)
	case DoExchange:
		err = w.exchange(*o.Exchange, r)
	case DoStage, DoPlay, DoWatch:
		err = w.play(o, r)
	case DoTake:
		err = w.take(o, r)
	case DoCounters:
		r.NICs = CountersOf(w.p)
	default:
		err = fmt.Errorf("%w: %q is not known; %s", errOrder, o.Do, sameBuild)
	}
	if err == nil && o.Counters {
		r.NICs = CountersOf(w.p)
	}
	r.Seconds = slices.Clone(r.Seconds)
	return err
}

func (w *worker) join(o Order, r *Report) error {
	if o.Beside {
		return w.play(o, r)
	}
	err := w.p.Join(w.whole(), *o.Comms, o.IDs)
	if err == nil {
		r.Unverifiable = w.p.Unverifiable(Case{}) // the zero case applies to all
	}
	return err
}

// prepare begins a case. The leader knows what can be verified; a process with a different result
// was opened with other options.
func (w *worker) prepare(o Order, r *Report) error {
	w.c = *o.Case
	got, err := Prepare(w.whole(), w.p, Preparation{Case: w.c, Pass: o.Pass, Warmup: o.Count, Verify: o.Verify, First: o.batches()})
	if err == nil && got.Unverifiable != "" {
		err = fmt.Errorf("this process cannot verify what the others verify: %s", got.Unverifiable)
	}
	r.Seconds, r.Verified = got.Seconds, got.Verified
	w.timed(o, got.First, r)
	return err
}

// isolated runs isolated launches with the hold that all processes use.
func (w *worker) isolated(o Order, r *Report) (err error) {
	if h, holds := w.p.(Holder); holds && o.Hold > 0 {
		h.SetHold(o.Hold)
	}
	r.Seconds, err = w.p.Isolated(w.whole(), o.Count)
	w.holding(w.p.Held(), r)
	return err
}
