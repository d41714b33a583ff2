package main

import (
	"context"

	"github.com/spf13/cobra"

	"zbench/bench/answers/recommend"
	"zbench/bench/engine"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/internal/launch"
)

// worldRun runs a measurement in a world of processes. It starts the processes or takes part as one
// of them, opens the ranks, checks the hosts, and ends together with all processes. Every command
// that measures a world embeds it.
type worldRun struct {
	runOptions
	launch    launchFlagSet
	deadlines deadlineFlagSet
	// counters says where the counters of NICs are read: auto, off or a folder.
	counters string
	// command is the command with which the processes are started; empty means collectives.
	command string
}

// worldFlags are those flags of a sweep that other measurements of a world also have.
var worldFlags = []string{"ngpus", "nodes", "gpus-per-node", "fabric", "backend", "seed", "fault"}

// addWorldFlags adds the flags that every measurement of a world has: for the world, the libraries,
// the launcher and the deadlines. rows are the command's own flags.
func (o *worldRun) addWorldFlags(cmd *cobra.Command, command string, rows ...specFlag) {
	o.command = command
	addSpecFlags(&cobra.Command{}, &o.want) // fills in the defaults of fields without a flag here
	addFlags(cmd, &o.want, append(rows, specRows(worldFlags)...))
	addLibraryFlags(cmd, &o.libraries)
	addLaunchFlags(cmd.Flags(), &o.launch)
	addDeadlineFlags(cmd.Flags(), &o.deadlines)
	o.addVerbose(cmd.Flags(), "print every check before the run")
}

// start runs the measurement in this process, alone or as the leader. If another process leads,
// this process takes part as a follower.
func (o *worldRun) start(ctx context.Context, s State, measure func(context.Context) error) error {
	ctx, role, several := o.launch.among(ctx, s)
	switch {
	case !several:
		return measure(ctx)
	case role.Rank > 0:
		return o.follow(ctx, s, role)
	}
	return o.lead(ctx, s, role, measure)
}

// place determines where the measurement runs.
func (o *worldRun) place(s State, cmd *cobra.Command) (launching, error) {
	f := cmd.Flags()
	return o.placed(s, o.kept(s), f.Changed("nodes") || f.Changed("spec") || f.Changed("resume"))
}

// placed determines where a request runs. given is true if the user gave the number of nodes.
func (o *worldRun) placed(s State, want spec.Spec, given bool) (launching, error) {
	l, err := o.launch.place(s, want, given)
	if err == nil {
		err = l.realNodes(s, given)
	}
	if err != nil || o.launch.dry {
		return l, err
	}
	l.note(s, o.quiet)
	return l, nil
}

// engine returns an engine that uses the driver and the terminal of this machine.
func (o *worldRun) engine(s State) (*engine.Engine, error) {
	e, err := o.runOptions.engine(s)
	e.Deadline, _ = launch.JobEnd(s.Getenv)
	e.Launched = o.world != nil
	e.Open = func(ctx context.Context, u *engine.Setup) (engine.Ranks, error) {
		w := openingOf(u)
		w.Deadlines = o.deadlines.deadlines()
		w.Folder, w.Owner = o.folder, e.Owner
		w.Counters = countersRoot(o.counters, u.Machine != nil)
		if o.world != nil {
			return o.world.open(ctx, s, o.libraries, &w)
		}
		// The deadline applies twice: to opening the GPUs, and then to opening the communicators.
		return guarded(ctx, w.Deadlines.Init, 2, "opening the GPUs of "+s.Hostname(), func() (*collectivesDriver, error) {
			return openCollectives(ctx, s, o.libraries, &w)
		})
	}
	e.Check = func(u *engine.Setup, d engine.Ranks, cases []plan.Case, seconds float64) error {
		return o.check(s, u, d, cases, seconds)
	}
	e.Witness = witnessOf(s)
	e.Source = func(rec *record.Record, parts []record.Part) recommend.Source {
		of := sourceWith(rec, parts)
		of.With(o.libraries.given())
		return of
	}
	e.Watch = func(total, done int) engine.Watcher { return newProgress(s, total, done, o.quiet, o.progress) }
	return e, err
}
