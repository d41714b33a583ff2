package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zbench/bench/document"
	"zbench/bench/engine"
	"zbench/bench/gate"
	"zbench/bench/record"
	"zbench/bench/results"
	"zbench/bench/spec"
	"zbench/hbm"
	"zbench/internal/native"
)

// kernelOptions are the options of a command of kernels.
type kernelOptions struct {
	// want is the request that the flags make.
	want      spec.Spec
	libraries libraryOptions
	gates     gateFlagSet

	out, format  string
	force, quiet bool
	// resume is the folder of a run to resume, file a request to run.
	resume, file string
}

// kernelBench is a family with the flags of its command.
type kernelBench struct {
	hbm.Family
	flags []specFlag
}

// flagsHelp says where the flags of a benchmark are described.
func flagsHelp(benchmark string) string {
	return "`zbench " + engine.Command(benchmark) + " " + allFlags + "` lists the flags"
}

// command is the command of the benchmark.
func (b kernelBench) command(s State) *cobra.Command {
	cmd := &cobra.Command{Use: b.Name, Short: b.Short, Long: b.Long, Example: b.Example, Args: noArgs}
	b.add(cmd, s)
	return cmd
}

// add puts the flags on a command, and makes it run the benchmark.
func (b kernelBench) add(cmd *cobra.Command, s State) {
	var o kernelOptions
	o.want = spec.Spec{Schema: spec.Schema, Benchmark: b.Name, Kernels: &spec.Kernels{}}
	addFlags(cmd, &o.want, b.flags)
	addLibraryFlags(cmd, &o.libraries)
	f := cmd.Flags()
	f.StringVar(&o.out, "out", "", "folder to create (default a new dated one)")
	formatFlag(f, &o.format)
	addGateFlags(f, &o.gates)
	f.BoolVar(&o.force, "force", false, "write into a folder that has files")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no progress on standard error")
	f.StringVar(&o.resume, "resume", "", "resume the run in this folder with its own options")
	f.StringVar(&o.file, "spec", "", "run the request in this file or folder: a results.json, a journal.jsonl or a spec; other flags change it")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return b.run(cmd, s, o) }
}

// run measures into a new folder, or resumes the run of an existing one.
func (b kernelBench) run(cmd *cobra.Command, s State, o kernelOptions) (err error) {
	started := s.Now()
	if err := checkFormat(o.format, flagsHelp(b.Name)); err != nil {
		return err
	}
	if err := o.gates.read(); err != nil {
		return err
	}
	resumed := cmd.Flags().Changed("resume")
	var dir *engine.Folder
	var old *record.Journal
	switch {
	case resumed && cmd.Flags().Changed("spec"):
		return usagef("the folder to resume has its own request", "--resume and --spec exclude each other")
	case resumed:
		dir, old, err = b.resumed(cmd, s, &o)
	default:
		err = b.begin(cmd, s, &o)
	}
	if dir != nil {
		defer dir.Close() //nolint:errcheck // a lock that stays is taken over by the next run
	}
	if err != nil {
		return err
	}
	e, err := b.engine(s, &o)
	if err != nil {
		return err
	}
	if dir == nil {
		if dir, err = engine.NewFolder(e.Host, o.out, b.Name, o.force); err != nil {
			return err
		}
		defer dir.Close() //nolint:errcheck // a lock that stays is taken over by the next run
	}
	rec, err := e.Run(cmd.Context(), o.want, dir, old)
	if err != nil {
		return err
	}
	return o.finish(s, dir, rec, started)
}

// begin checks the request of a new run, that of --spec with the flags beside it, and
// chooses the libraries.
func (b kernelBench) begin(cmd *cobra.Command, s State, o *kernelOptions) error {
	if cmd.Flags().Changed("spec") {
		want, err := readSpec(s, o.file)
		if err != nil {
			return err
		}
		if want.Kernels == nil || want.Benchmark != b.Name {
			return usagef("zbench "+engine.Command(want.Benchmark)+" --spec runs it", "%s asks for %s", o.file, want.Benchmark)
		}
		if o.want, err = given(cmd, want); err != nil {
			return err
		}
	}
	if b.Fill != nil && o.file == "" {
		s.note(o.quiet, "%s", b.Fill(o.want.Kernels))
	}
	if err := b.checked(&o.want, o.file); err != nil {
		return err
	}
	var err error
	o.want.Backend, err = o.libraries.choose(s, o.want.Backend)
	return err
}

// checked refuses an invalid request, which is of a file where one is named.
func (b kernelBench) checked(want *spec.Spec, file string) error {
	if err := engine.CheckKernels(want); err != nil {
		return err
	}
	err := b.Check(want.Kernels)
	switch {
	case err == nil:
		return nil
	case file != "":
		err = fmt.Errorf("%s: %w", file, err)
	}
	return usage(err, flagsHelp(b.Name))
}

// resumed reads the run that o.resume holds and takes its request over. What was
// given anew and differs is an error that names it.
func (b kernelBench) resumed(cmd *cobra.Command, s State, o *kernelOptions) (*engine.Folder, *record.Journal, error) {
	dir, old, err := resumedFolder(s, o.resume, b.Name, o.quiet)
	if err != nil {
		return dir, nil, err
	}
	kept := *old.Header.Record.Spec
	want, list, err := unchanged(cmd, kept, false)
	if err == nil {
		err = clashes(o.resume, list)
	}
	o.want = want
	return dir, old, err
}

// engine is the engine with this machine's devices and terminal.
func (b kernelBench) engine(s State, o *kernelOptions) (*engine.KernelEngine, error) {
	when, err := created(s)
	return &engine.KernelEngine{
		Host: s.host(o.quiet), Tool: tool(), Created: when,
		Open:  func(ctx context.Context, _ spec.Spec) (*engine.Kernels, error) { return b.opened(ctx, s, o) },
		Watch: func(total, done int) engine.KernelWatcher { return newProgress(s, total, done, o.quiet, true) },
	}, err
}

// opened is the open devices with the planned rows.
func (b kernelBench) opened(ctx context.Context, s State, o *kernelOptions) (*engine.Kernels, error) {
	to := hbm.Opening{
		Spec: &o.want, Native: native.Choice{Backend: o.want.Backend, Getenv: s.Getenv}, Host: hostFacts(s), Rule: engine.KernelRule(o.want.Kernels),
		Say: func(text string) { s.note(o.quiet, "%s\n", text) }, Help: flagsHelp(b.Name),
	}
	cache, err := o.libraries.fill(ctx, s, &to.Native)
	if err != nil {
		return nil, err
	}
	p, err := b.Open(to)
	if o.want.Backend != "loopback" {
		o.libraries.report(s, cache)
	}
	if err != nil {
		return nil, err
	}
	p.Spec, p.Facts.KernelDriver = o.want, driverVersion(s, o.want.Backend)
	return p, nil
}

// finish renders the record of a run, prints it and returns its verdict.
func (o *kernelOptions) finish(s State, dir *engine.Folder, rec *record.Record, started time.Time) error {
	if s.Stderr.IsTTY && !o.quiet {
		_, _ = s.Stderr.unescaped().Write([]byte(clearLine)) // progress that cannot be shown stops nothing
	}
	judged := o.gates.judge(rec)
	shown := shownKernels(rec, judged, o.gates.requireChecked)
	if err := errors.Join(writeFiles(dir, artifacts(shown, "results")), keepGates(dir, judged), writeRun(dir, s, started)); err != nil {
		return err
	}
	if err := s.show(shown, output{format: o.format, quiet: o.quiet}); err != nil {
		return err
	}
	s.note(o.quiet, "Wrote %s (report.html, results.json, results.csv)\n", dir.Path)
	return cmp.Or(engine.KernelVerdict(rec, dir.Path), judged.Err(o.gates.requireChecked))
}

// shownKernels is a record of kernels for its readers.
func shownKernels(rec *record.Record, gates *gate.Report, strict bool) *document.Document {
	d := results.Kernels(rec, reproduce(rec))
	gates.AddTo(d, strict)
	return d
}

// given is a request with the flags of the command line over it.
func given(cmd *cobra.Command, file *spec.Spec) (spec.Spec, error) {
	want := file.Clone()
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if v, ours := f.Value.(*specValue); ours {
			err = cmp.Or(err, v.row.set(&want, v.texts))
		}
	})
	return want, err
}

// flagsOf are the flags of a benchmark's request.
func flagsOf(benchmark string) []specFlag {
	if b := benchOf(benchmark); b != nil {
		return b.flags
	}
	return specFlags
}
