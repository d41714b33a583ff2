package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"zbench/bench/engine"
	"zbench/bench/exit"
	"zbench/bench/plan"
	"zbench/bench/record"
	"zbench/internal/native"
	"zbench/internal/preflight"
	"zbench/internal/rendezvous"
)

// team is the ranks of all processes as one driver.
type team struct {
	*plan.Group
	own     *collectivesDriver
	facts   engine.Facts
	all     []preflight.Process
	release func()
}

// processes are all of the sweep, with what they tell of their hosts.
func (t *team) processes() []preflight.Process { return t.all }

func (t *team) Facts() (engine.Facts, error) { return t.facts, nil }

// Witness is that of this process: the service gathers from all ranks.
func (t *team) Witness() *record.Witness { return t.own.Witness() }

// Close ends the sweep in all processes and closes this one's ranks, as far as they are open.
func (t *team) Close() error {
	if t.Group != nil {
		t.release()
		t.End()
	}
	if t.own == nil {
		return nil
	}
	return t.own.Close()
}

// open opens the ranks of all processes.
func (w *world) open(ctx context.Context, s State, o libraryOptions, with *opening) (engine.Ranks, error) {
	if err := w.meet(s, with); err != nil {
		return nil, err
	}
	t := &team{}
	err := w.assemble(ctx, s, o, with, t)
	native.RemoveName(with.Arena) // all have it open, or the run has failed
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// assemble opens the ranks of this process and then those of the others.
func (w *world) assemble(ctx context.Context, s State, o libraryOptions, with *opening, t *team) (err error) {
	bounds := ctx
	if with.Arena != "" { // it takes milliseconds; a file that is made after this has returned would stay
		bounds = context.WithoutCancel(ctx)
	}
	t.own, err = guarded(bounds, with.Deadlines.Init, 1, "opening the GPUs of process 0 on "+s.Hostname(), func() (*collectivesDriver, error) {
		return openShare(ctx, s, o, with, 0, w.role.Local)
	})
	if err == nil {
		err = w.gather(ctx, s, with)
	}
	if err != nil {
		return err
	}
	var during context.Context
	t.Group, during = plan.Lead(ctx, t.own, w, w.Members(with.ranks()))
	t.Bound(with.Deadlines)
	release := context.AfterFunc(during, func() { w.stop(context.Cause(during)) })
	t.release = func() { release() }
	if t.facts, err = w.describe(ctx, s, t, with); err != nil {
		err = exit.With(codeOf(err), err, "fix the cause, and repeat the command")
	}
	return err
}

// meet names the file where the processes of a simulation meet.
func (w *world) meet(s State, with *opening) error {
	if len(with.Machine) == 0 {
		return nil
	}
	removeLeft(s)
	name := make([]byte, meetingBytes)
	if _, err := io.ReadFull(s.Random, name); err != nil {
		return err
	}
	with.Arena = meetingFile(s, sweepMeeting, name)
	return nil
}

// gather waits for all processes and starts the run.
func (w *world) gather(ctx context.Context, s State, with *opening) error {
	for {
		if err := w.Wait(ctx); err != nil {
			return err
		}
		w.orders.registered = w.orders.since()
		if err := cmp.Or(w.inOrder(with), w.refused.checkWorld(w.Hellos())); err != nil {
			return err
		}
		for _, line := range w.Drift() {
			s.note(false, "%s\n", line)
		}
		err := w.Start(with)
		w.started = err == nil
		if !errors.Is(err, rendezvous.ErrMissing) { // else one has left since
			return err
		}
	}
}

// inOrder checks that the ranks of each node follow one another: the groups of a node's
// GPUs are made of consecutive ranks.
func (w *world) inOrder(with *opening) error {
	if len(with.Machine) > 0 {
		return nil // the nodes are simulated, wherever the processes run
	}
	perNode := max(with.World.GPUsPerNode/max(with.World.GPUsPerProcess, 1), 1)
	all := w.Hellos()
	for i, h := range all {
		first := all[i-i%perNode]
		if h.LocalProcess != i%perNode || h.Host != first.Host {
			return usagef("let the launcher fill one node after the other: srun --distribution=block, mpirun --map-by ppr:N:node",
				"process %d on %s has the local rank %d; process %d on %s begins its node, and local rank %d was expected: the ranks of a node must follow one another",
				i, h.Host, h.LocalProcess, i-i%perNode, first.Host, i%perNode)
		}
	}
	return nil
}

// describe opens the ranks of the others and checks that all fit together.
func (w *world) describe(ctx context.Context, s State, t *team, with *opening) (engine.Facts, error) {
	mine, err := guarded(ctx, with.Deadlines.Init, 1, "asking the GPUs of process 0 on "+s.Hostname(), func() (introduction, error) {
		return introduce(s, t.own, with, w.role, time.Time{})
	})
	if err != nil {
		return engine.Facts{}, err
	}
	sent := s.Now()
	facts, err := t.Open()
	if err != nil {
		return engine.Facts{}, err
	}
	w.orders.opened = w.orders.since()
	all := []engine.Hello{mine.Hello}
	t.all = []preflight.Process{mine.process(time.Time{}, s.Now())}
	for i, text := range facts {
		var other introduction
		if err := json.Unmarshal(text, &other); err != nil {
			return engine.Facts{}, fmt.Errorf("process %d: %w", i+1, err)
		}
		all, t.all = append(all, other.Hello), append(t.all, other.process(sent, s.Now()))
	}
	together, err := engine.Together(all, with.World.Size(), with.World.Share())
	together.Extrapolated = t.own.facts.Extrapolated
	return together, err
}
