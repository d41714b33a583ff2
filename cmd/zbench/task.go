package main

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"zbench/bench/base/exit"
	"zbench/bench/base/folder"
	"zbench/bench/engine"
	"zbench/bench/run/plan"
	"zbench/bench/run/spec"
	"zbench/internal/launch"
)

// task is the work of a command that measures a world but is not a sweep of cases. worldRun starts
// and opens the world, and delivers the result: files, printed document and exit code.
type task struct {
	// row names the announcement in a dry run.
	row string
	// dated makes a folder in any case: a new dated one without --out.
	dated bool
	// kept says what remains of a task that ended early, in its folder if it has one.
	kept func(folder string) string
	// announce checks the task for a world and says what will be measured.
	announce func(w spec.World) (string, error)
	// prepare resolves the request: the machine, and the cases whose buffers are allocated.
	prepare func(s State, e *engine.Engine, want spec.Spec) (*engine.Setup, []plan.Case, error)
	// tooLarge returns the error for a case that does not fit into memory: its Skip says why.
	tooLarge func(c plan.Case) error
	// measure measures in the open world. If the result is nil, nothing was measured. An error
	// together with a result is the reason for an early end.
	measure func(ctx context.Context, w *openWorld) (*result, error)
}

// openWorld is a world whose ranks are open.
type openWorld struct {
	run   *worldRun
	state State
	setup *engine.Setup
	ranks engine.Ranks
	facts engine.Facts
	cases []plan.Case
	task  *task
	// dir is the folder of a task that is dated.
	dir *folder.Folder
}

// take runs a task as a dry run, in processes that it starts, or in this process.
func (o *worldRun) take(ctx context.Context, s State, l launching, t task) error {
	switch {
	case o.launch.dry && l.method == launch.Env && l.role.Rank > 0:
		return nil // rank 0 prints it
	case o.launch.dry:
		return o.dryTask(s, l, t)
	case l.starts():
		return o.startWorld(ctx, s, l, o.resume != "")
	}
	o.want.World = l.want.World
	return o.here(ctx, s, t)
}

// dryTask prints what would start.
func (o *worldRun) dryTask(s State, l launching, t task) error {
	u, backend, err := o.dryPrepare(s, l, false)
	if err != nil {
		return err
	}
	text, err := t.announce(u.Spec.World)
	if err != nil {
		return err
	}
	return o.dryMeasurement(s, l, u.Spec, backend, t.row, text)
}

// here runs a task in the world that this process leads, or that consists of this process alone.
func (o *worldRun) here(ctx context.Context, s State, t task) (err error) {
	started := s.Now()
	if o.want.Backend, err = o.libraries.choose(s, o.want.Backend); err != nil {
		return err
	}
	e, err := o.engine(s)
	if err != nil {
		return err
	}
	w := &openWorld{run: o, state: s, task: &t}
	if w.setup, w.cases, err = t.prepare(s, e, o.want); err != nil {
		return err
	}
	var dir *folder.Folder
	if t.dated {
		if dir, err = o.open(e.Host); err != nil {
			return err
		}
		w.dir = dir
		defer dir.Close() //nolint:errcheck // a lock that stays is taken over by the next run
		o.folder = dir.Path
	}
	var r *result
	if w.ranks, err = e.Open(ctx, w.setup); err == nil {
		if w.facts, err = w.ranks.Facts(); err == nil {
			r, err = t.measure(ctx, w)
		}
		err = cmp.Or(err, w.ranks.Close())
	}
	if r == nil {
		dir.Abandon()
		return err
	}
	r.dir, r.started, r.checks, r.control = dir, started, o.checks, o.world.control()
	switch kept := t.kept(o.folder); {
	case errors.Is(err, context.Canceled):
		r.verdict = exit.With(exit.Interrupted, err, kept)
	case err != nil:
		r.verdict = exit.With(exit.Run, err, "fix the cause, and repeat the command; "+kept)
	}
	return s.deliver(o.brief(), *r)
}

// open makes the folder of a task, or opens that of the one to resume.
func (o *worldRun) open(h folder.Host) (*folder.Folder, error) {
	if o.resume != "" {
		return folder.Open(h, o.resume)
	}
	return folder.New(h, o.out, o.command, o.force)
}

// brief is where a task's document goes: --verbose is for the checks before it.
func (o *worldRun) brief() output {
	to := o.output
	to.verbose = false
	return to
}

// allocate checks the hosts, announces the task, and allocates the buffers of its cases. own is the
// number of bytes that the task needs in addition.
func (w *openWorld) allocate(ctx context.Context, own func(cache int64) int64) error {
	room, err := w.ranks.Budget()
	if err != nil {
		return err
	}
	if own != nil {
		room.Bytes -= own(room.Cache)
	}
	plan.Fit(w.cases, room)
	if i := slices.IndexFunc(w.cases, func(c plan.Case) bool { return c.Skip != "" }); i >= 0 {
		return w.task.tooLarge(w.cases[i])
	}
	if err := w.run.check(w.state, w.setup, w.ranks, w.cases, 0); err != nil {
		return err
	}
	text, err := w.task.announce(w.setup.Spec.World)
	if err != nil {
		return err
	}
	w.state.note(w.run.quiet, "%s\n", text)
	return w.ranks.Allocate(ctx, room.For(w.cases))
}
