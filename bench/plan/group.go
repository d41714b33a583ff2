package plan

import (
	"context"
	"fmt"
	"slices"
)

// This file and lead.go coordinate several processes. All of them must launch the same
// operations, or they hang. So one of them, the leader, runs the sweep and sends
// orders, and the followers execute them. A follower decides nothing by its own clock,
// samples or signals. A single process runs the sweep on its own Process without
// orders.

// Process is the ranks of one process. It executes orders.
type Process interface {
	Driver
	// Budget is the memory for the ranks' buffers, including those already allocated.
	Budget() (Room, error)
	// Allocate allocates the buffers of all cases that are not skipped, before the
	// first Begin, and again when larger cases were added.
	Allocate(ctx context.Context, cases []Case) error
}

// Do is the action of an order: a method of Process, or the end.
type Do string

// The orders.
const (
	DoBudget   Do = "budget"
	DoAllocate Do = "allocate"
	DoBegin    Do = "begin"
	DoVerify   Do = "verify"
	DoWarmUp   Do = "warm-up"
	DoBurst    Do = "burst"
	DoIsolated Do = "isolated"
	DoEnd      Do = "end"
)

// Order is one decision of the leader, equal for all processes. It is sent as JSON with
// the protocol number; an order of another protocol is refused.
type Order struct {
	Do Do `json:"do"`
	// Cases are those to allocate; Case and Pass are those to begin.
	Cases []Case `json:"cases,omitempty"`
	Case  *Case  `json:"case,omitempty"`
	Pass  int    `json:"pass,omitempty"`
	// Count is the number of warm-up or isolated launches, or the index of the
	// verification launch.
	Count int `json:"count,omitempty"`
	// Bursts are those to run.
	Bursts *Bursts `json:"bursts,omitempty"`
}

// Followers are the other processes, as the leader sees them.
type Followers interface {
	// Send sends an order to all of them and ignores those that are lost.
	Send(Order)
	// Reports waits for all answers to the last order and returns them in the order of
	// the processes' ranks. The report of a process that is lost or does not answer in
	// time is Lost; that of an answer that cannot be read is Unreadable.
	Reports() []Report
}

// Leader is the leading process, as a follower sees it. Its errors mean that the
// leader is lost.
type Leader interface {
	// Next waits for the next order.
	Next() (Order, error)
	Report(Report) error
}

// Follow executes the leader's orders until the order to end. The end of ctx (a signal)
// is reported to the leader and has no other effect. An error means that the leader was
// lost.
func Follow(ctx context.Context, p Process, leader Leader) error {
	w := worker{p: p}
	for {
		o, err := leader.Next()
		if err != nil {
			return fmt.Errorf("lost the process that leads the sweep: %w", err)
		}
		if o.Do == DoEnd {
			return nil
		}
		r := w.execute(o)
		r.Stop = ctx.Err() != nil
		if err := leader.Report(r); err != nil {
			return fmt.Errorf("lost the process that leads the sweep: %w", err)
		}
	}
}

// worker executes orders on one process's ranks, including the leader's.
type worker struct {
	p Process
	c Case
}

func (w *worker) execute(o Order) Report {
	var r Report
	if err := w.carryOut(o, &r); err != nil {
		r = Report{Failure: failureOf(err)}
	}
	return r.bounded()
}

// carryOut passes no context on: if one process stopped its launches early, the others
// would hang.
func (w *worker) carryOut(o Order, r *Report) (err error) {
	whole := context.Background()
	if o.Do == DoBegin && o.Case == nil || o.Do == DoBurst && o.Bursts == nil {
		return fmt.Errorf("%w: %q lacks its case", errOrder, o.Do)
	}
	switch o.Do {
	case DoBudget:
		r.Budget, err = w.p.Budget()
	case DoAllocate:
		err = w.p.Allocate(whole, o.Cases)
	case DoBegin:
		w.c = *o.Case
		if err = w.p.Begin(w.c, o.Pass); err == nil {
			r.Unverifiable = w.p.Unverifiable(w.c)
		}
	case DoVerify:
		r.Verified, err = w.p.Verify(whole, w.c, o.Count)
	case DoWarmUp:
		r.Seconds, err = w.p.WarmUp(whole, o.Count)
	case DoBurst:
		r.Seconds, err = w.p.Burst(whole, *o.Bursts)
	case DoIsolated:
		r.Seconds, err = w.p.Isolated(whole, o.Count)
		r.StartedEarly = !w.p.Held()
	default:
		err = fmt.Errorf("%w: %q is not known; %s", errOrder, o.Do, sameBuild)
	}
	r.Seconds = slices.Clone(r.Seconds)
	return err
}
