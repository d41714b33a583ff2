package rccl

import (
	"context"
	"fmt"
	"slices"
	"time"

	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/internal/native"
)

// initComms makes this process's ranks of one communicator by `call`. The library waits for the other
// processes without a deadline, and nothing can end that wait. Therefore the call runs in a thread
// of its own. If the call does not return, the thread is left to the end of the process.
func (d *Driver) initComms(ctx context.Context, c plan.Comms, h plan.Held, devices []int, call func() ([]native.Comm, error)) ([]native.Comm, error) {
	type result struct {
		comms []native.Comm
		err   error
	}
	leave, deadline := d.enter(), d.cfg.Deadlines.Init
	r, ended := within(ctx, seconds(deadline), func() result {
		defer leave() // counted before the caller can close the driver
		comms, err := call()
		return result{comms, err}
	})
	if ended {
		return r.comms, r.err
	}
	e := &unended{evidence: &record.Evidence{During: record.DuringInit, Iterations: 1}}
	e.text = fmt.Sprintf("init of %d of %d ranks", len(h.Ranks), c.Ranks)
	if c.Count > 1 {
		e.text += fmt.Sprintf(" of communicator %d of %d", h.Group+1, c.Count)
	}
	var stuck []int
	if e.cause = context.Cause(ctx); e.cause != nil {
		e.text += ": " + e.cause.Error()
	} else {
		var says string
		stuck, says = d.byItself(h, devices)
		e.timeout, e.evidence.Deadline = true, &deadline
		e.text += fmt.Sprintf(": not finished at the deadline of %g s; %s", deadline, says)
	}
	d.initProgress(c, h, e.evidence, stuck)
	return nil, e
}

// byItself makes a communicator of one rank on each GPU whose init did not end. A GPU that does not
// join even that communicator is itself stuck; the other GPUs only wait. The library cannot
// distinguish them, because all ranks are in the same call. byItself returns the world ranks of the
// stuck GPUs, and a description.
func (d *Driver) byItself(h plan.Held, devices []int) (stuck []int, says string) {
	joined := make(chan int, len(devices))
	for i, device := range devices {
		leave := d.enter()
		go func() {
			defer leave()
			id, err := d.library.NewUniqueID()
			if err != nil {
				return
			}
			comms, err := d.library.InitComms(id, 1, 0, []int{device}, 0, d.cfg.Calls.NonBlocking)
			if err != nil {
				return
			}
			joined <- i
			for _, comm := range comms {
				_ = d.library.FreeComm(comm) // in a goroutine, because the call may hang
			}
		}()
	}
	late := time.NewTimer(plan.ByItselfTime)
	defer late.Stop()
	works := map[int]bool{}
	for len(works) < len(devices) {
		select {
		case i := <-joined:
			works[i] = true
			continue
		case <-late.C:
		}
		break
	}
	for i, rank := range h.Ranks {
		if !works[i] {
			stuck = append(stuck, rank)
		}
	}
	switch {
	case len(stuck) == 0:
		return nil, "by itself each of its GPUs joins a communicator of one rank"
	case len(devices) == 1:
		return stuck, "by itself this GPU does not join a communicator of one rank either"
	}
	return stuck, fmt.Sprintf("by themselves %d of these %d GPUs do not join a communicator of one rank either", len(stuck), len(devices))
}

// initProgress returns how far this process's ranks got if the init of one part does not end. Ranks
// join in ascending order of their communicators. The stuck ranks do not join even a communicator
// of their own.
func (d *Driver) initProgress(c plan.Comms, at plan.Held, e *record.Evidence, stuck []int) {
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
			if slices.Contains(stuck, rank) {
				ranks[rank] = record.RankProgress{Failed: true, Error: "does not join a communicator by itself either"}
			}
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
