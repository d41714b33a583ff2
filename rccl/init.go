package rccl

import (
	"context"
	"fmt"
	"time"

	"zbench/bench/plan"
	"zbench/bench/record"
	"zbench/internal/native"
)

// unjoined is the error of an init that has not returned: at its deadline, or because a
// process was lost.
type unjoined struct {
	text     string
	cause    error // of the context; nil at the deadline
	evidence *record.Evidence
}

func (e *unjoined) Error() string { return e.text }

// Evidence is how far this process's ranks got.
func (e *unjoined) Evidence() *record.Evidence { return e.evidence }

// Timeout reports whether the deadline passed: the cause may be in another process.
func (e *unjoined) Timeout() bool { return e.cause == nil }

func (e *unjoined) Unwrap() error { return e.cause }

// initComms joins this process's ranks of one communicator. The library waits for the
// other processes without a deadline, and nothing can end that wait: it has a thread of its
// own, which is left to the end of the process.
func (d *Driver) initComms(ctx context.Context, c plan.Comms, h plan.Held, id native.UniqueID, devices []int) ([]native.Comm, error) {
	type result struct {
		comms []native.Comm
		err   error
	}
	done, leave := make(chan result, 1), d.enter()
	go func() {
		comms, err := d.library.InitComms(id, c.Ranks, h.First, devices)
		leave() // before the caller can close the driver
		done <- result{comms, err}
	}()
	deadline := d.cfg.Deadlines.Init
	late := time.NewTimer(time.Duration(deadline * float64(time.Second)))
	defer late.Stop()
	e := &unjoined{evidence: &record.Evidence{During: record.DuringInit, Iterations: 1}}
	what := fmt.Sprintf("init of %d of %d ranks", len(h.Ranks), c.Ranks)
	if c.Count > 1 {
		what += fmt.Sprintf(" of communicator %d of %d", h.Group+1, c.Count)
	}
	select {
	case r := <-done:
		return r.comms, r.err
	case <-late.C:
		e.evidence.Deadline = &deadline
		e.text = fmt.Sprintf("%s: not finished at the deadline of %g s", what, deadline)
	case <-ctx.Done():
		e.cause = context.Cause(ctx)
		e.text = what + ": " + e.cause.Error()
	}
	d.initProgress(c, h, e.evidence)
	return nil, e
}

// initProgress is how far this process's ranks have got when the init of one part does not
// end: they join by ascending communicator.
func (d *Driver) initProgress(c plan.Comms, at plan.Held, e *record.Evidence) {
	ranks := map[int]record.RankProgress{}
	first, count := -1, 0
	for _, h := range c.Held(d.cfg.FirstRank, d.cfg.Ranks) {
		p := record.RankProgress{}
		switch {
		case h.Group < at.Group:
			p = record.RankProgress{Enqueued: 1, Started: 1, Ended: 1, Finished: true}
		case h.Group == at.Group:
			p = record.RankProgress{Enqueued: 1, Started: 1}
		}
		for _, rank := range h.Ranks {
			ranks[rank] = p
			if first < 0 || rank < first {
				first = rank
			}
			count++
		}
	}
	list := make([]record.RankProgress, count)
	for rank, p := range ranks {
		list[rank-first] = p
	}
	e.SetRanksFrom(first, list)
}
