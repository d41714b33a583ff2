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
	// Join replaces the current communicators. ids has at least the ids of the communicators in which
	// this process has ranks. The end of ctx ends the wait for the other processes.
	Join(ctx context.Context, c Comms, ids []CommID) error
	// Allocate allocates an arena of need.Bytes for every rank, before the first Begin, and again
	// when larger cases were added. Afterwards buffers rotate over need.Cache bytes. The first call
	// connects the ranks.
	Allocate(ctx context.Context, need Room) error
}

// Followers are the other processes, as the leader sees them.
type Followers interface {
	// Send sends an order to all followers except lost followers.
	Send(Order)
	// Reports waits for all answers to the last order and returns them in the order of the processes'
	// ranks. For a process that is lost or does not answer in time it makes a report of the kind
	// FailedLost. For an unreadable answer it makes a report of the kind FailedOrder. The argument
	// `own` is this process's report: after a failure of any process the others have less time.
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

// Abandoning is a connection that bounds an order: Returns reports whether a call returned. A call that
// has not returned some time after the end of Context is left running.
type Abandoning interface {
	Returns(call func()) bool
}

// Standing is a connection that finds the processes that stood still during the last order. Stood
// names them; it is empty if none did. Deadlines that passed while a process stood still prove nothing.
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

// FollowOpening does the same as Follow for a process that opens its ranks only when the leader orders
// it (Group.Open). An error in opening then reaches the leader.
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
		if o.Ends() {
			return nil
		}
		r := w.bound(o)
		r.Stop = r.Stop || ctx.Err() != nil
		if err := leader.Report(r); err != nil {
			return fmt.Errorf("lost the process that leads the sweep: %w", err)
		}
	}
}

// ties holds the optional abilities of a connection; a missing one is nil.
type ties struct {
	GivingUp
	Abandoning
}

func tiesOf(connection any) (t ties) {
	t.GivingUp, _ = connection.(GivingUp)
	t.Abandoning, _ = connection.(Abandoning)
	return t
}

// worker executes orders on the ranks of one process. The leader has a worker, too.
type worker struct {
	p Process
	c Case
	// open opens the process; nil if it is open.
	open Opener
	ties
	// stuck is true after a call did not return: it may still use the process's ranks.
	stuck bool
}

// The method `whole` returns the context in which an order is carried out. It ends only if the
// connection gives up the run: the other processes would hang if this one stopped its launches early.
func (w *worker) whole() context.Context {
	if w.GivingUp != nil {
		return w.Context()
	}
	return context.Background()
}

// bound executes an order. When the connection says so, method bound abandons a call that does not
// return. From then on the process only reports that it hangs.
func (w *worker) bound(o Order) Report {
	if w.stuck {
		return hanging
	}
	if w.Abandoning == nil {
		return w.reported(o)
	}
	var r Report // an abandoned call may still write to it, so it is not read then
	if !w.Returns(func() { r = w.reported(o) }) {
		w.stuck = true
		return hanging
	}
	return r
}

// hanging is the report of a process in which a call does not return.
var hanging = Failing(FailedHanging, "a call of a library does not return")

func (w *worker) reported(o Order) Report {
	var r Report
	if err := w.dispatch(o, &r); err != nil {
		r = failed(failureOf(err))
		if whole := w.whole(); whole.Err() != nil && errors.Is(err, context.Cause(whole)) {
			// The lost process is the cause; this process waited for it.
			f := failureOf(err)
			r = failed(Failure{Kind: FailedLate, Message: "stopped waiting: " + context.Cause(whole).Error(), Evidence: f.Evidence})
		}
		r.NICs = CountersOf(w.p) // after a failure no order asks for them
	}
	return r.bounded()
}

func (w *worker) dispatch(o Order, r *Report) (err error) {
	if _, opens := o.Verb.(Open); !opens && w.p == nil {
		return fmt.Errorf("%w: %q before %q", errOrder, o.Verb.Name(), Open{}.Name())
	}
	if err = o.Verb.carryOut(w, r); err == nil && o.Counters {
		r.NICs = CountersOf(w.p)
	}
	r.Seconds = slices.Clone(r.Seconds)
	return err
}
