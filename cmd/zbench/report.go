package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"zbench/bench/bucket"
	"zbench/bench/memory"
)

func newRecommend(s State) *cobra.Command {
	return &cobra.Command{
		Use:   "recommend RECORD|LOG",
		Short: "The message sizes near the plateau, and what a bucket size still needs",
		Long: `Prints the sizes at 50, 80 and 90 % of each collective's plateau. A bucket size
also needs the model and its backward time, which this version does not take:
it says so and exits with 6.

` + exitCodes,
		Example: "  zbench recommend DIR\n  zbench recommend all_reduce.log",
		Args:    oneArg("a record or a log"),
		RunE: func(_ *cobra.Command, args []string) error {
			rec, err := readEither(s, args[0])
			if err != nil {
				return err
			}
			if err := bucket.Knees(rec).WriteText(s.Stdout); err != nil {
				return err
			}
			return &codeError{exitWant, errors.New("not enough input for a bucket size: the model and its backward time are missing"), "the list above says what is still needed"}
		},
	}
}

func newReport(s State) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:     "report RECORD",
		Short:   "Draw the page, the plots and the CSV of a record again",
		Long:    "Reads a folder of zbench or its results.json and writes report.html, the plots,\nresults.csv and bucket.json, into the same folder or into --out. Where a sweep was\nkilled it reads the journal, and unfinished cases are interrupted.",
		Example: "  zbench report DIR\n  zbench report DIR/results.json --out drawn",
		Args:    oneArg("a record"),
		RunE: func(_ *cobra.Command, args []string) error {
			text, file, err := read(s, args[0])
			if err != nil {
				return err
			}
			if memory.Is(text) {
				return redrawMemory(s, text, file, out)
			}
			if !isRecord(text) && !isJournal(file, text) {
				return usagef("zbench import "+args[0]+" makes a record of a log", "%s is not a zbench record", args[0])
			}
			rec, err := readEither(s, args[0])
			if err != nil {
				return err
			}
			dir := &folder{s.FS, filepath.Dir(file)}
			if out != "" {
				if dir, err = newFolder(s, out, "report", false); err != nil {
					return err
				}
			}
			if err := writeDrawn(dir, rec); err != nil {
				return err
			}
			fmt.Fprintf(s.Stderr, "Wrote %s\n", dir.file("report.html"))
			return nil
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "folder to make and fill (default the record's own)")
	return cmd
}

// redrawMemory draws the record of hbm or kernels, or its journal, again.
func redrawMemory(s State, text []byte, file, out string) error {
	rec, err := memory.Decode(text)
	if err != nil {
		return &codeError{exitRun, fmt.Errorf("%s: %w", file, err), "make it again, or read it with the zbench that wrote it"}
	}
	dir := &folder{s.FS, filepath.Dir(file)}
	if out != "" {
		if dir, err = newFolder(s, out, "report", false); err != nil {
			return err
		}
	}
	if err := drawMemory(dir, rec, ""); err != nil {
		return err
	}
	fmt.Fprintf(s.Stderr, "Wrote %s\n", dir.file("report.html"))
	return nil
}
