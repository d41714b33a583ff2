package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zbench/bench/base/exit"
	"zbench/bench/base/folder"
	"zbench/bench/engine"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
)

// runOptions are the options of a command that measures a request into a folder.
type runOptions struct {
	output
	// want is the request that the flags describe.
	want      spec.Spec
	libraries libraryOptions
	// resume is the folder of a run to resume. file has a request to run.
	resume, file string
	// progress prints each row as a line if standard error is not a terminal.
	progress bool
	// live shows the progress of a run of kernels; nil before the first row.
	live *progress
	// world has the other processes of the run, if this process leads several.
	world *world

	// folder is the folder of the results. checks are the checks before the run.
	folder string
	checks []record.Preflight
}

// addRunFlags adds flags that say what is run and where the results go.
func addRunFlags(cmd *cobra.Command, o *runOptions) {
	addLibraryFlags(cmd, &o.libraries)
	f := cmd.Flags()
	o.addFlags(f, "folder to create (default a new dated one)")
	addGateFlags(f, &o.gates)
	o.addForce(f)
	o.addVerbose(f, allColumns)
	f.BoolVar(&o.progress, "progress", false, "a line on standard error for each row where that is not a terminal, not only every ten seconds")
	f.StringVar(&o.resume, "resume", "", "resume the run in this folder with its own options")
	f.StringVar(&o.file, "spec", "", "run the request in this file or folder: a results.json, a journal.jsonl or a spec; other flags change it")
}

// `kept` returns the request of the folder to resume, or the request of the flags if no folder is
// resumed.
func (o *runOptions) kept(s State) spec.Spec {
	if o.resume != "" {
		if j, err := engine.ReadFolder(s.FS, o.resume); err == nil && j.Header.Record.Spec != nil && j.Header.Record.Spec.Benchmark == o.want.Benchmark {
			return *j.Header.Record.Spec // otherwise resuming reports the problem of the folder
		}
	}
	return o.want
}

// engine returns an engine that uses the file system and the clock of this machine.
func (o *runOptions) engine(s State) (*engine.Engine, error) {
	when, err := created(s)
	var environ []string
	if s.Environ != nil {
		environ = s.Environ()
	}
	return &engine.Engine{Host: s.host(o.quiet), Environment: record.Environment(environ), Tool: tool(), Created: when}, err
}

// measure runs the request in a new folder, or resumes the run in a folder. When it resumes, joined
// merges the recorded request with the request of the flags, which may change a part of it.
func (o *runOptions) measure(ctx context.Context, s State, e *engine.Engine, joined func(kept spec.Spec) (spec.Spec, error)) (err error) {
	started := s.Now()
	var dir *folder.Folder
	var old *record.Journal
	var u *engine.Setup
	if joined != nil {
		if dir, old, err = engine.Continue(e.Host, o.resume, o.want.Benchmark); err == nil {
			o.want, err = joined(*old.Header.Record.Spec)
		}
	} else if o.want.Backend, err = o.libraries.choose(s, o.want.Backend); err == nil {
		if u, err = e.Prepare(o.want); err == nil {
			dir, err = folder.New(e.Host, o.out, o.want.Benchmark, o.force)
		}
	}
	defer dir.Close() //nolint:errcheck // the next run replaces a lock that remains
	if err != nil {
		return err
	}
	o.folder = dir.Path
	var out *engine.Outcome
	if joined != nil {
		out, err = e.Resume(ctx, o.want, old, dir)
	} else {
		out, err = e.Run(ctx, u, dir)
	}
	if out == nil {
		return err
	}
	return o.finish(s, dir, started, out, err)
}

// finish delivers the record of a run. failed is the error that ended the run early.
func (o *runOptions) finish(s State, dir *folder.Folder, started time.Time, out *engine.Outcome, failed error) error {
	of := shownRecord{Record: out.Record, advice: out.Advice, folder: dir.Path}
	if failed != nil {
		if !errors.Is(failed, folder.ErrGone) {
			// If the disk is full, this writes as much as fits; failed has the reason.
			_ = result{files: of.files(), dir: dir, started: started, checks: o.checks, control: o.world.control()}.keep(s)
		}
		return failed
	}
	if out.Record.OfKernels() && !o.quiet {
		s.rewrite("")
	}
	r := of.result(s, o.output, dir, true)
	r.started, r.checks, r.control = started, o.checks, o.world.control()
	r.after = func(dir *folder.Folder) {
		files, took := "report.html, results.json, results.csv", ""
		if !out.Record.OfKernels() {
			files, took = files+", knees.json, plots", " in "+s.Now().Sub(started).Round(10*time.Millisecond).String()
		}
		s.note(o.quiet, "Wrote %s (%s)%s\n", dir.Path, files, took)
	}
	r.verdict = exit.Worst(r.verdict, out.Advice.Refused())
	to := o.output
	to.quiet = to.quiet && (out.Advice == nil || out.Advice.IsAssumed())
	return s.deliver(to, r)
}

// `free` has the flags that may change when a run is resumed, besides those of libraries and of the
// model.
var free = append([]string{"resume", "force", "quiet", "format", "verbose", "progress", spec.FixedSizes, "attempts", "for", "risk"}, slices.Concat(gateFlags, deadlineFlags)...)

// clash describes a flag whose value differs from the run that is resumed.
func clash(name, kept, given string) string { return fmt.Sprintf("%s %s, now %s", name, kept, given) }

// clashes returns an error that lists the flags whose values differ from the run in dir. It returns
// nil if there are none.
func clashes(dir string, list []string) error {
	if len(list) == 0 {
		return nil
	}
	return usagef("leave them out: the run resumes with its own options; or start another run with --out",
		"the run in %s was started with %s", dir, strings.Join(list, "; "))
}

// unchanged returns the resumed request with those flags that may change. list names all other
// flags whose values differ. If facts is true, flags that describe the measured machine may change,
// too.
func unchanged(cmd *cobra.Command, kept spec.Spec, facts bool) (want spec.Spec, list []string, failed error) {
	want = kept.Clone()
	cmd.Flags().Visit(func(f *pflag.Flag) {
		v, ours := f.Value.(*flagValue[spec.Spec])
		switch {
		case !ours:
			if !slices.Contains(free, f.Name) && !slices.Contains(launchFlags, f.Name) && !isLibraryFlag(f.Name) && !isAdviceFlag(f.Name) {
				list = append(list, clash("--"+f.Name, "none", f.Value.String()))
			}
			return
		case slices.Contains(free, f.Name), v.row.Fact && facts:
			failed = cmp.Or(failed, v.row.Set(&want, v.texts))
			return
		}
		changed := want.Clone()
		failed = cmp.Or(failed, v.row.Set(&changed, v.texts))
		if !reflect.DeepEqual(changed, want) {
			list = append(list, clash("--"+f.Name, v.row.Text(&kept), v.String()))
		}
	})
	return want, list, failed
}

// given returns the request with the flags of the command line applied to it.
func given(cmd *cobra.Command, file *spec.Spec) (spec.Spec, error) {
	want := file.Clone()
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if v, ours := f.Value.(*flagValue[spec.Spec]); ours {
			err = cmp.Or(err, v.row.Set(&want, v.texts))
		}
	})
	return want, err
}

// ask applies the request of --spec, and then all other flags.
func (o *runOptions) ask(s State, cmd *cobra.Command) error {
	f := cmd.Flags()
	switch {
	case !f.Changed("spec"):
		return nil
	case f.Changed("resume"):
		return usagef("the folder to resume has its own request", "--resume and --spec exclude each other")
	}
	file, err := readSpec(s, o.file)
	if err != nil {
		return err
	}
	if file.Benchmark != o.want.Benchmark {
		what := file.Benchmark
		if o.want.Sweep != nil {
			what += ", not for collectives"
		}
		return usagef("zbench "+spec.Command(file.Benchmark)+" --spec runs it", "%s asks for %s", o.file, what)
	}
	o.want, err = given(cmd, file)
	return err
}

// readSpec reads the request in a file or in the record of a folder.
func readSpec(s State, path string) (*spec.Spec, error) {
	if info, err := s.FS.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, engine.ResultsFile)
	}
	text, err := s.FS.ReadFile(path)
	if err != nil {
		return nil, missingFile(err, path, "give a results.json, a journal.jsonl, a spec, or a folder of zbench")
	}
	noteEdited(s, path, text)
	file, err := spec.Read(text)
	if err != nil {
		return nil, usage(fmt.Errorf("%s: %w", path, err), "give a results.json, a journal.jsonl, or a spec")
	}
	return file, nil
}
