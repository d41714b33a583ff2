package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zbench/bench/answers/fleet/rails"
	"zbench/bench/answers/suite"
	"zbench/bench/base/exit"
	"zbench/bench/base/finding"
	"zbench/bench/base/folder"
	"zbench/bench/base/pattern"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/spell"
	"zbench/bench/base/unit"
	"zbench/bench/engine"
	"zbench/bench/run/plan"
	"zbench/bench/show/document"
	"zbench/internal/launch"
)

// The files of a suite: its journal, and the folder of its rows.
const (
	suiteJournal = "suite.jsonl"
	suiteRows    = "rows"
)

// suiteOptions are the options of suite.
type suiteOptions struct {
	// run says where the rows run; the suite itself measures nothing.
	run     worldRun
	before  string
	timeout time.Duration

	// root has all commands. The rows are parsed with them.
	root    *cobra.Command
	suite   *suite.Suite
	jobs    []suiteJob
	header  suite.Header
	entries []suite.Entry
	dir     *folder.Folder
	journal *folder.Journal[suite.Entry]
}

// suiteJob is a row with its command.
type suiteJob struct {
	*suite.Row
	// cmd is the row's command; nil if the row cannot run, for the reason why.
	cmd *cobra.Command
	why string
	// line is the command line without the flags of the folder. again continues the row; empty if the
	// command has no --resume.
	line, again []string
}

var suiteHelp = listedBy("suite")

const suiteLong = `Runs a set of zbench's commands, one after the other, and puts their figures on
one page, each beside what others published of it. NAME is one of zbench's own
suites: characterise measures a machine, acceptance decides whether to accept
it, nightly measures for about half an hour and compares with an earlier run
(--before). A file of the same form is a suite, too: docs/TRIAL.md describes it.

Every row is a command line of zbench, with a folder of its own below --out that
holds all that the command leaves. The rows of all nodes come first, since the
others need a part of the machine only. A row that fails does not stop the
suite. --resume continues a suite with its own options: rows that have a result
are not run again, and a sweep continues where it was.

Figures that a model made are labelled and are not compared with published ones:
the model was fitted to these. The exit code is 0 if every row ran and passed,
else the most severe of the rows', and 6 if one could not run.`

func newSuite(s State) *cobra.Command {
	var o suiteOptions
	cmd := &cobra.Command{
		Use: "suite NAME|FILE", Short: "Run a set of commands: characterise, acceptance or nightly",
		Long: suiteLong,
		Example: `  zbench suite characterise --nodes 128
  zbench suite characterise --nodes 128 --dry-run     cases and GPU-hours of each row
  zbench suite nightly --before zbench-suite-20261127-220000
  zbench suite mine.yaml --out mine                   rows of your own`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.start(cmd.Context(), s, cmd, args) },
	}
	f := cmd.Flags()
	addSpecFlags(&cobra.Command{}, &o.run.want) // sets the defaults of fields that have no flag here
	addFlags(cmd, &o.run.want, specRows([]string{"nodes", "fabric", "backend", "seed", "fault"}))
	addLibraryFlags(cmd, &o.run.libraries)
	addLaunchFlags(f, &o.run.launch)
	f.StringVar(&o.before, "before", "", "folder of an earlier suite, for rows that compare with it")
	f.DurationVar(&o.timeout, "row-timeout", 2*time.Hour, "end a row after this time")
	o.run.addFlags(f, "folder to create for suite.json, report.html and the rows (default a new dated one)")
	f.StringVar(&o.run.resume, "resume", "", "continue the suite in this folder with its own options")
	o.run.addForce(f)
	o.run.addVerbose(f, "print the sources of published figures, too")
	return cmd
}

// start opens a new suite or an earlier one, and runs the rows that are left.
func (o *suiteOptions) start(ctx context.Context, s State, cmd *cobra.Command, args []string) (err error) {
	if role, _ := launch.Detect(s.Getenv); role.Several() {
		return usagef("start `zbench suite` once, in the allocation; its rows start their processes themselves", "this process is one of several of a launcher (%s)", role.Text())
	}
	started := s.Now()
	o.root = cmd.Root()
	defer func() { _ = o.dir.Close() }() // a lock that stays is taken over by the next run
	if cmd.Flags().Changed("resume") {
		err = o.reopen(s, cmd, args)
	} else {
		err = o.ask(s, cmd, args)
	}
	if err == nil {
		err = o.resolve()
	}
	switch {
	case err != nil:
		return err
	case o.run.launch.dry:
		return o.dry(ctx, s)
	}
	if o.dir == nil {
		if o.dir, err = folder.New(s.host(o.run.quiet), o.run.out, "suite", o.run.force); err != nil {
			return err
		}
		if err = o.resolve(); err != nil { // the command lines that name the folder
			return err
		}
	}
	if err = s.FS.MkdirAll(o.dir.File(suiteRows)); err != nil {
		return err
	}
	if o.journal, err = openJournal(o.dir, "suite", suiteJournal, &o.header, &o.header.Run, !o.header.GPU, o.entries); err != nil {
		return err
	}
	defer o.journal.Close() //nolint:errcheck // every line is on disk
	ended := o.rows(ctx, s)
	return s.deliver(o.run.output, result{
		shown: suite.New(o.suite, o.header.Nodes, o.outcomes(s)).Shown(), dir: o.dir, started: started, verdict: ended,
		after: func(dir *folder.Folder) {
			s.note(o.run.quiet, "Wrote %s (report.html, suite.json, suite.csv, %s)\n", dir.Path, suiteRows)
		},
	})
}

// ask reads the suite and finds out where its rows run.
func (o *suiteOptions) ask(s State, cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef(suiteHelp, "give one suite: %s, or a file", strings.Join(suite.Names(), ", "))
	}
	text, err := suite.Shipped(args[0])
	if unknown := (*spell.Unknown)(nil); errors.As(err, &unknown) {
		if text, err = s.FS.ReadFile(args[0]); err != nil {
			if strings.ContainsAny(args[0], "./") {
				return missingFile(err, args[0], "give a file, or one of "+strings.Join(suite.Names(), ", "))
			}
			return usage(unknown, "or give a file")
		}
	}
	l, err := o.run.placed(s, o.run.want, cmd.Flags().Changed("nodes"))
	if err != nil {
		return err
	}
	o.header = suite.Header{Schema: suite.JournalSchema, Text: string(text), Nodes: l.want.World.Nodes, GPU: true, Common: []string{}}
	if l.method == launch.Inproc {
		backend, err := o.run.libraries.choose(s, l.want.Backend)
		if err != nil {
			return err
		}
		o.header.GPU = backend != "loopback"
	}
	if o.before != "" {
		if o.header.Before, err = earlierRows(s, o.before); err != nil {
			return err
		}
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "dry-run" && (isLibraryFlag(f.Name) || slices.Contains(launchFlags, f.Name) || slices.Contains(suiteCommon, f.Name)) {
			o.header.Common = append(o.header.Common, flagWords(f)...)
		}
	})
	return nil
}

// suiteCommon are the flags that a suite passes on to all of its rows, besides those of libraries
// and of launchers.
var suiteCommon = []string{"fabric", "backend", "seed", "fault"}

// earlierRows returns the folder of an earlier suite's rows.
func earlierRows(s State, path string) (string, error) {
	rows := filepath.Join(path, suiteRows)
	if info, err := s.FS.Stat(rows); err != nil || !info.IsDir() {
		return "", usagef("give the folder of a suite, which has "+suiteRows, "--before: %s is no folder of a suite", path)
	}
	return rows, nil
}

// resolve reads the suite's text and finds the command of each row. It refuses a row that zbench does
// not understand.
func (o *suiteOptions) resolve() (err error) {
	const help = "docs/TRIAL.md describes the form"
	h := &o.header
	if o.suite, err = suite.Read([]byte(h.Text), h.Nodes, figureNames()...); err != nil {
		return usage(err, help)
	}
	o.jobs = nil
	for i := range o.suite.Rows {
		j := suiteJob{Row: &o.suite.Rows[i]}
		var words []string
		if words, j.why = j.Args(suite.World{Nodes: h.Nodes, GPU: h.GPU, Rows: filepath.Join(o.path(), suiteRows), Before: h.Before}); j.why == "" {
			if err := o.parse(&j, words); err != nil {
				return usage(fmt.Errorf("row %q, zbench %s: %w", j.Name, strings.Join(words, " "), err), help)
			}
		}
		o.jobs = append(o.jobs, j)
	}
	return nil
}

// parse finds the command of a row, and completes its command lines.
func (o *suiteOptions) parse(j *suiteJob, words []string) error {
	cmd, rest, err := o.root.Find(words)
	if err == nil && (cmd == o.root || !cmd.Runnable()) {
		err = unknownCommand(o.root, strings.Join(words[:min(1, len(words))], ""))
	}
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err != nil {
		return err
	}
	j.cmd, j.line = cmd, slices.Concat(words, o.common(cmd, words, suiteCommon))
	if cmd.Flags().Lookup("nodes") != nil && j.Nodes != "" {
		j.line = append(j.line, fmt.Sprintf("--nodes=%d", j.On(o.header.Nodes)))
	}
	if cmd.Flags().Lookup("resume") != nil {
		j.again = slices.Concat(words[:len(words)-len(rest)], o.common(cmd, words, nil))
	}
	return nil
}

// reopen reads the suite of a folder.
func (o *suiteOptions) reopen(s State, cmd *cobra.Command, args []string) (err error) {
	var other []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains([]string{"resume", "format", "quiet", "verbose", "row-timeout", "dry-run"}, f.Name) {
			other = append(other, "--"+f.Name)
		}
	})
	if len(other) > 0 || len(args) > 0 {
		return usagef("leave them out, or start another suite", "--resume continues a suite with its own options: %s cannot change", strings.Join(append(args, other...), ", "))
	}
	if o.dir, err = folder.Open(s.host(o.run.quiet), o.run.resume); err != nil {
		return err
	}
	if o.header, o.entries, err = readJournal(s, "suite", o.dir.Path, suiteJournal, suite.ReadJournal); err != nil {
		return err
	}
	o.entries = slices.DeleteFunc(o.entries, func(e suite.Entry) bool { return !e.Ended() })
	return nil
}

// resume returns the command that continues the suite.
func (o *suiteOptions) resume() string { return plain.Typed("zbench", "suite", "--resume", o.dir.Path) }

// entry returns the journal's line of a row; nil if the row has not ended.
func (o *suiteOptions) entry(row string) *suite.Entry {
	i := slices.IndexFunc(o.entries, func(e suite.Entry) bool { return e.Row == row })
	if i < 0 {
		return nil
	}
	return &o.entries[i]
}

// rows runs the rows that have not ended. It returns an error if it was interrupted or if the
// journal cannot be written.
func (o *suiteOptions) rows(ctx context.Context, s State) error {
	for i := range o.jobs {
		if o.entry(o.jobs[i].Name) != nil {
			continue
		}
		e, err := o.row(ctx, s, &o.jobs[i], fmt.Sprintf("[%d/%d] %s", i+1, len(o.jobs), o.jobs[i].Title))
		if err == nil {
			o.entries = append(o.entries, e)
			err = o.journal.Append(e)
		}
		switch {
		case errors.Is(err, context.Canceled):
			return exit.With(exit.Interrupted, fmt.Errorf("interrupted: %w; the rows before are saved", err), o.resume()+" continues")
		case err != nil:
			return err
		}
	}
	return nil
}

// row runs one row, and continues what an earlier attempt measured. title begins its notes. An error
// ends the suite.
func (o *suiteOptions) row(ctx context.Context, s State, j *suiteJob, title string) (suite.Entry, error) {
	e := suite.Entry{Row: j.Name, Why: j.why}
	if e.Why != "" {
		return e, nil
	}
	s.note(o.run.quiet, "%s: zbench %s\n", title, strings.Join(j.line, " "))
	out := filepath.Join(o.path(), suiteRows, j.Name)
	if err := o.free(ctx, s, out); err != nil {
		return e, err
	}
	began := s.Now()
	e.Code = exit.Usage
	var tail *tailWriter
	var err error
	if files, _ := s.FS.ReadDir(out); j.again != nil && slices.ContainsFunc(files, func(f fs.DirEntry) bool { return strings.HasSuffix(f.Name(), ".jsonl") }) {
		e.Code, tail, err = o.child(ctx, s, append(j.again, "--resume", out, "--quiet"))
	}
	if e.Code == exit.Usage && err == nil { // there is nothing to continue, or it cannot be continued
		e.Code, tail, err = o.child(ctx, s, append(j.line, "--out", out, "--force", "--quiet"))
	}
	if err == nil {
		err = o.dir.Put(filepath.Join(suiteRows, j.Name+".txt"), tail.text)
	}
	if err != nil {
		return e, err
	}
	if e.Seconds = s.Now().Sub(began).Seconds(); e.Code != exit.OK {
		e.Evidence = tail.lines(evidenceLines)
	}
	s.note(o.run.quiet, "%s: exit code %d after %s\n", title, e.Code, unit.Seconds(e.Seconds))
	return e, nil
}

// `free` waits until no process uses a row's folder. If the suite was killed, its last command may
// still run: it saves its results and then ends.
func (o *suiteOptions) free(ctx context.Context, s State, dir string) error {
	const look = 100 * time.Millisecond
	for range 2 * firstGrace / look { // the row's command then names the process that uses the folder
		if s.FS.Held(filepath.Join(dir, folder.LockFile)) == nil {
			break
		}
		soon, _ := newTimer(look)
		select {
		case <-soon:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// path returns the suite's folder. A dry run has no folder, and path then returns DIR.
func (o *suiteOptions) path() string {
	if o.dir == nil {
		return "DIR"
	}
	return o.dir.Path
}

// common returns the suite's own flags that a command has: those of libraries and of launchers, and
// of the others those named in also. Kernels get no fault of the fabric, because they use no links;
// only `gemm --peak` knows slow compute units.
func (o *suiteOptions) common(cmd *cobra.Command, words, also []string) []string {
	return slice.Where(o.header.Common, func(c string) bool {
		flag, value, _ := strings.Cut(strings.TrimPrefix(c, "--"), "=")
		known := strings.HasPrefix(value, "slow_compute:") && slices.Contains(words, "--peak")
		if flag == "fault" && strings.Contains(value, ":") && benchOf(cmd.Name()) != nil && !known {
			return false
		}
		return cmd.Flags().Lookup(flag) != nil && (!slices.Contains(suiteCommon, flag) || slices.Contains(also, flag))
	})
}

// rowOutput is how much of a row's output is kept, in bytes.
const rowOutput = 1 << 20

// child runs a command line of zbench to its end and keeps what it prints.
func (o *suiteOptions) child(ctx context.Context, s State, args []string) (code int, tail *tailWriter, err error) {
	code, how, tail, err := ownChild{
		args: args, environ: s.Environ(), limit: o.timeout, limitedBy: "--row-timeout", kept: rowOutput,
		what: "zbench " + args[0], signalled: true, timer: newTimer,
	}.run(ctx, s)
	if code < 0 {
		tail.text = append(tail.text, "\nended early: "+how+"\n"...)
	}
	return code, tail, err
}

// outcomes reads the results of all rows.
func (o *suiteOptions) outcomes(s State) []suite.Outcome {
	return slice.Map(o.jobs, func(j suiteJob) suite.Outcome {
		e := o.entry(j.Name)
		var found *suite.Result
		if e != nil && e.Why == "" {
			found = o.result(s, j.Name, j.line[0])
		}
		return j.Outcome(e, found, j.line, filepath.Join(suiteRows, j.Name))
	})
}

// result reads the results that a row left, or returns nil if there are none. command is the first
// word of the row's command line.
func (o *suiteOptions) result(s State, row, command string) *suite.Result {
	dir := filepath.Join(o.dir.Path, suiteRows, row)
	if _, err := s.FS.Stat(filepath.Join(dir, engine.ResultsFile)); err == nil {
		rec, err := readAny(s, dir)
		if err != nil {
			return nil
		}
		d := shownRecord{Record: rec, folder: dir, advice: readAdvice(s, dir, rec)}.document(0)
		return &suite.Result{Record: rec, Shown: d, Simulated: rec.Simulated}
	}
	text, err := s.FS.ReadFile(filepath.Join(dir, command+".json"))
	var found struct {
		Simulated bool
		Survey    *rails.Survey
		Judgement finding.Judgement
	}
	if err != nil || json.Unmarshal(text, &found) != nil {
		return nil
	}
	return &suite.Result{
		Survey: found.Survey, Shown: &document.Document{Findings: found.Judgement.Findings},
		Simulated: found.Simulated || found.Survey != nil && found.Survey.Simulated,
	}
}

// dry prints the rows with their cases and GPU-hours, and the sum of these.
func (o *suiteOptions) dry(ctx context.Context, s State) error {
	text, add := newDryRun()
	add("Suite", "%s: %s", o.suite.Name, o.suite.About)
	add("Nodes", "%d", o.header.Nodes)
	var seconds, hours plan.Span
	for _, j := range o.jobs {
		if j.why != "" {
			add(j.Name, "not run: %s", j.why)
			continue
		}
		add(j.Name, "zbench %s", strings.Join(j.line, " "))
		lines, err := o.estimate(ctx, s, j)
		if err != nil {
			return err
		}
		for _, line := range lines {
			add("", "%s", line)
			if time, spent, ok := plan.ReadSpent(line); ok {
				seconds.Add(time.Low, time.High)
				hours.Add(spent.Low, spent.High)
			}
		}
	}
	add("Together", "%s; opening devices and checks come on top", plan.Spending(seconds, hours))
	_, err := io.WriteString(s.Stdout, text.String())
	return err
}

// stated matches the lines of a dry run about cases and GPU-hours.
var stated = pattern.New(`cases? to run|GPU-hours|^(Survey|Soak) `)

// estimate returns the lines of a row's dry run that state its cases and GPU-hours, or its last line
// if the dry run failed.
func (o *suiteOptions) estimate(ctx context.Context, s State, j suiteJob) ([]string, error) {
	if j.cmd.Flags().Lookup("dry-run") == nil {
		return []string{"It reads results: 0 GPU-hours."}, nil
	}
	code, tail, err := o.child(ctx, s, append(j.line, "--dry-run"))
	if err != nil || code != exit.OK {
		return tail.lines(1), err
	}
	return slice.Where(tail.lines(rowOutput), stated.MatchString), nil
}
