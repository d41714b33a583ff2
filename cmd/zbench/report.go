package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"zbench/bench/engine"
	"zbench/bench/record"
)

func newReport(s State) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:     "report RECORD",
		Short:   "Draw the page, the plots and the CSV of a record again",
		Long:    "Reads a folder of zbench or its results.json and writes report.html, the plots,\nresults.csv and bucket.json, into the same folder or into --out. Of an\nunfinished sweep it reads the journal and marks missing cases as interrupted.",
		Example: "  zbench report DIR\n  zbench report DIR/results.json --out drawn",
		Args:    oneArg("a record"),
		RunE: func(_ *cobra.Command, args []string) error {
			text, file, err := read(s, args[0])
			if err != nil {
				return err
			}
			if !isRecord(text) && !isJournal(file, text) {
				return usagef("zbench import "+args[0]+" makes a record of a log", "%s is not a zbench record", args[0])
			}
			rec, err := readAny(s, args[0])
			if err != nil {
				return err
			}
			dir, err := drawnFolder(s, file, out)
			if err != nil {
				return err
			}
			defer dir.Close() //nolint:errcheck // a lock that stays is taken over by the next run
			if rec.OfKernels() {
				err = drawKernels(dir, rec)
			} else {
				err = drawCollectives(s, dir, rec, args[0], file, out)
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(s.Stderr, "Wrote %s\n", dir.File("report.html"))
			return nil
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "folder to create (default the record's own)")
	return cmd
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

// drawCollectives draws a record of collectives, with the recommendation beside it.
func drawCollectives(s State, dir *engine.Folder, rec *record.Record, path, file, out string) error {
	d := readAdvice(s, filepath.Dir(file), rec)
	if d == nil {
		source, err := readSource(s, path)
		if err != nil {
			return err
		}
		d = assumed(s, source)
	}
	if d.Kept() && out != "" {
		if err := dir.Write(engine.AdviceFile, d.WriteJSON); err != nil {
			return err
		}
	}
	return writeDrawn(dir, rec, d)
}
