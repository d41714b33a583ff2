package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zbench/bench/collective"
	"zbench/bench/engine"
	"zbench/bench/plain"
	"zbench/bench/plan"
	"zbench/bench/recommend"
	"zbench/bench/record"
	"zbench/bench/spec"
	"zbench/internal/launch"
)

// collectivesOptions are the options of the collectives command.
type collectivesOptions struct {
	runOptions
	advice    adviceFlagSet
	launch    launchFlagSet
	deadlines deadlineFlagSet
	// counters is where the counters of NICs are: auto, off or a folder.
	counters string
	// command is the word that the processes are started with; empty is collectives.
	command string
	// progress reports every case even without a terminal.
	progress bool
}

func newCollectives(s State) *cobra.Command {
	var o collectivesOptions
	cmd := &cobra.Command{
		Use:   "collectives [NAME…]",
		Short: "Sweep collectives by message size: results, report and plots",
		Long: `Sweeps ` + strings.Join(collective.Default(), ", ") + `, or the collectives named,
over message sizes and leaves one folder: results.json, results.csv,
report.html, plots as PNG and SVG, knees.json and run.json. The table goes to
standard output, the verdict last; --verbose prints all that is known. "zbench
list collectives" describes all collectives. Each finished pass of a case is
written to journal.jsonl at once: --resume DIR continues an interrupted sweep
and needs no other flag, and every command reads an unfinished sweep. The
measured time and the GPU-hours of a sweep are printed before it starts.
results.json holds the whole request: --spec runs it again.

With --framework, a model and the time of a microbatch the sweep ends with the
bucket size to set, as zbench recommend prints it. Sizes are then added: larger
ones while messages are larger and the curve is not saturated, and the real
message sizes around the answer. Each round is announced before it starts;
--fixed-sizes skips them.

The one-letter flags are rccl-tests'. Sizes are total bytes, as there: for
all_gather and reduce_scatter the full buffer. They grow by a factor (-f) or by
steps (-i). -G captures a burst's launches into a graph and replays it.`,
		Example: `  zbench collectives --nodes 128
  zbench collectives all_reduce -b 1M -e 1G -d bfloat16
  zbench collectives all_gather -b 64M -e 512M -i 64M
  zbench collectives --fabric mi300x-8gpu -g 8 -G 4 --out one-process
  zbench collectives --nodes 128 --framework megatron --preset llama3-8b --step-ms 900
  zbench collectives --screen-first --out all     without the nodes that zbench screen fails
  zbench collectives --spec old/results.json --nodes 64`,
		ValidArgs: collective.Names(),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.want.Sweep.Collectives = collectiveNames(args)
			return o.start(cmd.Context(), s, func(ctx context.Context) error { return o.sweep(ctx, s, cmd) })
		},
	}
	addCollectivesFlags(cmd, &o)
	return cmd
}

// start runs what is measured in this process, or as the leader of several, or takes part as
// one of them.
func (o *collectivesOptions) start(ctx context.Context, s State, measure func(context.Context) error) error {
	ctx, role, several := o.launch.among(ctx, s)
	switch {
	case !several:
		return measure(ctx)
	case role.Rank > 0:
		return o.follow(ctx, s, role)
	}
	return o.lead(ctx, s, role, measure)
}

// sweep starts or resumes a sweep according to the flags.
func (o *collectivesOptions) sweep(ctx context.Context, s State, cmd *cobra.Command) (err error) {
	if err := o.deadlines.check(); err != nil {
		return err
	}
	if err := o.gates.read(); err != nil {
		return err
	}
	if o.want.Advice, err = o.advice.read(s); err != nil {
		return err
	}
	f := cmd.Flags()
	if err := sizesAgree(f); err != nil {
		return err
	}
	if o.want.Sweep.Skew, err = skewOf(s, o.want.Sweep.Skew); err != nil {
		return err
	}
	if err := o.ask(s, cmd); err != nil {
		return err
	}
	l, err := o.place(s, cmd)
	if err == nil && o.launch.screen {
		if err = o.screenFirst(ctx, s, cmd, l); err == nil {
			l, err = o.place(s, cmd)
		}
	}
	resumed := f.Changed("resume")
	switch {
	case err != nil:
		return err
	case l.starts() && !o.launch.dry:
		return o.startWorld(ctx, s, l, resumed)
	case o.launch.dry && resumed:
		return o.dryResume(ctx, s, cmd, l)
	case o.launch.dry:
		return o.dryRun(ctx, s, l, nil)
	}
	e, err := o.engine(s)
	if err != nil {
		return err
	}
	if resumed {
		e.Force = o.force
		return o.measure(ctx, s, e, func(kept spec.Spec) (spec.Spec, error) { return o.joined(cmd, kept) })
	}
	o.want.World, o.want.Faults = l.want.World, l.want.Faults
	return o.measure(ctx, s, e, nil)
}

// skewOf is --skew with the weights of a file in place of its name.
func skewOf(s State, asked string) (string, error) {
	skew, err := collective.ReadSkew(asked)
	if err == nil {
		return string(skew), nil
	}
	text, missing := s.FS.ReadFile(asked)
	if missing == nil {
		skew, err = collective.ReadSkew(string(text))
	}
	if err != nil {
		return "", usage(fmt.Errorf("--skew %s: %w", plain.Line(asked), err), "give uniform, zipf:1.2, or a file with a weight for each rank")
	}
	return string(skew), nil
}

// ask takes over the request of --spec. Collectives and a model that are given replace the
// file's.
func (o *collectivesOptions) ask(s State, cmd *cobra.Command) error {
	flags := o.want
	err := o.runOptions.ask(s, cmd)
	if names := flags.Sweep.Collectives; len(names) > 0 {
		o.want.Sweep.Collectives = names
	}
	if flags.Advice != nil {
		o.want.Advice = flags.Advice
	}
	return err
}

// joined is the request of a sweep that is resumed, with the flags that may change. Other
// flags that differ are an error that names them; --force allows changed facts.
func (o *collectivesOptions) joined(cmd *cobra.Command, kept spec.Spec) (spec.Spec, error) {
	want, list, err := unchanged(cmd, kept, o.force)
	if given := o.want.Sweep.Collectives; len(given) > 0 && !slices.Equal(given, kept.Sweep.Collectives) {
		list = append([]string{clash("collectives", strings.Join(kept.Sweep.Collectives, " "), strings.Join(given, " "))}, list...)
	}
	if o.want.Advice != nil {
		want.Advice = o.want.Advice
	}
	return want, cmp.Or(clashes(o.resume, list), err)
}

// sizesAgree refuses two ways of saying which sizes are run.
func sizesAgree(f *pflag.FlagSet) error {
	switch {
	case f.Changed("stepbytes") && f.Changed("stepfactor"):
		return usagef("-f multiplies sizes, -i adds to them", "-i and -f exclude each other")
	case f.Changed("sizes") && (f.Changed("minbytes") || f.Changed("maxbytes") || f.Changed("stepfactor") || f.Changed("stepbytes")):
		return usagef("--sizes lists all sizes; leave -b, -e, -f and -i out", "--sizes and -b, -e, -f, -i exclude each other")
	}
	return nil
}

func addCollectivesFlags(cmd *cobra.Command, o *collectivesOptions) {
	addSpecFlags(cmd, &o.want)
	addFlags(cmd, &o.advice, adviceFlags)
	addRunFlags(cmd, &o.runOptions)
	f := cmd.Flags()
	f.Lookup("force").Usage += "; with --resume: resume even if hardware or libraries differ"
	f.Lookup("resume").Usage = "resume the sweep in this folder with its own options"
	addLaunchFlags(f, &o.launch)
	f.StringVar(&o.launch.bad, "exclude-bad", "", "leave out the nodes that a screen has failed: the folder of that (zbench screen)")
	f.BoolVar(&o.launch.screen, "screen-first", false, "screen the nodes first, into a folder beside --out, and leave out those that fail")
	addCountersFlag(f, &o.counters)
	addDeadlineFlags(f, &o.deadlines)
	f.BoolVar(&o.progress, "progress", false, "rows on standard error while they are measured, even if it is not a terminal")
	o.addVerbose(f, allColumns)
}

// engine is the engine with this machine's driver and terminal.
func (o *collectivesOptions) engine(s State) (*engine.Engine, error) {
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
		// The GPUs, and then the init of the communicators, have that deadline themselves.
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
