package plan

import (
	"context"
	"fmt"
	"slices"
)

// This file and lead.go are the agreement of several processes: all of them must
// launch the same operations, or they hang. So one of them, the leader, runs the
// sweep and sends orders, and the followers execute them. A follower decides
// nothing by its own clock, samples or signals. A process that is alone needs none
// of this and runs the sweep on its own Process.

// Process is one process's ranks: what carries out orders.
type Process interface {
	Driver
	// Budget is what the ranks' buffers may take, those that are there included.
	Budget() (Room, error)
	// Allocate makes room for all cases that are not skipped, before the first Begin,
	// and again where larger ones were added.
	Allocate(ctx context.Context, cases []Case) error
}

// Do is what an order asks for: a method of Process, or to end.
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

// Order is one decision of the leader, the same for all processes. It travels as
// JSON with the number of the protocol; what is not of this protocol is refused.
type Order struct {
	Do Do `json:"do"`
	// Cases are what to make room for; Case and Pass are what begins.
	Cases []Case `json:"cases,omitempty"`
	Case  *Case  `json:"case,omitempty"`
	Pass  int    `json:"pass,omitempty"`
	// Count is the number of launches, of warm-up or alone, or which verification
	// launch this is.
	Count int `json:"count,omitempty"`
	// Bursts are what to take.
	Bursts *Bursts `json:"bursts,omitempty"`
}

// Followers are the other processes, as the leader sees them.
type Followers interface {
	// Send gives an order to all of them. One that is lost is passed over.
	Send(Order)
	// Reports waits for all answers to the last order and returns them in the
	// order of the processes' ranks. A process that is lost, or does not answer in
	// time, has the report Lost, one whose answer cannot be read has Unreadable.
	Reports() []Report
}

// Leader is the process that decides, as another sees it. Its errors mean that
// it is lost.
type Leader interface {
	// Next waits for the next order.
	Next() (Order, error)
	Report(Report) error
}

// Follow obeys the leader until the order to end. A signal, that is the end of
// ctx, is passed on to the leader and changes nothing else. The error says that
// the leader was lost.
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

// worker carries out orders on one process's ranks, the leader's too.
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

// carryOut has no context to hand on: launches that one process cut short would
// leave the others waiting.
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
