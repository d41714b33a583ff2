package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zbench/bench/answers/bisect"
	"zbench/bench/answers/compare"
	"zbench/bench/base/exit"
	"zbench/bench/base/folder"
	"zbench/bench/base/jsonfile"
	"zbench/bench/base/pattern"
	"zbench/bench/base/slice"
	"zbench/bench/base/spell"
	"zbench/bench/hardware/collective"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
)

// bisectOptions are the options of bisect.
type bisectOptions struct {
	bisect.Criteria
	// sweep is the whole measurement. A child measures only some of its cases.
	sweep          worldRun
	given          []string
	vary           string
	timing, failOn string
	allowUnchecked bool
	timeout        float64
	// variants are the parsed variants. In a resumed search they come from its journal.
	variants []variant
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
measured, and 6 if only a case is undecided; --allow-unchecked lets that pass.`,
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

// addSearchFlags adds the flags of a search that do not depend on what its children measure.
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
	addUnchecked(f, &o.allowUnchecked, "a case that is undecided or was not checked")
	o.sweep.addFlags(f, "folder to create, with report.html, bisect.json, bisect.csv, junit.xml, plots and the folders of the children (default a new dated one)")
	f.StringVar(&o.sweep.resume, "resume", "", "continue the search in this folder with its own options")
	o.sweep.addForce(f)
	o.sweep.addVerbose(f, "list the cases that are the same, too")
}

// run makes the search, prints the result, and returns the error of the gate.
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
	d := b.search.Document(b.header, b.entries)
	d.Complete = d.Complete && ended == nil
	d.Require(failOn, o.allowUnchecked)
	if d.Gated != nil {
		d.Gated.Next = fmt.Sprintf("%s --max-rounds %d measures on", b.again(), 2*b.search.MaxRounds)
	}
	to := o.sweep.output
	to.quiet = false // standard error is for progress
	return s.deliver(to, result{
		shown: d.Shown(), dir: b.dir, started: started, verdict: exit.Worst(b.verdict(ended, d), d.Gated.Err(o.allowUnchecked)),
		after: func(dir *folder.Folder) {
			s.note(o.sweep.quiet, "Wrote %s (report.html, bisect.json, bisect.csv, junit.xml)\n", dir.Path)
		},
	})
}

// verdict returns an error for a search without a decision. ended is the reason why the search
// ended early.
func (b *bisecting) verdict(ended error, d *bisect.Document) error {
	again := b.again() + " continues"
	switch {
	case ended != nil && errors.Is(ended, context.Canceled):
		return exit.With(exit.Interrupted, fmt.Errorf("interrupted: %w; what was measured is saved", ended), again)
	case ended != nil:
		if e, ok := errors.AsType[*exit.Error](ended); ok {
			return e
		}
		return exit.With(exit.Run, ended, again)
	case b.search.Working() < 2 && slices.ContainsFunc(b.entries, func(e bisect.Entry) bool { return bisect.OfUnmodelled(e.Reason) }):
		return exit.With(exit.Want, errors.New("fewer than two variants could be compared"), "measure with GPUs; on the loopback variants may differ by --fault, --fabric, and builds that ZBENCH_LOOPBACK names")
	case b.search.Working() < 2:
		return exit.With(exit.Run, errors.New("fewer than two variants could be measured"), "the lines above say why the others were left out")
	case d.Verdict == bisect.NotChecked:
		return exit.With(exit.Run, errors.New("no case could be measured with every variant"), "the records of the children have the reasons")
	}
	return nil
}

// check refuses flags that contradict each other, before anything is started.
func (o *bisectOptions) check(s State, cmd *cobra.Command) (failOn *compare.FailOn, err error) {
	if kinds := compare.Timings()[:4]; o.sweep.want.Kernels == nil && !slices.Contains(kinds, o.timing) {
		return nil, usage(&spell.Unknown{Kind: "timing", Given: o.timing, Valid: kinds}, bisectHelp)
	}
	if o.vary != "" && !cmd.Flags().Changed("resume") {
		more, err := varied(o.vary)
		if err != nil {
			return nil, err
		}
		o.given = slices.Concat(o.given, more)
		o.Unordered = o.Unordered || !cmd.Flags().Changed("unordered") // values of a variable have no order
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
	o.variants, err = parseVariants(s, o.given, o.sweep.want.Benchmark)
	return failOn, err
}

// begin opens the folder of a new or resumed search.
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
	want.World = u.Spec.World // the cases depend on the world
	h := o.header(cmd, want)
	h.GPUs = want.World.Size()
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

// variant is a build or an environment of a search.
type variant struct {
	bisect.Given
	// environ has the environment variables of the variant. args has its flags.
	environ, args []string
}

var (
	variantName     = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._+-]*$`)
	variantVariable = pattern.New(`^[A-Za-z_][A-Za-z0-9_]*=`)
)

// variantFlags are the flags that a variant may have, besides those of libraries. They change the
// environment of a child, not its measurement.
var variantFlags = []string{"backend", "fabric", "fault", "cache", "launch", "slurm-args", "hostfile"}

// parseVariants parses the values of --variant.
func parseVariants(s State, given []string, benchmark string) ([]variant, error) {
	const hint = "--variant NAME='VARIABLE=value … --flag value …', at least twice"
	if len(given) < 2 {
		return nil, usagef(hint, "bisect takes at least two variants, got %d", len(given))
	}
	var out []variant
	for _, text := range given {
		name, settings, ok := strings.Cut(text, "=")
		switch {
		case !ok || !variantName.MatchString(name):
			return nil, usagef(hint, "--variant %q: it must begin with a name of letters, digits, dots, dashes and =", text)
		case slices.ContainsFunc(out, func(v variant) bool { return v.Name == name }):
			return nil, usagef(hint, "two variants have the name %s", name)
		}
		v, err := parseVariant(s, name, settings, benchmark)
		if err != nil {
			return nil, usage(fmt.Errorf("--variant %s: %w", name, err), hint)
		}
		out = append(out, v)
	}
	return out, nil
}

// varied turns a list of values for one variable or flag into variants in --variant's form. Each
// variant is named after its value.
func varied(text string) ([]string, error) {
	const hint = "--vary VARIABLE=VALUE,VALUE…, or --vary FLAG=VALUE,VALUE…; where values have commas or other characters, give each with --variant"
	knob, list, ok := strings.Cut(strings.TrimPrefix(text, "--"), "=")
	isFlag := knob == strings.ToLower(knob) // parseVariant refuses flags that a variant cannot have
	if !ok || !isFlag && !variantVariable.MatchString(knob+"=") {
		return nil, usagef(hint, "--vary %q: %q is neither a variable nor a flag", text, knob)
	}
	values := strings.Split(list, ",")
	if len(values) < 2 {
		return nil, usagef(hint, "--vary %s: it has one value, and there is nothing to compare", text)
	}
	var out []string
	for _, v := range values {
		if !variantName.MatchString(v) {
			return nil, usagef(hint, "--vary %s: the value %q cannot name a variant: letters, digits, dots, dashes, + and _", text, v)
		}
		if isFlag {
			out = append(out, v+"=--"+knob+"="+v)
			continue
		}
		out = append(out, v+"="+knob+"="+v)
	}
	return out, nil
}

// parseVariant parses the settings of one variant: variables, then flags.
func parseVariant(s State, name, settings, benchmark string) (variant, error) {
	v := variant{Given: bisect.Given{Name: name, Settings: strings.TrimSpace(settings)}}
	words := strings.Fields(settings)
	for len(words) > 0 && !strings.HasPrefix(words[0], "-") {
		if !variantVariable.MatchString(words[0]) {
			return v, fmt.Errorf("%q is neither VARIABLE=value nor a flag", words[0])
		}
		v.environ, words = append(v.environ, words[0]), words[1:]
	}
	v.args = words
	probe := childCommand(s, benchmark)
	probe.SetOut(io.Discard)
	if err := probe.ParseFlags(words); err != nil {
		return v, flagError(err)
	}
	if rest := probe.Flags().Args(); len(rest) > 0 {
		return v, fmt.Errorf("%q follows the flags: variables stand before them", rest[0])
	}
	var refused error
	probe.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains(variantFlags, f.Name) && !isLibraryFlag(f.Name) {
			refused = fmt.Errorf("--%s is for all variants: give it outside of --variant. A variant may have --%s and the flags of libraries", f.Name, strings.Join(variantFlags, ", --"))
		}
	})
	return v, refused
}

// childCommand returns the command of a child, for parsing its flags.
func childCommand(s State, benchmark string) *cobra.Command {
	cmd := &cobra.Command{Use: benchmark}
	if b := benchOf(benchmark); b != nil {
		b.add(cmd, s)
	} else {
		addCollectivesFlags(cmd, &sweepOptions{})
	}
	return cmd
}

// kernelTiming is the value of the field timing in a search over kernels.
const kernelTiming = "kernel"

// addBisectKernels adds a search for hbm and for every kernel benchmark.
func addBisectKernels(to *cobra.Command, s State) {
	for _, b := range kernelBenches {
		o := &bisectOptions{Criteria: bisect.Defaults(), timing: kernelTiming}
		o.sweep.want = spec.Spec{Schema: spec.Schema, Benchmark: b.Name, Kernels: &spec.Kernels{}}
		cmd := &cobra.Command{
			Use:   b.Name + " --variant NAME=SETTINGS --variant NAME=SETTINGS… [flags]",
			Short: "The same for zbench " + spec.Command(b.Name),
			Long: "Every child is a zbench " + spec.Command(b.Name) + " of its own; its flags say what\n" +
				"it measures. The first child only finds out the rows. zbench bisect --help\nexplains variants and rounds.",
			Example: "  zbench bisect " + b.Name + " --variant 6.4='--rocm-path /opt/rocm-6.4' --variant 7.0='--rocm-path /opt/rocm-7.0'",
			Args:    noArgs,
			RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), s, cmd) },
		}
		addFlags(cmd, &o.sweep.want, b.flags)
		addSearchFlags(cmd, o)
		to.AddCommand(cmd)
	}
}

// header returns the first line for the journal of a new search, without the cases.
func (o *bisectOptions) header(cmd *cobra.Command, want spec.Spec) bisect.Header {
	return bisect.Header{
		Schema: bisect.JournalSchema, Options: o.Criteria, Spec: want, Common: jsonfile.Filled(commonArgs(cmd)), Timing: o.timing,
		Variants: slice.Map(o.variants, func(v variant) bisect.Given { return v.Given }),
	}
}

// beginKernels opens a new search over kernels. The rows are only known once the devices are open,
// so beginKernels runs a child to find them.
func (o *bisectOptions) beginKernels(ctx context.Context, s State, cmd *cobra.Command) (*bisecting, error) {
	want := o.sweep.want.Clone()
	if want.Kernels.Tune {
		return nil, usagef("leave --tune out", "bisect has no --tune: each child would choose configurations of its own")
	}
	if err := benchOf(want.Benchmark).checked(&want, ""); err != nil {
		return nil, err
	}
	dir, err := folder.New(s.host(o.sweep.quiet), o.sweep.out, "bisect", o.sweep.force)
	if err != nil {
		return nil, err
	}
	h := o.header(cmd, want)
	if err := o.scout(ctx, s, dir, &h); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return o.start(s, dir, h, nil)
}

// scout runs one child with the whole request and gets the rows from its record. It uses the first
// variant that works. The times of this child do not count.
func (o *bisectOptions) scout(ctx context.Context, s State, dir *folder.Folder, h *bisect.Header) error {
	b := &bisecting{s: s, dir: dir, header: *h, quiet: o.sweep.quiet, timeout: duration(o.timeout), timer: newTimer}
	var why error
	for i, v := range o.variants {
		s.note(b.quiet, "%s: which rows there are\n", v.Name)
		folder := filepath.Join(dir.Path, "children", fmt.Sprintf("%03d-%s", i+1, v.Name))
		seconds := 0.0
		failed, tail, err := b.start(ctx, v, folder, nil, &seconds)
		if err != nil {
			return err
		}
		h.Scouts = append(h.Scouts, seconds)
		if failed != "" {
			why = errors.Join(why, fmt.Errorf("%s: %s: %q", v.Name, failed, tail.lines(evidenceLines)))
			continue
		}
		rec, err := readAny(s, folder)
		if err == nil {
			err = plannedRows(rec, h)
		}
		if err == nil {
			return nil
		}
		why = errors.Join(why, fmt.Errorf("%s: %w", v.Name, err))
	}
	return exit.With(exit.Run, fmt.Errorf("no variant could be measured: %w", why), "zbench "+spec.Command(h.Spec.Benchmark)+" with the settings of one variant shows more")
}

// plannedRows gets the cases from a record. Their sizes depend on the devices.
func plannedRows(rec *record.Record, h *bisect.Header) error {
	for _, r := range compare.Readings(rec, h.Timing) {
		if r.Seconds > 0 {
			h.Cases = append(h.Cases, bisect.Planned{Key: r.Key, Bytes: r.Bytes})
		}
	}
	if len(h.Cases) == 0 {
		return errors.New("no row has a time: this device checks kernels and times none")
	}
	if rec.Spec != nil && rec.Spec.Kernels != nil {
		h.Spec.Kernels = rec.Spec.Clone().Kernels
	}
	h.GPUs = max(rec.World.Ranks, 1)
	return nil
}
