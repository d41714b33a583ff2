package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"zbench/bench/document"
	"zbench/bench/engine"
	"zbench/bench/plain"
	"zbench/bench/record"
)

// reportOptions are the options of report.
type reportOptions struct {
	out, format string
	verbose     bool
	gates       gateFlagSet
}

func newReport(s State) *cobra.Command {
	o := &reportOptions{}
	cmd := &cobra.Command{
		Use:     "report RECORD",
		Short:   "Draw the page, the plots and the CSV of a record again",
		Long:    "Reads a folder of zbench or its results.json and writes report.html, the plots,\nresults.csv and knees.json, into the same folder or into --out. Of an\nunfinished sweep it reads the journal and marks missing cases as interrupted.",
		Example: "  zbench report DIR\n  zbench report DIR --threshold 'all_reduce bytes>=128MiB busbw>=300GB/s'\n  zbench report DIR/results.json --out drawn",
		Args:    oneArg("a record"),
		RunE:    func(_ *cobra.Command, args []string) error { return o.run(s, args[0]) },
	}
	addGateFlags(cmd.Flags(), &o.gates)
	cmd.Flags().StringVar(&o.out, "out", "", "folder to create (default the record's own)")
	formatFlag(cmd.Flags(), &o.format)
	cmd.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "print every column, both placements and a remedy for each warning")
	return cmd
}

// run draws the record at a path, prints it and returns the verdict of the thresholds.
func (o *reportOptions) run(s State, path string) error {
	if err := cmp.Or(checkFormat(o.format, "`zbench report --help` shows the usage"), o.gates.read()); err != nil {
		return err
	}
	text, file, err := read(s, path)
	if err != nil {
		return err
	}
	if !isRecord(text) && !isJournal(file, text) {
		return usagef(plain.Typed("zbench", "import", path)+" makes a record of a log", "%s is not a zbench record", path)
	}
	rec, err := readAny(s, path)
	if err != nil {
		return err
	}
	checkSamples(s, file, rec)
	dir, err := drawnFolder(s, file, o.out)
	if err != nil {
		return err
	}
	defer dir.Close() //nolint:errcheck // a lock that stays is taken over by the next run
	judged := o.gates.judge(rec)
	var shown *document.Document
	if rec.OfKernels() {
		shown = shownKernels(rec, judged, o.gates.requireChecked)
		err = writeFiles(dir, artifacts(shown, "results"))
	} else {
		var r shownRecord
		if r, err = redrawn(s, dir, rec, judgedFile{path, file, o.out}); err == nil {
			r.gates, r.strict = judged, o.gates.requireChecked
			shown, err = r.document(s.Stdout.columns()), r.keep(dir)
		}
	}
	if err = cmp.Or(err, keepGates(dir, judged)); err != nil {
		return err
	}
	if err := s.show(shown, output{format: o.format, verbose: o.verbose}); err != nil {
		return err
	}
	fmt.Fprintf(s.Stderr, "Wrote %s\n", dir.File("report.html"))
	return judged.Err(o.gates.requireChecked)
}

// drawnFolder is where a drawing goes: out, which is made, or beside the file.
func drawnFolder(s State, file, out string) (*engine.Folder, error) {
	if out != "" {
		dir, err := engine.NewFolder(s.host(false), out, "report", false)
		if holds := (*engine.HoldsFilesError)(nil); errors.As(err, &holds) {
			return nil, usage(err, "choose another --out")
		}
		return dir, err
	}
	return engine.OpenFolder(s.host(false), filepath.Dir(file))
}

// judgedFile is a record to draw: its path as it was given, its file, and the folder to make.
type judgedFile struct{ path, file, out string }

// redrawn is a record of collectives with the recommendation beside it, which is kept.
func redrawn(s State, dir *engine.Folder, rec *record.Record, of judgedFile) (shownRecord, error) {
	folder := filepath.Dir(of.file)
	d := readAdvice(s, folder, rec)
	if d == nil {
		d = assumed(s, sourceOf(s, of.path, rec))
	}
	r := shownRecord{Record: rec, advice: d, folder: folder}
	if d.Kept() && of.out != "" {
		return r, dir.Write(engine.AdviceFile, d.WriteJSON)
	}
	return r, nil
}
