// Package peers reads the output of rccl-tests and nccl-tests, as text or CSV, into zbench's
// record.
//
// Each file is one step. lines.go reads lines, which package envelope cleans. scan.go sorts the
// lines into tests by the rules in grammar.go; preamble.go, meta.go, world.go, section.go and
// header.go handle the kinds of lines. row.go assigns the words of a row to the columns; csv.go
// reads CSV. table.go and agree.go decide which rows are credible. name.go finds the collective.
// infer.go finds the number of ranks. setup.go separates repeats of a run from other runs. build.go
// makes the record.
//
// A row is read if it follows its header and is consistent. Four things are checked: the number of
// its cells, the type of each cell, its count, and whether size/time agrees with the printed algbw.
// Any other row is left out and reported with its line and the reason. A row is never assembled
// from pieces. Memory is bounded for every input.
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
	// ErrFormat is wrapped by package formats if the input is output of these tools in a form that
	// zbench cannot read.
	ErrFormat = errors.New("not the text or CSV output of rccl-tests or nccl-tests")
	// ErrNoRows is wrapped if there is a table but no usable row.
	ErrNoRows = errors.New("no row could be taken")
	// ErrCollective is wrapped if the collective is unknown, ambiguous or contradicted by the
	// numbers.
	ErrCollective = errors.New("collective not determined")
	// ErrTooLarge is wrapped if the input, a line, or the number of rows, sizes or tests is larger
	// than in any real log.
	ErrTooLarge = errors.New("too large for a log")
	// ErrMerge is wrapped by the errors of Merge.
	ErrMerge = errors.New("cannot merge")
)

// Hints supply facts that a log may lack. If the log states a fact, too, the log wins and a warning
// says so.
type Hints struct {
	// Collective names the collective if the log does not name it, in any spelling that
	// collective.ByName accepts.
	Collective string
	// File is the base name of the log. The collective in this name is used if neither the log nor
	// Collective names a collective.
	File string
	// Nodes and Ranks are used if the log does not list its devices; 0 means unknown.
	Nodes, Ranks int
}

// Parse reads one log. It sets the record's Schema, Source, World, Results (times in seconds,
// bandwidths in bytes per second) and Warnings. The caller sets Tool and Created.
//
// If nothing in the input can be read with certainty, the error wraps ErrFormat, ErrNoTable,
// ErrNoRows, ErrCollective or ErrTooLarge. Errors of the reader are returned.
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

// noTable returns the error for an input without a table.
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
