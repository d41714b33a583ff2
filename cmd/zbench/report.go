package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"zbench/bench/base/folder"
	"zbench/bench/base/plain"
	"zbench/bench/engine"
)

func newReport(s State) *cobra.Command {
	var o output
	cmd := &cobra.Command{
		Use:     "report RECORD",
		Short:   "Draw the page, the plots and the CSV of a record again",
		Long:    "Reads a folder of zbench or its results.json and writes report.html, the plots,\nresults.csv and knees.json, into the same folder or into --out. Of an\nunfinished sweep it reads the journal and marks missing cases as interrupted.",
		Example: "  zbench report DIR\n  zbench report DIR --threshold 'all_reduce bytes>=128MiB busbw>=300GB/s'\n  zbench report DIR/results.json --out drawn",
		Args:    oneArg("a record"),
		RunE:    func(_ *cobra.Command, args []string) error { return runReport(s, o, args[0]) },
	}
	addGateFlags(cmd.Flags(), &o.gates)
	o.addFail(cmd.Flags())
	o.addFlags(cmd.Flags(), "folder to create (default the record's own)")
	o.addVerbose(cmd.Flags(), allColumns)
	return cmd
}

// runReport draws and prints the record at a path, and returns the error of the thresholds.
func runReport(s State, o output, path string) error {
	if err := o.gates.read(); err != nil {
		return err
	}
	in, err := openInput(s, path)
	if err != nil {
		return err
	}
	file := in.file
	_ = in.close() // only the head was read
	if !isRecord(in.head) && !isJournal(file, in.head) {
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
	defer dir.Close() //nolint:errcheck // the next run replaces a lock that remains
	drawn := shownRecord{Record: rec, folder: filepath.Dir(file)}
	if !rec.OfKernels() {
		if drawn.advice = readAdvice(s, drawn.folder, rec); drawn.advice == nil {
			drawn.advice = assumed(s, sourceOf(s, path, rec))
		}
	}
	r := drawn.result(s, o, dir, o.fail)
	if drawn.advice.Kept() && o.out != "" {
		r.files = append([]artifact{{engine.AdviceFile, drawn.advice.WriteJSON}}, r.files...)
	}
	r.after = func(dir *folder.Folder) { s.note(o.quiet, "Wrote %s\n", dir.File("report.html")) }
	return s.deliver(o, r)
}
