package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"zbench/bench/bisect"
	"zbench/bench/collective"
	"zbench/bench/compare"
	"zbench/bench/exit"
	"zbench/bench/folder"
	"zbench/bench/jsonfile"
	"zbench/bench/spell"
)

// bisectOptions are the options of bisect.
type bisectOptions struct {
	bisect.Criteria
	// sweep is what every child measures, before it is narrowed.
	sweep          collectivesOptions
	given          []string
	vary           string
	timing, failOn string
	requireChecked bool
	timeout        float64
}

const bisectHelp = "`zbench bisect --help` shows the usage"

func newBisect(s State) *cobra.Command {
	o := bisectOptions{Criteria: bisect.Defaults()}
	cmd := &cobra.Command{
		Use:   "bisect [COLLECTIVE…] --variant NAME=SETTINGS --variant NAME=SETTINGS… [flags]",
		Short: "Find the first slow one of several builds or environments",
		Long: `Measures several builds of the libraries, or several environments, and names the
first one that is slower, with the cases that are. --variant is repeated, in the
order of the builds. Its settings are variables and flags for the child
processes of that variant, separated by spaces, the variables first:

  --variant 7.2='--rccl-lib /opt/rccl-7.2/lib/librccl.so.1'
  --variant ring='NCCL_ALGO=Ring NCCL_PROTO=LL128'
  --variant base=

--vary NCCL_ALGO=Ring,Tree is short for a variant of each value, and ranks them.

Every child is a zbench collectives of its own; the flags of zbench collectives
say what it measures. zbench bisect hbm and the commands of kernels below do the
same for memory bandwidth and for kernels. The children of a round run in random
order, so that drift of the cluster affects all variants alike. The first rounds
measure all cases of the first and of the last variant; later ones only the
cases and the variants that are undecided. With --unordered the variants are
ranked instead, case by case; variants that do not differ share a rank.

A variant whose child fails, or is not done after --child-timeout, is reported
and left out. After an interruption --resume continues with what was measured.

With --fail-on the exit code is 3 if a variant is slower, or could not be
measured; with --require-checked also if a case is undecided.`,
		Example: `  zbench bisect all_reduce -g 8 --variant 7.1='--rccl-lib /opt/7.1/librccl.so.1' --variant 7.2='--rccl-lib /opt/7.2/librccl.so.1'
  zbench bisect hbm --variant 6.4='--rocm-path /opt/rocm-6.4' --variant 7.0='--rocm-path /opt/rocm-7.0'
  zbench bisect all_reduce -g 8 --vary NCCL_ALGO=Ring,Tree
  zbench bisect --resume zbench-bisect-20261122-120000`,
		ValidArgs: collective.Names(),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.sweep.want.Sweep.Collectives = collectiveNames(args)
			return o.run(cmd.Context(), s, cmd)
		},
	}
	addSpecFlags(cmd, &o.sweep.want)
	addLaunchFlags(cmd.Flags(), &o.sweep.launch)
	cmd.Flags().StringVar(&o.timing, "timing", compare.Timings()[0], "kind of time: "+strings.Join(compare.Timings()[:4], ", "))
	addSearchFlags(cmd, &o)
	addBisectKernels(cmd, s)
	return cmd
}

// addSearchFlags are the flags of a search, whatever its children measure.
func addSearchFlags(cmd *cobra.Command, o *bisectOptions) {
	addLibraryFlags(cmd, &o.sweep.libraries)
	f := cmd.Flags()
	f.StringArrayVar(&o.given, "variant", nil, "NAME=SETTINGS: variables and flags of one build or environment; repeated")
	f.StringVar(&o.vary, "vary", "", "NAME=A,B…: a variant for each value of one variable, or of one of a variant's flags, such as NCCL_ALGO=Ring,Tree; they are ranked")
	f.BoolVar(&o.Unordered, "unordered", false, "rank the variants instead of looking for the first slow one")
	f.Var(&percentValue{&o.MinEffect, 0, 1}, "min-effect", "smallest change of a time that counts, such as 2%")
	f.Var(&percentValue{&o.Miss, 0, 0.5}, "miss", "end when a case that is not named is slow with at most this probability; before the search slow and healthy are equally likely")
	f.IntVar(&o.MaxRounds, "max-rounds", o.MaxRounds, "rounds after which what is undecided stays so")
	f.Float64Var(&o.timeout, "child-timeout", 0, "seconds after which a child is ended (default 600, then 60 or five times the longest child, whichever is more)")
	f.StringVar(&o.failOn, "fail-on", "", "exit with 3 if a variant is slower, by at least so much, or could not be measured: slower, slower:5%")
	f.BoolVar(&o.requireChecked, "require-checked", false, "exit with 3 if a case is undecided or was not checked, too")
	f.StringVar(&o.sweep.out, "out", "", "folder to create, with report.html, bisect.json, bisect.csv, junit.xml, plots and the folders of the children (default a new dated one)")
	f.StringVar(&o.sweep.resume, "resume", "", "continue the search in this folder with its own options")
	formatFlag(f, &o.sweep.format)
	f.BoolVar(&o.sweep.force, "force", false, "write into a folder that has files")
	f.BoolVarP(&o.sweep.quiet, "quiet", "q", false, "no progress on standard error")
	f.BoolVarP(&o.sweep.verbose, "verbose", "v", false, "list the cases that are the same, too")
}

// run searches, prints and returns the verdict of the gate.
func (o *bisectOptions) run(ctx context.Context, s State, cmd *cobra.Command) error {
	started := s.Now()
	failOn, err := o.check(s, cmd)
	if err != nil {
		return err
	}
	b, err := o.begin(ctx, s, cmd)
	if err != nil {
		return err
	}
	defer b.close()
	ended := bisect.Run(ctx, b.search, b.measure)
	d := b.document(ended == nil)
	d.Require(failOn, o.requireChecked)
	to := o.sweep.output
	to.quiet = false // it is for progress
	return s.deliver(to, result{
		shown: d.Shown(), dir: b.dir, started: started, verdict: cmp.Or(b.verdict(ended, d), d.Gated.Err(o.requireChecked)),
		after: func(dir *folder.Folder) {
			s.note(o.sweep.quiet, "Wrote %s (report.html, bisect.json, bisect.csv, junit.xml)\n", dir.Path)
		},
	})
}

// verdict is the error of a search that has not decided anything; ended is what ended it early.
func (b *bisecting) verdict(ended error, d *bisect.Document) error {
	again := b.again() + " continues"
	switch {
	case ended != nil && errors.Is(ended, context.Canceled):
		return exit.With(exit.Interrupted, fmt.Errorf("interrupted: %w; what was measured is saved", ended), again)
	case ended != nil:
		return cmp.Or(hinted(ended), exit.With(exit.Run, ended, again))
	case b.search.Working() < 2:
		return exit.With(exit.Run, errors.New("fewer than two variants could be measured"), "the lines above say why the others were left out")
	case d.Verdict == bisect.NotChecked:
		return exit.With(exit.Run, errors.New("no case could be measured with every variant"), "the records of the children have the reasons")
	}
	return nil
}

// hinted is an error that has an exit code already; nil for others.
func hinted(err error) error {
	if e, ok := errors.AsType[*exit.Error](err); ok {
		return e
	}
	return nil
}

// check refuses what cannot be, before anything is started.
func (o *bisectOptions) check(s State, cmd *cobra.Command) (failOn *compare.FailOn, err error) {
	if err := checkFormat(o.sweep.format, bisectHelp); err != nil {
		return nil, err
	}
	if kinds := compare.Timings()[:4]; o.sweep.want.Kernels == nil && !slices.Contains(kinds, o.timing) {
		return nil, usage(&spell.Unknown{Kind: "timing", Given: o.timing, Valid: kinds}, bisectHelp)
	}
	if o.vary != "" && !cmd.Flags().Changed("resume") {
		more, err := varied(o.vary)
		if err != nil {
			return nil, err
		}
		o.given = slices.Concat(o.given, more)
		o.Unordered = o.Unordered || !cmd.Flags().Changed("unordered") // values have no order
	}
	if o.failOn != "" {
		if failOn, err = compare.ParseFailOn(o.failOn); err != nil {
			return nil, usage(fmt.Errorf("--fail-on: %w", err), bisectHelp)
		}
		if o.Unordered {
			return nil, usagef("leave one of them out", "--fail-on and --unordered (which --vary implies) exclude each other: a ranking has no side that got slower")
		}
	}
	switch {
	case o.MaxRounds < 1:
		return nil, usagef(bisectHelp, "--max-rounds %d: it must be at least 1", o.MaxRounds)
	case o.timeout < 0 || o.timeout > 1e6:
		return nil, usagef("give seconds, such as 600", "--child-timeout %g: it must be from 0 to 1000000", o.timeout)
	case o.sweep.launch.dry:
		return nil, usagef("`zbench collectives --dry-run` estimates one child", "bisect has no --dry-run")
	case cmd.Flags().Changed("resume"):
		return failOn, o.onlyResumes(cmd)
	}
	if err := sizesAgree(cmd.Flags()); err != nil {
		return nil, err
	}
	_, err = parseVariants(s, o.given, o.sweep.want.Benchmark)
	return failOn, err
}

// begin opens the folder, new or continued.
func (o *bisectOptions) begin(ctx context.Context, s State, cmd *cobra.Command) (*bisecting, error) {
	switch {
	case cmd.Flags().Changed("resume"):
		return o.resumed(s)
	case o.sweep.want.Kernels != nil:
		return o.beginKernels(ctx, s, cmd)
	}
	want := o.sweep.want.Clone()
	l, err := o.sweep.launch.place(s, want, cmd.Flags().Changed("nodes"))
	if err != nil {
		return nil, err
	}
	if l.role.Several() && l.method == "env" {
		return nil, usagef("start `zbench bisect` once, in the allocation; it starts the children itself", "this process is one of several of a launcher (%s)", l.role.Text())
	}
	u, _, err := o.sweep.dryPrepare(s, l, false)
	if err != nil {
		return nil, err
	}
	variants, err := parseVariants(s, o.given, want.Benchmark)
	if err != nil {
		return nil, err
	}
	want.World = u.Spec.World // the cases are of it
	h := bisect.Header{
		Schema: bisect.JournalSchema, Options: o.Criteria, Spec: want, Common: jsonfile.Filled(commonArgs(cmd)), Timing: o.timing,
		GPUs: u.Spec.World.Size(),
	}
	h.Variants = givenOf(variants)
	for _, c := range u.Cases() {
		if c.Skip == "" {
			h.Cases = append(h.Cases, bisect.Planned{Key: c.Key, Collective: c.Collective.Name, Bytes: c.Requested})
		}
	}
	dir, err := folder.New(s.host(o.sweep.quiet), o.sweep.out, "bisect", o.sweep.force)
	if err != nil {
		return nil, err
	}
	return o.start(s, dir, h, nil)
}
