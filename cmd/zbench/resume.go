package main

import (
	"cmp"
	"context"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zbench/bench/engine"
	"zbench/bench/spec"
)

// free are the flags that a sweep that is resumed may have anew, beside those of
// libraries and of the question.
var free = []string{"resume", "force", "quiet", "format", "verbose", "progress", fixedSizes}

// runResume goes on with the sweep that a folder holds. cmd tells which flags were
// given beside it.
func (o *collectivesOptions) runResume(ctx context.Context, s State, cmd *cobra.Command) error {
	if o.resume == "" { // a script's empty variable is no reason to begin another
		return usagef("give the folder of the sweep to go on with", "--resume is empty")
	}
	started := s.Now()
	if _, err := engine.ReadFolder(s.FS, o.resume); err != nil {
		return err
	}
	e, err := o.engine(s)
	if err != nil {
		return err
	}
	dir, err := engine.OpenFolder(e.Host, o.resume)
	if err != nil {
		return err
	}
	defer dir.Close()                             //nolint:errcheck // a lock that stays is taken over by the next run
	old, err := engine.ReadFolder(s.FS, o.resume) // again: now no other process writes it
	if err != nil {
		return err
	}
	want, err := o.joined(cmd, *old.Header.Record.Spec)
	if err != nil {
		return err
	}
	out, err := e.Resume(ctx, want, old, dir)
	return o.finish(s, dir, started, out, err)
}

// joined is the request of a sweep that is resumed, with what may be given anew.
// What was given and differs is an error that names it, but facts with --force.
func (o *collectivesOptions) joined(cmd *cobra.Command, kept spec.Spec) (spec.Spec, error) {
	want := kept.Clone()
	var list []string
	if given := o.want.Sweep.Collectives; len(given) > 0 && !slices.Equal(given, kept.Sweep.Collectives) {
		list = append(list, clash("collectives", strings.Join(kept.Sweep.Collectives, " "), strings.Join(given, " ")))
	}
	var failed error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		v, ours := f.Value.(*specValue)
		switch {
		case !ours:
			if !slices.Contains(free, f.Name) && !isLibraryFlag(f.Name) && !isAdviceFlag(f.Name) {
				list = append(list, clash("--"+f.Name, "none", f.Value.String()))
			}
			return
		case slices.Contains(free, f.Name), v.row.fact && o.force:
			failed = cmp.Or(failed, v.row.set(&want, v.texts))
			return
		}
		changed := want.Clone()
		failed = cmp.Or(failed, v.row.set(&changed, v.texts))
		if !reflect.DeepEqual(changed, want) {
			list = append(list, clash("--"+f.Name, v.row.text(&kept), v.String()))
		}
	})
	if o.want.Advice != nil {
		want.Advice = o.want.Advice
	}
	if len(list) > 0 {
		return want, usagef("leave them out: the sweep goes on with its own options; or begin another one with --out",
			"the sweep in %s was begun with %s", o.resume, strings.Join(list, "; "))
	}
	return want, failed
}

// readSpec takes the request of --spec, changed by the flags beside it.
func (o *collectivesOptions) readSpec(s State, cmd *cobra.Command) error {
	path := o.file
	if info, err := s.FS.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, engine.ResultsFile)
	}
	text, err := s.FS.ReadFile(path)
	if err != nil {
		return notThere(err, path, "give a results.json, a journal.jsonl, a spec, or a folder of zbench")
	}
	file, err := spec.Read(text)
	if err == nil && file.Sweep == nil {
		return usagef("zbench "+file.Benchmark+" --spec runs it", "%s asks for %s, and holds no collectives", path, file.Benchmark)
	}
	if err != nil {
		return usage(err, "give a results.json, a journal.jsonl, or a spec")
	}
	want := file.Clone()
	if given := o.want.Sweep.Collectives; len(given) > 0 {
		want.Sweep.Collectives = given
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if v, ours := f.Value.(*specValue); ours {
			err = cmp.Or(err, v.row.set(&want, v.texts))
		}
	})
	if o.want.Advice != nil {
		want.Advice = o.want.Advice
	}
	o.want = want
	return err
}
