package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zbench/bench/engine"
	"zbench/bench/record"
	"zbench/bench/spec"
	"zbench/internal/launch"
)

// free are the flags that may change when a sweep is resumed, besides those of libraries
// and of the model.
var free = append([]string{"resume", "force", "quiet", "format", "verbose", "progress", fixedSizes}, slices.Concat(gateFlags, deadlineFlags)...)

// runResume resumes the sweep in a folder. cmd has the flags given with --resume.
func (o *collectivesOptions) runResume(ctx context.Context, s State, cmd *cobra.Command, l launching) error {
	if o.launch.dry {
		return o.dryResume(ctx, s, cmd, l)
	}
	started := s.Now()
	dir, old, err := resumedFolder(s, o.resume, spec.Collectives, o.quiet)
	if dir != nil {
		defer dir.Close() //nolint:errcheck // a lock that stays is taken over by the next run
	}
	if err != nil {
		return err
	}
	e, err := o.engine(s)
	if err != nil {
		return err
	}
	want, err := o.joined(cmd, *old.Header.Record.Spec)
	if err != nil {
		return err
	}
	o.folder = dir.Path
	out, err := e.Resume(ctx, want, old, dir)
	return o.finish(s, dir, started, out, err)
}

// dryResume prints what is left of the sweep that a folder holds, without its lock.
func (o *collectivesOptions) dryResume(ctx context.Context, s State, cmd *cobra.Command, l launching) error {
	if o.resume == "" {
		return usagef("give the folder of the run to resume", "--resume is empty")
	}
	old, err := engine.ReadFolder(s.FS, o.resume)
	if err == nil {
		err = ofBenchmark(old, o.resume, spec.Collectives)
	}
	if err != nil {
		return err
	}
	want, err := o.joined(cmd, *old.Header.Record.Spec)
	if err != nil {
		return err
	}
	if l.method != launch.Inproc {
		want.World = l.want.World
	}
	l.want = want
	return o.dryRun(ctx, s, l, old)
}

// ofBenchmark refuses the journal of another benchmark.
func ofBenchmark(old *record.Journal, path, benchmark string) error {
	if old.Header.Record.Benchmark() == benchmark {
		return nil
	}
	return usagef(engine.ResumeCommand(&old.Header.Record, path)+" resumes it", "%s does not hold a run of zbench %s", path, engine.Command(benchmark))
}

// resumedFolder locks the folder of a run that is to be resumed, and reads what it
// has of the benchmark. Close the folder, which is there with an error, too, where it
// is not nil.
func resumedFolder(s State, path, benchmark string, quiet bool) (*engine.Folder, *record.Journal, error) {
	if path == "" { // a script's empty variable is no reason to begin another
		return nil, nil, usagef("give the folder of the run to resume", "--resume is empty")
	}
	if _, err := engine.ReadFolder(s.FS, path); err != nil {
		return nil, nil, err
	}
	dir, err := engine.OpenFolder(s.host(quiet), path)
	if err != nil {
		return nil, nil, err
	}
	old, err := engine.ReadFolder(s.FS, path) // again: now no other process writes it
	if err == nil {
		err = ofBenchmark(old, path, benchmark)
	}
	return dir, old, err
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

// clashes is the error for flags given with --resume that differ; nil if there are none.
func clashes(dir string, list []string) error {
	if len(list) == 0 {
		return nil
	}
	return usagef("leave them out: the run resumes with its own options; or start another run with --out",
		"the run in %s was started with %s", dir, strings.Join(list, "; "))
}

// unchanged is the request that is resumed, with the flags that may change; list names
// the others that differ. With facts, facts may differ.
func unchanged(cmd *cobra.Command, kept spec.Spec, facts bool) (want spec.Spec, list []string, failed error) {
	want = kept.Clone()
	cmd.Flags().Visit(func(f *pflag.Flag) {
		v, ours := f.Value.(*specValue)
		switch {
		case !ours:
			if !slices.Contains(free, f.Name) && !slices.Contains(launchFlags, f.Name) && !isLibraryFlag(f.Name) && !isAdviceFlag(f.Name) {
				list = append(list, clash("--"+f.Name, "none", f.Value.String()))
			}
			return
		case slices.Contains(free, f.Name), v.row.fact && facts:
			failed = cmp.Or(failed, v.row.set(&want, v.texts))
			return
		}
		changed := want.Clone()
		failed = cmp.Or(failed, v.row.set(&changed, v.texts))
		if !reflect.DeepEqual(changed, want) {
			list = append(list, clash("--"+f.Name, v.row.text(&kept), v.String()))
		}
	})
	return want, list, failed
}

// readSpec reads the request of --spec and applies the other flags.
func (o *collectivesOptions) readSpec(s State, cmd *cobra.Command) error {
	file, err := readSpec(s, o.file)
	if err == nil && file.Sweep == nil {
		return usagef("zbench "+engine.Command(file.Benchmark)+" --spec runs it", "%s asks for %s, not for collectives", o.file, file.Benchmark)
	}
	if err != nil {
		return err
	}
	want, err := given(cmd, file)
	if names := o.want.Sweep.Collectives; len(names) > 0 {
		want.Sweep.Collectives = names
	}
	if o.want.Advice != nil {
		want.Advice = o.want.Advice
	}
	o.want = want
	return err
}

// readSpec reads the request of a file or folder.
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
