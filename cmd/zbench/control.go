package main

import (
	"time"

	"zbench/bench/plan"
	"zbench/bench/record"
)

// orders counts what the leader sends to the other processes, and how long it waits for
// their reports when its own part is done.
type orders struct {
	now    func() time.Time
	sent   int
	waited time.Duration
}

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
	return &record.Control{Processes: w.role.Size, Orders: w.orders.sent, Waited: w.orders.waited.Seconds()}
}
