package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zbench/bench/collective"
	"zbench/bench/engine"
	"zbench/bench/plan"
	"zbench/bench/recommend"
	"zbench/bench/record"
	"zbench/bench/spec"
	"zbench/internal/launch"
)

// collectivesOptions are the options of the collectives command.
type collectivesOptions struct {
	// want is the request that the flags make.
	want      spec.Spec
	advice    adviceFlagSet
	libraries libraryOptions
	launch    launchFlagSet
	deadlines deadlineFlagSet
	gates     gateFlagSet
	// counters is where the counters of NICs are: auto, off or a folder.
	counters string
	// command is the word that the processes are started with; empty is collectives.
	command string
	// world is the other processes of the sweep, where this one leads several.
	world *world

	out, format  string
	force, quiet bool
	// verbose prints every column; progress reports every case even without a terminal.
	verbose, progress bool
	// resume is the folder of a sweep to resume, file a request to run.
	resume, file string

	// folder is that of the results; checks are what was checked before the run.
	folder string
	checks []record.Preflight
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
			return o.start(s, cmd)
		},
	}
	addCollectivesFlags(cmd, &o)
	return cmd
}

// start runs the sweep in this process, or in the processes that it starts, or takes part
// in it as one of several.
func (o *collectivesOptions) start(s State, cmd *cobra.Command) error {
	ctx, role, several := o.launch.among(cmd.Context(), s)
	switch {
	case !several:
		return o.sweep(ctx, s, cmd)
	case role.Rank > 0:
		return o.follow(ctx, s, role)
	}
	return o.lead(ctx, s, role, func(ctx context.Context) error { return o.sweep(ctx, s, cmd) })
}

// sweep starts or resumes a sweep according to the flags.
func (o *collectivesOptions) sweep(ctx context.Context, s State, cmd *cobra.Command) (err error) {
	if err := checkFormat(o.format, "`zbench collectives --help-all` lists the flags"); err != nil {
		return err
	}
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
	switch {
	case f.Changed("resume") && f.Changed("spec"):
		return usagef("the folder to resume has its own request", "--resume and --spec exclude each other")
	case f.Changed("spec"):
		if err := o.readSpec(s, cmd); err != nil {
			return err
		}
	}
	l, err := o.place(s, cmd)
	if err == nil && o.launch.screen {
		if err = o.screenFirst(ctx, s, cmd, l); err == nil {
			l, err = o.place(s, cmd)
		}
	}
	switch {
	case err != nil:
		return err
	case l.starts() && !o.launch.dry:
		return o.startWorld(ctx, s, l, f.Changed("resume"))
	case f.Changed("resume"):
		return o.runResume(ctx, s, cmd, l)
	case o.launch.dry:
		return o.dryRun(ctx, s, l, nil)
	}
	o.want.World, o.want.Faults = l.want.World, l.want.Faults
	return o.run(ctx, s)
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
	addAdviceFlags(cmd, &o.advice)
	addLibraryFlags(cmd, &o.libraries)
	f := cmd.Flags()
	addLaunchFlags(f, &o.launch)
	f.StringVar(&o.launch.bad, "exclude-bad", "", "leave out the nodes that a screen has failed: the folder of that (zbench screen)")
	f.BoolVar(&o.launch.screen, "screen-first", false, "screen the nodes first, into a folder beside --out, and leave out those that fail")
	addCountersFlag(f, &o.counters)
	addDeadlineFlags(f, &o.deadlines)
	addGateFlags(f, &o.gates)
	f.StringVar(&o.out, "out", "", "folder to create (default a new dated one)")
	formatFlag(f, &o.format)
	f.BoolVar(&o.force, "force", false, "write into a folder that has files; with --resume: resume even if hardware or libraries differ")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no progress on standard error")
	f.BoolVar(&o.progress, "progress", false, "rows on standard error while they are measured, even if it is not a terminal")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "print every column, both placements and a remedy for each warning")
	f.StringVar(&o.resume, "resume", "", "resume the sweep in this folder with its own options")
	f.StringVar(&o.file, "spec", "", "run the request in this file or folder: a results.json, a journal.jsonl or a spec; other flags change it")
}

// run begins a sweep.
func (o *collectivesOptions) run(ctx context.Context, s State) error {
	started := s.Now()
	var err error
	if o.want.Backend, err = o.libraries.choose(s, o.want.Backend); err != nil {
		return err
	}
	prepare := engine.PrepareLaunch
	if o.world == nil {
		prepare = func(want spec.Spec) (*engine.Setup, error) { return engine.Prepare(want, false) }
	}
	u, err := prepare(o.want)
	if err != nil {
		return err
	}
	e, err := o.engine(s)
	if err != nil {
		return err
	}
	dir, err := engine.NewFolder(e.Host, o.out, "collectives", o.force)
	if err != nil {
		return err
	}
	defer dir.Close() //nolint:errcheck // a lock that stays is taken over by the next run
	o.folder = dir.Path
	out, err := e.Run(ctx, u, dir)
	return o.finish(s, dir, started, out, err)
}

// engine is the engine with this machine's driver and terminal.
func (o *collectivesOptions) engine(s State) (*engine.Engine, error) {
	when, err := created(s)
	end, _ := launch.JobEnd(s.Getenv)
	return &engine.Engine{
		Deadline: end, Launched: o.world != nil,
		Host: s.host(o.quiet), Tool: tool(), Created: when, Force: o.force,
		Open: func(ctx context.Context, u *engine.Setup) (engine.Ranks, error) {
			w := openingOf(u)
			w.Deadlines = o.deadlines.deadlines()
			w.Folder, w.Owner = o.folder, s.host(o.quiet).Owner
			w.Counters = countersRoot(o.counters, u.Machine != nil)
			if o.world != nil {
				return o.world.open(ctx, s, o.libraries, &w)
			}
			// The GPUs, and then the init of the communicators, have that deadline themselves.
			return guarded(ctx, w.Deadlines.Init, 2, "opening the GPUs of "+s.Hostname(), func() (*collectivesDriver, error) {
				return openCollectives(ctx, s, o.libraries, &w)
			})
		},
		Check: func(u *engine.Setup, d engine.Ranks, cases []plan.Case, seconds float64) error {
			return o.check(s, u, d, cases, seconds)
		},
		Witness: witnessOf(s), Source: func(rec *record.Record, parts []record.Part) recommend.Source {
			of := sourceWith(rec, parts)
			of.With(o.libraries.given())
			return of
		},
		Watch: func(total, done int) engine.Watcher { return newProgress(s, total, done, o.quiet, o.progress) },
	}, err
}

// finish renders the record of a sweep, prints it and returns its verdict.
func (o *collectivesOptions) finish(s State, dir *engine.Folder, started time.Time, out *engine.Outcome, err error) error {
	if out == nil {
		return err
	}
	if err != nil {
		if !errors.Is(err, engine.ErrGone) {
			// As much as the disk takes; err says what happened.
			_ = shownRecord{Record: out.Record, folder: dir.Path}.keep(dir)
			_ = writeRunOf(dir, s, started, o.checks, o.world.control())
		}
		return err
	}
	judged := o.gates.judge(out.Record)
	r := shownRecord{out.Record, out.Advice, judged, o.gates.requireChecked, dir.Path}
	if err := errors.Join(r.keep(dir), keepGates(dir, judged), writeRunOf(dir, s, started, o.checks, o.world.control())); err != nil {
		return err
	}
	if err := s.show(r.document(s.Stdout.columns()), output{o.format, o.quiet && (out.Advice == nil || out.Advice.IsAssumed()), o.verbose}); err != nil {
		return err
	}
	s.note(o.quiet, "Wrote %s (report.html, results.json, results.csv, knees.json, plots) in %s\n",
		dir.Path, s.Now().Sub(started).Round(10*time.Millisecond))
	return cmp.Or(engine.Verdict(out.Record, dir.Path), judged.Err(o.gates.requireChecked), out.Advice.Refused())
}

// clash describes a flag that differs from the sweep to resume.
func clash(name, kept, given string) string { return fmt.Sprintf("%s %s, now %s", name, kept, given) }
