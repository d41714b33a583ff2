package main

import (
	"errors"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zbench/bench/answers/advice"
	"zbench/bench/answers/fleet/rails"
	"zbench/bench/answers/gate"
	"zbench/bench/base/exit"
	"zbench/bench/base/folder"
	"zbench/bench/base/jsonfile"
	"zbench/bench/base/spell"
	"zbench/bench/engine"
	"zbench/bench/results"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
	"zbench/bench/work/kernel"
	"zbench/report"
)

// output holds the options that all commands have for their document: where it is written, how it
// is printed, and which thresholds it must meet.
type output struct {
	out, format string
	force       bool
	// quiet suppresses progress and notes, and also explanations for people if the format is for
	// programs. bare suppresses only the explanations. verbose prints everything that a terminal
	// can show.
	quiet, bare, verbose bool
	// fail is for commands that read other people's measurements. If it is true, the command ends
	// with the exit code that the measurement itself would have had.
	fail  bool
	gates gateFlagSet
}

const formatName = "format"

// addFlags adds --format, --quiet, and --out with the description that the command gives.
func (o *output) addFlags(f *pflag.FlagSet, out string) {
	f.StringVar(&o.out, "out", "", out)
	f.StringVar(&o.format, formatName, "table", "form of standard output: "+strings.Join(report.FormatNames(), ", "))
	addQuiet(f, &o.quiet)
}

// addQuiet adds --quiet, which every command has.
func addQuiet(f *pflag.FlagSet, quiet *bool) {
	f.BoolVarP(quiet, "quiet", "q", false, "no progress and no notes on standard error; errors and warnings stay")
}

func (o *output) addForce(f *pflag.FlagSet) {
	f.BoolVar(&o.force, "force", false, "write into a folder that has files")
}

func (o *output) addVerbose(f *pflag.FlagSet, meaning string) {
	f.BoolVarP(&o.verbose, "verbose", "v", false, meaning)
}

func (o *output) addFail(f *pflag.FlagSet) {
	f.BoolVar(&o.fail, "fail", false, "exit as the run itself would: with 4 for wrong data, 1 for a failure, 3 for a fault (default 0)")
}

// allColumns describes what --verbose adds for a record.
const allColumns = "print every column, all placements and checks, and a remedy for each warning"

// inFormat returns a command that first refuses an unknown format.
func inFormat(f *pflag.Flag, run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if _, known := report.FormatOf(f.Value.String()); !known {
			return usage(&spell.Unknown{Kind: "format", Given: f.Value.String(), Valid: report.FormatNames()}, listedBy(strings.TrimPrefix(cmd.CommandPath(), "zbench ")))
		}
		return run(cmd, args)
	}
}

// tallest is the largest number of lines that fit on a screen together with the command line and
// the next prompt.
const tallest = 44

// screen describes an output stream, which may be a terminal, for the report.
func (s State) screen(to Stream) report.Screen {
	return report.Screen{Width: to.columns(), Colour: s.coloured(to)}
}

// show prints a document to standard output. If standard output goes to a program, the findings and
// next steps go to standard error.
func (s State) show(d *document.Document, o output) error {
	f, _ := report.FormatOf(o.format)
	screen := s.screen(s.Stdout)
	screen.Lines, screen.Verbose = tallest, o.verbose
	if f.Readable {
		return f.Write(s.Stdout.unescaped(), d, screen)
	}
	if err := f.Write(s.Stdout, d, screen); err != nil || o.quiet || o.bare {
		return err
	}
	short := d.For(document.Beside)
	short.Beneath = true
	for i := range short.Sections {
		short.Sections[i].On = document.Terminal
	}
	return report.WriteText(s.Stderr.unescaped(), short, s.screen(s.Stderr))
}

// artifact is a file to write into a folder.
type artifact struct {
	name string
	fill func(io.Writer) error
}

// junitFile is the name of the file for test servers.
const junitFile = "junit.xml"

// artifacts returns the files that are made from a document: its page, its rows as stem.csv, its
// checks if it has any, and its charts.
func artifacts(d *document.Document, stem string) []artifact {
	files := []artifact{{"report.html", func(w io.Writer) error { return report.WriteHTML(w, d) }}}
	if d.CSV != nil {
		files = append(files, artifact{stem + ".csv", func(w io.Writer) error { return report.WriteCSV(w, d) }})
	}
	if len(d.Checks) > 0 {
		files = append(files, artifact{junitFile, func(w io.Writer) error { return report.WriteJUnit(w, d) }})
	}
	for b := range d.Blocks() {
		switch b := b.(type) {
		case document.Plot:
			files = append(files, drawn(b.ID, b.Chart)...)
		case document.Diagram:
			files = append(files, drawn(b.ID, b)...)
		case document.Bars:
			if b.File {
				files = append(files, drawn(b.ID, b)...)
			}
		case document.HeatMap:
			if b.Landscape { // a landscape's values are computed; other maps do not show the mark SIMULATED by themselves
				files = append(files, drawn(b.ID, b)...)
			}
		}
	}
	return files
}

// writePNG can be replaced by tests that do not need pictures: PNGs take a quarter of the time of a
// short sweep.
var writePNG = report.WritePNG

// drawn returns the files of a picture.
func drawn(id string, picture document.Block) []artifact {
	return []artifact{
		{id + ".png", func(w io.Writer) error { return writePNG(w, picture) }},
		{id + ".svg", func(w io.Writer) error { return report.WriteSVG(w, picture) }},
	}
}

// whole returns the artifacts of a document, including its value as JSON. It is for documents whose
// value is in no other file.
func whole(d *document.Document, more ...artifact) []artifact {
	files := append([]artifact{{d.Command + ".json", d.Value.WriteJSON}}, artifacts(d, d.Command)...)
	return append(files, more...)
}

// result is what a command has produced.
type result struct {
	// shown is the document to print; nil prints nothing. files are the files to write; nil means
	// all artifacts of shown.
	shown *document.Document
	files []artifact
	// dir is the open folder; nil means the new folder of --out, if that is given.
	dir *folder.Folder
	// gates are written next to the files; nil if there are none.
	gates *gate.Report
	// started is the time at which the command began; if it is zero, run.json is not written.
	// checks and control are written to run.json.
	started time.Time
	checks  []record.Preflight
	control *record.Control
	// `before` and `after` print where the files are. The function `before` runs before the
	// document is printed, and the function `after` runs after that. If both are nil, the path of
	// the folder is printed first.
	before, after func(dir *folder.Folder)
	// verdict is the error of the command, in addition to the document.
	verdict error
}

// deliver writes a document's files, prints the document and returns the error that sets the exit
// code. Every command ends with it.
func (s State) deliver(o output, r result) error {
	if r.dir == nil && o.out != "" {
		dir, err := folder.New(s.host(o.quiet), o.out, "", o.force)
		if err != nil {
			return err
		}
		defer dir.Close() //nolint:errcheck // the next run replaces a lock that remains
		r.dir = dir
	}
	if r.dir != nil {
		if err := r.keep(s); err != nil {
			return err
		}
		switch {
		case r.before != nil:
			r.before(r.dir)
		case r.after == nil:
			s.note(o.quiet, "Wrote %s\n", r.dir.Path)
		}
	}
	if r.shown != nil {
		if err := s.show(r.shown, o); err != nil {
			return err
		}
	}
	if r.dir != nil && r.after != nil {
		r.after(r.dir)
	}
	if r.shown == nil {
		return r.verdict
	}
	return exit.Worst(r.verdict, exit.Quiet(exit.Of(r.shown.State, r.shown.Findings)))
}

// keep writes the files, the gates and run.json.
func (r result) keep(s State) error {
	files := r.files
	if files == nil {
		files = whole(r.shown)
	}
	err := writeFiles(r.dir, files)
	if r.gates != nil {
		err = errors.Join(err, r.dir.Write(gatesFile, r.gates.WriteJSON))
	}
	if r.started.IsZero() {
		return err
	}
	now := s.Now()
	run := record.Run{
		Schema: record.RunSchema, Started: r.started.UTC(), Finished: now.UTC(), Seconds: now.Sub(r.started).Seconds(),
		Args: s.Args, Host: s.Hostname(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, CPUs: s.Host().CPUs,
		Preflight: r.checks, Control: r.control,
	}
	return errors.Join(err, r.dir.Write(folder.RunFile, func(w io.Writer) error { return jsonfile.Write(w, folder.RunFile, run) }))
}

func writeFiles(dir *folder.Folder, files []artifact) error {
	for _, f := range files {
		if err := dir.Write(f.name, f.fill); err != nil {
			return err
		}
	}
	return nil
}

// shownRecord is a record with options for showing it.
type shownRecord struct {
	*record.Record
	advice *advice.Document
	gates  *gate.Report
	// allowUnchecked lets gates pass although they could not be checked.
	allowUnchecked bool
	// folder is the folder of the record.
	folder string
}

// document returns the record as a document. width is the width of the terminal; 0 if there is
// none.
func (r shownRecord) document(width int) *document.Document {
	var d *document.Document
	if r.OfKernels() {
		d = results.Kernels(r.Record, reproduce(r.Record))
	} else {
		answer := kneesOf(r.Record)
		d = results.Collectives(r.Record, results.Extras{Knees: &answer, Advice: r.advice, Command: reproduce(r.Record), Folder: r.folder, Width: width})
	}
	r.gates.AddTo(d, r.allowUnchecked)
	return d
}

// files returns the files that are made from the record.
func (r shownRecord) files() []artifact {
	files := artifacts(r.document(0), "results")
	if export := kernel.Of(r.Benchmark()).Export; r.OfKernels() && export != nil {
		if name, content := export(r.Record); content != "" {
			files = append(files, artifact{name, func(w io.Writer) error {
				_, err := io.WriteString(w, content)
				return err
			}})
		}
	}
	if !r.OfKernels() {
		answer := kneesOf(r.Record)
		files = append(files, artifact{"knees.json", answer.WriteJSON})
	}
	return files
}

// result judges the record, shows it on standard output and writes it to the folder. If faults is
// false, only gates can make the command fail.
func (r shownRecord) result(s State, o output, dir *folder.Folder, faults bool) result {
	r.gates, r.allowUnchecked = o.gates.judge(r.Record), o.gates.allowUnchecked
	out := result{
		shown: r.document(s.Stdout.columns()), files: r.files(), dir: dir, gates: r.gates, verdict: r.gates.Err(r.allowUnchecked),
	}
	if faults {
		out.verdict = exit.Worst(engine.Verdict(r.Record, r.folder), out.verdict)
	} else {
		out.shown.State = ""
	}
	return out
}

// nodeLists returns files that list good, bad and unclear nodes, for the next job.
func nodeLists(pass, fail, unclear []string) []artifact {
	list := func(name string, names []string) artifact {
		return artifact{name, func(w io.Writer) error {
			_, err := io.WriteString(w, rails.Lines(names))
			return err
		}}
	}
	return []artifact{list("pass.txt", pass), list("fail.txt", fail), list("unclear.txt", unclear)}
}

// drawnFolder returns the folder for a drawing: out, which is created, or the folder of the drawn
// file.
func drawnFolder(s State, file, out string) (*folder.Folder, error) {
	if out != "" {
		dir, err := folder.New(s.host(false), out, "report", false)
		if holds := (*folder.HoldsFilesError)(nil); errors.As(err, &holds) {
			return nil, usage(err, "choose another --out")
		}
		return dir, err
	}
	return folder.Open(s.host(false), filepath.Dir(file))
}
