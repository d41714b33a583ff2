// Package peers reads the output of rccl-tests and nccl-tests, text or CSV, into zbench's record.
//
// The steps are the files: lines.go reads lines, which package envelope cleans. scan.go sorts them
// into tests by the table in grammar.go; preamble.go, meta.go, world.go, section.go and header.go
// know the kinds of lines. row.go assigns a row's words to the column names; csv.go reads CSV.
// table.go and agree.go decide which rows are credible. name.go finds the collective, infer.go the
// number of ranks. setup.go separates repeats from other runs. build.go makes the record.
//
// A row is read if it follows its header, and the number of its cells, the type of each cell, its
// count and size/time against the printed algbw agree. Any other row is left out and named, with
// its line and the reason; no row is assembled from pieces. Memory is bounded whatever the input.
package peers

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/run/record"
)

var (
	// ErrNoTable is wrapped if the text has no rccl-tests or nccl-tests table.
	ErrNoTable = errors.New("no rccl-tests or nccl-tests table")
	// ErrFormat is wrapped by package formats if the input is their output in an unreadable form.
	ErrFormat = errors.New("not the text or CSV output of rccl-tests or nccl-tests")
	// ErrNoRows is wrapped if there is a table but no usable row.
	ErrNoRows = errors.New("no row could be taken")
	// ErrCollective is wrapped if the collective is unknown, ambiguous or contradicted by the
	// numbers.
	ErrCollective = errors.New("collective not determined")
	// ErrTooLarge is wrapped if the input, a line, or the number of rows, sizes or tests exceeds
	// any real log's.
	ErrTooLarge = errors.New("too large for a log")
	// ErrMerge is wrapped by the errors of Merge.
	ErrMerge = errors.New("cannot merge")
)

// Hints supply facts that a log may lack. The log's own facts win, with a warning.
type Hints struct {
	// Collective names the collective (in any spelling of collective.ByName) if the log does not.
	Collective string
	// File is the base name of the log; its collective is used if neither the log nor Collective
	// names one.
	File string
	// Nodes and Ranks are used if the log does not list its devices; 0 is unknown.
	Nodes, Ranks int
}

// Parse reads one log. The record has its Schema, Source, World, Results (times in seconds,
// bandwidths in bytes per second) and Warnings set; the caller sets Tool and Created.
//
// It fails, wrapping ErrFormat, ErrNoTable, ErrNoRows, ErrCollective or ErrTooLarge, if nothing in
// the input can be read with certainty, and returns the reader's own error.
func Parse(r io.Reader, o Hints) (*record.Record, error) {
	s := newScan()
	sum, err := whole.eachLine(r, s.line)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cmp.Or(o.File, "log"), err)
	}
	rec, err := s.build(o)
	if err == nil {
		err = rec.CheckNames()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cmp.Or(o.File, "log"), err)
	}
	imp := &rec.Source.Imports[0]
	imp.File, imp.SHA256, imp.Lines = o.File, sum.sha256, sum.lines
	return rec, nil
}

// noTable explains an input without a table.
func (s *scan) noTable() error {
	if s.csv != nil {
		return fmt.Errorf("%w: no row follows the names of the CSV", ErrNoRows)
	}
	hint := "pass what all_reduce_perf and its like print to stdout, with the line of column names"
	if len(s.warnings) > 0 {
		said := slice.Map(s.warnings, func(w record.Warning) string { return w.Message })
		hint = "the log says: " + strings.Join(said, "; ")
	}
	var all skips
	for _, t := range s.tests {
		all.merge(t.skips...)
	}
	if len(all) > 0 {
		hint = all.text() + "; " + hint
	}
	return fmt.Errorf("%w: looked in %d lines for column names (size, time, algbw, busbw) or for bare rows of such a table; %s",
		ErrNoTable, s.seen, hint)
}
