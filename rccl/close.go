package rccl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zbench/bench/run/plan"
	"zbench/internal/native"
)

// abortTime is how long aborting failed communicators may take. If it takes longer, the end of
// the process frees them.
const abortTime = 10 * time.Second

// enter counts a call into a library as running until leave is called.
func (d *Driver) enter() (leave func()) {
	d.inside.Add(1)
	return func() { d.inside.Add(-1) }
}

// Close frees everything. It continues after errors, because after a failed batch some calls can
// fail too; communicators are then aborted instead of destroyed. If a call does not return, it is
// left to the end of the process, because nothing that it uses may be freed.
func (d *Driver) Close() error {
	limit, do := seconds(d.cfg.Deadlines.Init), d.close
	switch {
	case d.inside.Load() > 0:
		limit, do = abortTime, d.abort
	case d.broken:
		limit = abortTime
	}
	err, ended := within(context.Background(), limit, do)
	if !ended {
		return fmt.Errorf("the communicators did not close within %s: the end of the process closes them", limit)
	}
	return err
}

// within() runs a call in a thread of its own, because the call may hang. It returns false at the
// limit or when ctx ends. The thread is then left to the end of the process.
func within[T any](ctx context.Context, limit time.Duration, do func() T) (result T, ended bool) {
	done := make(chan T, 1)
	go func() { done <- do() }()
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case result = <-done:
		return result, true
	case <-late.C:
	case <-ctx.Done():
	}
	return result, false
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// close frees everything.
func (d *Driver) close() error {
	var errs []error
	if d.broken { // first, because aborting ends hanging kernels, for which the following calls would wait
		errs = append(errs, d.abort())
	}
	d.unstage()
	if d.batch != nil {
		d.batch.Close()
		d.batch = nil
	}
	errs = append(errs, d.freeWork())
	d.functions.Close()
	d.functions = nil
	errs = append(errs, d.leave())
	for _, m := range d.ranks {
		for _, s := range []native.Stream{m.plain, m.filler, m.urgent} {
			if s != (native.Stream{}) {
				errs = append(errs, d.provider.FreeStream(s))
			}
		}
	}
	errs = append(errs, d.free())
	d.ranks = nil
	d.provider.Close()
	return errors.Join(errs...)
}

// abort aborts all communicators. No other call may be made while a call hangs.
func (d *Driver) abort() error { return d.give(d.library.AbortComm) }

// expect prepares the deadlines of a case. The first operation of a collective on its
// communicators takes longer, because it connects the ranks.
func (d *Driver) expect(c plan.Case) {
	if c.Collective.Name != d.kind || d.perLaunch < 0 {
		d.kind, d.perLaunch = c.Collective.Name, -1
	} else if d.bytes > 0 {
		d.perLaunch *= max(1, float64(c.Layout.Bytes)/float64(d.bytes))
	}
	d.bytes = c.Layout.Bytes
}

// deadline returns the deadline of a batch of launches, in seconds.
func (d *Driver) deadline(launches int) float64 { return d.cfg.Deadlines.Of(launches, d.perLaunch) }

// took() records how long a batch took, in seconds per launch.
func (d *Driver) took(seconds []float64, err error) {
	if err != nil {
		d.broken = true
		return
	}
	for _, s := range seconds {
		d.perLaunch = max(d.perLaunch, s)
	}
}
