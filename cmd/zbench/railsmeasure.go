package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zbench/bench/engine"
	"zbench/bench/exit"
	"zbench/bench/fabric"
	"zbench/bench/fleet/rails"
	"zbench/bench/folder"
	"zbench/bench/plan"
	"zbench/bench/spec"
	"zbench/internal/launch"
)

// surveyFlags are the flags of a sweep that a survey has, too.
var surveyFlags = []string{"ngpus", "nodes", "gpus-per-node", "fabric", "backend", "seed", "fault"}

// messageFlag is the size of a message.
var messageFlag = bytesFlag("", "size", "64M", "bytes of a message in each direction", func(s *spec.Spec) *int64 { return &s.Sweep.MinBytes })

// addMeasureFlags adds the flags of what zbench measures itself.
func addMeasureFlags(cmd *cobra.Command, o *railsOptions) {
	o.run.command = "rails"
	addSpecFlags(&cobra.Command{}, &o.run.want) // the defaults of what has no flag here
	rows := []specFlag{messageFlag}
	for _, row := range specFlags {
		if slices.Contains(surveyFlags, row.name) {
			rows = append(rows, row)
		}
	}
	addFlags(cmd, &o.run.want, rows)
	addLibraryFlags(cmd, &o.run.libraries)
	f := cmd.Flags()
	addLaunchFlags(f, &o.run.launch)
	addDeadlineFlags(f, &o.run.deadlines)
	addCountersFlag(f, &o.run.counters)
	f.IntVar(&o.launches, "launches", rails.DefaultLaunches, "timed launches of each round; faults that come and go need at least 4")
	f.IntVar(&o.rounds, "rounds", 0, "least number of rounds between nodes, and of passes over the links of a node: 20 finds faults that come and go")
	f.StringVar(&o.profile, "profile", "", "CSV of what good hardware gives: network or xgmi, rate, source")
	f.StringVar(&o.leaves, "leaves", "", "CSV of leaf switches: node, rail, switch")
	f.BoolVarP(&o.run.quiet, "quiet", "q", false, "no progress on standard error")
	f.BoolVarP(&o.run.verbose, "verbose", "v", false, "print every check before the run")
}

// measuring are the flags of a measurement that were given.
func measuring(cmd *cobra.Command) []string {
	var given []string
	names := slices.Concat(surveyFlags, launchFlags, deadlineFlags, []string{"size", "launches", "rounds", "profile", "leaves"})
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			given = append(given, name)
		}
	}
	return given
}

// start measures in this process, or in those that it starts, or takes part as one of
// several.
func (o *railsOptions) start(s State, cmd *cobra.Command) error {
	ctx, role, several := o.run.launch.among(cmd.Context(), s)
	switch {
	case !several:
		return o.measure(ctx, s, cmd)
	case role.Rank > 0:
		return o.run.follow(ctx, s, role)
	}
	return o.run.lead(ctx, s, role, func(ctx context.Context) error { return o.measure(ctx, s, cmd) })
}

func (o *railsOptions) measure(ctx context.Context, s State, cmd *cobra.Command) error {
	if err := o.check(); err != nil {
		return err
	}
	l, err := o.run.place(s, cmd)
	switch {
	case err != nil:
		return err
	case o.run.launch.dry:
		return o.dryRun(s, l)
	case l.starts():
		return o.run.startWorld(ctx, s, l, false)
	}
	o.run.want.World = l.want.World
	return o.survey(ctx, s)
}

// check refuses what cannot be measured before anything is opened.
func (o *railsOptions) check() error {
	if err := checkFormat(o.run.format, railsHelp); err != nil {
		return err
	}
	o.run.want.Sweep.MaxBytes, o.run.want.Sweep.Collectives = o.run.want.Sweep.MinBytes, []string{"send_recv"}
	switch {
	case o.launches < 1 || o.launches > plan.MaxBatch:
		return usagef(railsHelp, "--launches is 1 to %d, not %d", plan.MaxBatch, o.launches)
	case o.rounds < 0 || o.rounds > 1000:
		return usagef(railsHelp, "--rounds is 0 to 1000, not %d", o.rounds)
	}
	return o.run.deadlines.check()
}

// prepareRails checks the request, and resolves the machine with what messages between pairs
// take.
func prepareRails(e *engine.Engine, want spec.Spec) (*engine.Setup, plan.Case, error) {
	u, err := e.Prepare(want)
	if err != nil {
		return nil, plan.Case{}, err
	}
	if u.Machine != nil {
		f, err := fabric.ByName(u.Spec.Fabric)
		if err != nil {
			return nil, plan.Case{}, err
		}
		if u.Machine, err = f.Resolve(u.Spec.World, fabric.Conditions{Seed: u.Spec.Seed, Faults: u.Spec.Faults, Pairs: true}); err != nil {
			return nil, plan.Case{}, usage(err, railsHelp)
		}
	}
	c, err := rails.CaseOf(u.Spec.World, u.Spec.Sweep.MinBytes)
	if err != nil {
		err = usage(err, "give --nodes, --gpus-per-node or -g; "+railsHelp)
	}
	return u, c, err
}

// finish writes the folder and prints the verdict. failed is what ended the rounds early.
func (o *railsOptions) finish(s State, dir *folder.Folder, started time.Time, doc *rails.Document, rounds rails.Rounds, failed error) error {
	r := result{dir: dir, started: started, checks: o.run.checks, control: o.run.world.control()}
	switch {
	case failed == nil:
	case errors.Is(failed, context.Canceled):
		r.verdict = exit.With(exit.Interrupted, failed, "the rounds before are judged in "+dir.Path)
	default:
		r.verdict = exit.With(exit.Run, failed, "fix the cause, and repeat the command; the rounds before are judged in "+dir.Path)
	}
	return o.deliver(s, doc, r, artifact{"rounds.csv", func(w io.Writer) error { return rails.WriteRounds(w, doc.Survey, rounds.Timings) }})
}

// dryRun prints what the survey would start.
func (o *railsOptions) dryRun(s State, l launching) error {
	if l.method == launch.Env && l.role.Rank > 0 {
		return nil // rank 0 prints it
	}
	u, backend, err := o.run.dryPrepare(s, l, false)
	if err != nil {
		return err
	}
	if _, err := rails.CaseOf(u.Spec.World, u.Spec.Sweep.MinBytes); err != nil {
		return usage(err, railsHelp)
	}
	out, row := newDryRun()
	if err := o.run.dryLaunch(s, l, u.Spec, row); err != nil {
		return err
	}
	row("Backend", "%s", backend)
	row("Survey", "%s", o.announcement(u.Spec.World))
	_, err = io.WriteString(s.Stdout, out.String())
	return err
}

// readProfile reads what --profile names; nil without it.
func (o *railsOptions) readProfile(s State, bytes int64) (*rails.Profile, error) {
	if o.profile == "" {
		return nil, nil //nolint:nilnil // no profile is no error
	}
	text, err := railsInput(s, "profile", o.profile)
	if err != nil {
		return nil, err
	}
	p, err := rails.ReadProfile(strings.NewReader(string(text)), bytes)
	if err != nil {
		return nil, railsError(o.profile, err)
	}
	return p, nil
}

// readLeaves reads what --leaves names.
func (o *railsOptions) readLeaves(s State, about *rails.Survey) (names [][]string, numbers [][]int, err error) {
	if o.leaves == "" {
		return nil, nil, nil
	}
	text, err := railsInput(s, "leaves", o.leaves)
	if err != nil {
		return nil, nil, err
	}
	if names, numbers, err = rails.ReadLeaves(strings.NewReader(string(text)), about.Nodes, about.GPUs); err != nil {
		return nil, nil, railsError(o.leaves, err)
	}
	return names, numbers, nil
}
