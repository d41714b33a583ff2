package main

import (
	"time"

	"zbench/bench/plan"
	"zbench/bench/record"
)

// orders counts what the leader sends to the other processes, and how long it waits for
// them: from when it listens until all have registered and until all have opened their GPUs;
// then for their reports when its own part is done.
type orders struct {
	now                        func() time.Time
	listened                   time.Time
	registered, opened, waited time.Duration
	sent                       int
}

// since is the time that the leader has been listening.
func (o *orders) since() time.Duration { return o.now().Sub(o.listened) }

func (w *world) Send(o plan.Order) {
	w.orders.sent++
	w.Leader.Send(o)
}

func (w *world) SendEach(each []plan.Order) {
	w.orders.sent++
	w.Leader.SendEach(each)
}

func (w *world) Reports(own plan.Report) []plan.Report {
	began := w.orders.now()
	reports := w.Leader.Reports(own)
	w.orders.waited += w.orders.now().Sub(began)
	return reports
}

// control is what leading the other processes took; nil where there are none.
func (w *world) control() *record.Control {
	if w == nil {
		return nil
	}
	o := &w.orders
	return &record.Control{
		Processes: w.role.Size, Registered: o.registered.Seconds(), Opened: o.opened.Seconds(), Orders: o.sent, Waited: o.waited.Seconds(),
	}
}
