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

// task is what a command does if it measures a world but is not a sweep of cases. worldRun starts
// and opens the world, and delivers the result: files, printed document and exit code.
type task struct {
	// row is the name of the announcement in a dry run.
	row string
	// If dated is true, the task always has a folder. Without --out, this is a new folder with the
	// date in its name.
	dated bool
	// kept says what remains of a task that ended early. folder is its folder, or empty.
	kept func(folder string) string
	// announce checks the task for a world. It returns a text about what will be measured, and the
	// measured time in seconds, if it is known.
	announce func(w spec.World) (text string, time plan.Span, err error)
	// prepare resolves the request: it returns the machine, and the cases whose buffers are
	// allocated.
	prepare func(s State, e *engine.Engine, want spec.Spec) (*engine.Setup, []plan.Case, error)
	// tooLarge returns the error about a case that does not fit into memory. The Skip of the case
	// has the reason.
	tooLarge func(c plan.Case) error
	// measure measures in the open world. A nil result means that nothing was measured. If measure
	// returns both a result and an error, the error is the reason for an early end.
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
	// dir is the folder of a dated task.
	dir *folder.Folder
}

// take makes a dry run of a task, or runs it in processes that it starts, or runs it in this
// process.
func (o *worldRun) take(ctx context.Context, s State, l launching, t task) error {
	switch {
	case o.launch.dry && l.method == launch.Env && l.role.Rank > 0:
		return nil // rank 0 prints the text
	case o.launch.dry:
		return o.dryTask(s, l, t)
	case l.starts():
		return o.startWorld(ctx, s, l, o.resume != "")
	}
	o.want.World = l.want.World
	return o.here(ctx, s, t)
}

// dryTask prints what would be started.
func (o *worldRun) dryTask(s State, l launching, t task) error {
	u, backend, err := o.dryPrepare(s, l, false)
	if err != nil {
		return err
	}
	text, time, err := t.announce(u.Spec.World)
	if err != nil {
		return err
	}
	return o.dryMeasurement(s, l, u.Spec, backend, t.row, text, time)
}

// `here` runs a task in the world that this process leads, or in this process alone.
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
		defer dir.Close() //nolint:errcheck // the next run replaces a lock that remains
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

// open creates the folder of a task, or opens the folder that is resumed.
func (o *worldRun) open(h folder.Host) (*folder.Folder, error) {
	if o.resume != "" {
		return folder.Open(h, o.resume)
	}
	return folder.New(h, o.out, o.command, o.force)
}

// brief returns the options for a task's document. --verbose does not apply to the document, but to
// the checks before the task.
func (o *worldRun) brief() output {
	to := o.output
	to.verbose = false
	return to
}

// allocate checks the hosts, announces the task, and allocates the buffers of its cases. own
// returns the number of bytes that the task needs in addition.
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
	text, _, err := w.task.announce(w.setup.Spec.World)
	if err != nil {
		return err
	}
	w.state.note(w.run.quiet, "%s\n", text)
	return w.ranks.Allocate(ctx, room.For(w.cases))
}
