package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"
)

func newReport(s State) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:     "report RECORD",
		Short:   "Draw the page, the plots and the CSV of a record again",
		Long:    "Reads a folder of zbench or its results.json and writes report.html, the plots,\nresults.csv and bucket.json, into the same folder or into --out. Where a sweep\nwas killed it reads the journal, and unfinished cases are interrupted.",
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
			if rec.OfKernels() {
				err = drawKernels(dir, rec)
			} else {
				err = writeDrawn(dir, rec, readAdvice(s, filepath.Dir(file), rec))
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(s.Stderr, "Wrote %s\n", dir.file("report.html"))
			return nil
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "folder to make and fill (default the record's own)")
	return cmd
}

// drawnFolder is where a drawing goes: out, which is made, or beside the file.
func drawnFolder(s State, file, out string) (*folder, error) {
	if out != "" {
		dir, err := newFolder(s, out, "report", false)
		if holds := (*holdsFiles)(nil); errors.As(err, &holds) {
			return nil, usage(err, "choose another --out")
		}
		return dir, err
	}
	return &folder{fs: s.FS, path: filepath.Dir(file)}, nil
}
