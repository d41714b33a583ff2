package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"zbench/bench/answers/compare"
	"zbench/bench/base/exit"
	"zbench/bench/base/plain"
	"zbench/bench/base/spell"
	"zbench/bench/engine"
)

// compareOptions are the options of compare.
type compareOptions struct {
	compare.Criteria
	failOn, names  string
	allowUnchecked bool
	output
}

const compareHelp = "`zbench compare --help` shows the usage"

func newCompare(s State) *cobra.Command {
	o := compareOptions{Criteria: compare.Defaults()}
	cmd := &cobra.Command{
		Use:   "compare BASE NEW | BASE… -- NEW…",
		Short: "Compare runs: which cases got slower or faster",
		Long: `Compares the runs of two sides, case by case: collectives, memory, kernels and
imported logs. Each argument is a run: a folder of zbench, a results.json, a
journal.jsonl or a log of rccl-tests or nccl-tests. A folder that holds only
folders of zbench stands for all of them. Two arguments are BASE and NEW;
of more, those before "--" are BASE and those behind it NEW.

A run is one value: its median of the case. A verdict takes at least three runs
a side, because runs of the same software differ; with fewer the change and how
it goes with size are stated, not tested. A case is slower or faster if the
difference is significant and at least 2 %. It is the same if its 95 % interval
lies within 2 %, and unclear otherwise. The chance of any false verdict among
all cases is at most 1 % if the runs of both sides are exchangeable; whole runs
that have modes, as different hosts do, are not: give five runs a side there.
Burst times are never compared with isolated ones, and runs that are simulated,
or of another GPU, never with others; another setting of RCCL's GDR flush, fence
or algorithm takes --across. Where no case is compared, --out draws both
sides' curves.

With --fail-on the exit code is 3 if a case failed in NEW alone or is slower,
and 6 if any other is unclear or not compared (--allow-unchecked: 0).`,
		Example: `  zbench compare before after
  zbench compare base-1 base-2 base-3 -- new-1 new-2 new-3 --out comparison
  zbench compare nightly/1120 nightly/1121 --fail-on slower:5%
  zbench compare old.log new.log --between-run-cv 1% --format markdown`,
		RunE: func(cmd *cobra.Command, args []string) error {
			dash := cmd.ArgsLenAtDash()
			if dash >= 0 { // flags may also follow the runs of NEW
				if err := cmd.Flags().Parse(args[dash:]); err != nil {
					return cmd.FlagErrorFunc()(cmd, err)
				}
				args = slices.Concat(args[:dash], cmd.Flags().Args())
			}
			return o.run(s, args, dash)
		},
	}
	f := cmd.Flags()
	f.Var(&percentValue{&o.MinEffect, 0, 1}, "min-effect", "smallest change of a time that counts, such as 2%")
	f.Var(&percentValue{&o.BetweenRunCV, 0, 1}, "between-run-cv", "known variation of a median between runs, as standard deviation over mean, such as 1%; then fewer than three runs a side are enough (default estimated)")
	f.StringVar(&o.Timing, "timing", "", "kind of time: "+strings.Join(compare.Timings(), ", ")+" (default the first that both sides have)")
	f.BoolVar(&o.Across, "across", false, "compare runs that set RCCL's GDR flush, fence or algorithm differently, too; a note names what differs")
	f.StringVar(&o.names, "names", "", "names of BASE and NEW in charts: A,B (default those of the folders)")
	f.StringVar(&o.failOn, "fail-on", "", "exit with 3 if a case is slower, by at least so much: slower, slower:5%")
	addUnchecked(f, &o.allowUnchecked, "a case that is unclear or was not compared")
	o.addFlags(f, "folder to create, with report.html, compare.json, compare.csv, junit.xml and plots (default none)")
	o.addForce(f)
	o.addVerbose(f, "list the cases that are the same, too")
	return cmd
}

// run compares, prints the result, and returns the error of the gate.
func (o *compareOptions) run(s State, args []string, dash int) error {
	started := s.Now()
	if o.Timing != "" && !slices.Contains(compare.Timings(), o.Timing) {
		return usage(&spell.Unknown{Kind: "timing", Given: o.Timing, Valid: compare.Timings()}, compareHelp)
	}
	var failOn *compare.FailOn
	if o.failOn != "" {
		var err error
		if failOn, err = compare.ParseFailOn(o.failOn); err != nil {
			return usage(fmt.Errorf("--fail-on: %w", err), compareHelp)
		}
	}
	if err := o.readNames(); err != nil {
		return err
	}
	sides, err := o.sides(s, args, dash)
	if err != nil {
		return err
	}
	d, err := compare.Compare(sides[0], sides[1], o.Criteria)
	if refused := (*compare.RefusedError)(nil); errors.As(err, &refused) {
		if err = usage(err, refused.Hint); d == nil {
			return err
		}
		return s.deliver(o.output, result{files: whole(d.Shown()), started: started, verdict: err}) // the document still shows the curves
	} else if err != nil {
		return err
	}
	d.Require(failOn, o.allowUnchecked)
	if d.Gated != nil {
		d.Gated.Next = nextRuns(d, sides)
	}
	return s.deliver(o.output, result{shown: d.Shown(), started: started, verdict: o.verdict(d)})
}

// verdict returns the error of a comparison.
func (o *compareOptions) verdict(d *compare.Document) error {
	if d.Counts.Slower+d.Counts.Faster+d.Counts.Same+d.Counts.Unclear+d.Counts.Broken > 0 {
		return d.Gated.Err(o.allowUnchecked)
	}
	return exit.With(exit.Want, errors.New("no case was compared: BASE and NEW have no case with a time in common"), "give runs of the same collectives, sizes, types and ranks")
}

// nextRuns says how many runs per side would let the gate decide, with the command for one more run
// of each side. The text is empty if more runs would not help.
func nextRuns(d *compare.Document, sides [2][]compare.Run) string {
	if d.NeedsRuns == 0 || d.NeedsRuns > compare.ManyRuns {
		return ""
	}
	text, seed := fmt.Sprintf("give %d runs a side, BASE's before \"--\" and NEW's behind it", d.NeedsRuns), uint64(0)
	for _, r := range slices.Concat(sides[0], sides[1]) {
		if r.Record.Spec == nil {
			return text
		}
		seed = max(seed, r.Record.Spec.Seed)
	}
	more := func(i int, name string) string {
		rec, spec := *sides[i][0].Record, sides[i][0].Record.Spec.Clone()
		if rec.Spec = &spec; rec.Simulated { // in a simulation, only another seed gives another run
			spec.Seed = seed + uint64(i) + 1
		}
		return fmt.Sprintf("; more of %s: `%s --out %s`", name, reproduce(&rec), plain.Shell(sides[i][0].Name+"-more"))
	}
	return text + more(0, "BASE") + more(1, "NEW")
}

// readNames splits the value of --names.
func (o *compareOptions) readNames() error {
	if o.names == "" {
		return nil
	}
	first, second, both := strings.Cut(o.names, ",")
	if !both || first == "" || second == "" {
		return usage(fmt.Errorf("--names %q is not two names with a comma between them", o.names), compareHelp)
	}
	o.Names = [2]string{first, second}
	return nil
}

// sides reads the runs of BASE and NEW.
func (o *compareOptions) sides(s State, args []string, dash int) (sides [2][]compare.Run, err error) {
	switch {
	case dash < 0 && len(args) == 2:
		dash = 1
	case dash < 0:
		return sides, usagef("`zbench compare BASE NEW`, or `zbench compare BASE… -- NEW…`", "compare takes two runs, or more with -- between BASE and NEW, got %d arguments", len(args))
	case dash == 0 || dash == len(args):
		return sides, usagef("`zbench compare BASE… -- NEW…`", "there must be at least one run on each side of --")
	}
	for i, paths := range [][]string{args[:dash], args[dash:]} {
		for _, path := range paths {
			runs, err := readRuns(s, path)
			if err != nil {
				return sides, err
			}
			sides[i] = append(sides[i], runs...)
		}
	}
	return sides, nil
}

// readRuns reads the run at a path, or all runs in the folders directly below it.
func readRuns(s State, path string) ([]compare.Run, error) {
	paths := []string{path}
	if below := runsBelow(s, path); len(below) > 0 {
		paths = below
	}
	var out []compare.Run
	for _, p := range paths {
		rec, err := readAny(s, p)
		if err != nil {
			return nil, err
		}
		out = append(out, compare.Run{Name: p, Record: rec})
	}
	return out, nil
}

// runsBelow returns the folders with runs below a folder. If the folder itself holds a run, it
// returns none.
func runsBelow(s State, dir string) []string {
	entries, err := s.FS.ReadDir(dir)
	if dir == "" || err != nil || holdsRun(s, dir) {
		return nil
	}
	var out []string
	for _, e := range entries {
		if at := filepath.Join(dir, e.Name()); holdsRun(s, at) {
			out = append(out, at)
		}
	}
	return out
}

// holdsRun reports whether a folder holds a run of zbench.
func holdsRun(s State, dir string) bool {
	for _, name := range []string{engine.ResultsFile, engine.JournalFile} {
		if _, err := s.FS.Stat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return err == nil
		}
	}
	return false
}
