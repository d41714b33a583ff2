package memory

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"zbench/bench/jsonfile"
	"zbench/bench/record"
)

// SchemaJSON is the JSON Schema (draft 2020-12) of what Encode writes.
//
//go:embed schema/v1.json
var SchemaJSON []byte

// ErrNot is wrapped by errors of Decode that mean another kind of file.
var ErrNot = errors.New("not a zbench memory record")

var format = jsonfile.Format{What: "memory record", Schema: Schema, Not: ErrNot}

// Encode writes the record as indented JSON. Lists that are nil become empty.
func Encode(w io.Writer, rec *Record) error {
	out := *rec
	out.Created = out.Created.UTC()
	out.Warnings, out.Devices = jsonfile.Filled(out.Warnings), jsonfile.Filled(out.Devices)
	a := &out.Asked
	a.Sizes, a.Kernels, a.Dtypes = jsonfile.Filled(a.Sizes), jsonfile.Filled(a.Kernels), jsonfile.Filled(a.Dtypes)
	out.Results = jsonfile.Filled(slices.Clone(out.Results))
	for i := range out.Results {
		out.Results[i].Warnings = jsonfile.Filled(out.Results[i].Warnings)
	}
	return jsonfile.Write(w, format.What, out)
}

// Is tells a memory record, or its journal, by the first bytes.
func Is(text []byte) bool { return format.Is(text) }

// Decode reads a record, or the journal of a run that was killed: a header line
// with the planned cases, then a line for each that has ended. Cases that had not
// are interrupted, and a last line that was not written whole is left out.
func Decode(text []byte) (*Record, error) {
	if bytes.HasPrefix(text, []byte("{\"")) {
		return decodeJournal(text)
	}
	var rec Record
	rest, err := format.Decode(text, &rec)
	if err == nil {
		err = format.Ended(rest)
	}
	if err != nil {
		return nil, err
	}
	return &rec, rec.check()
}

func decodeJournal(text []byte) (*Record, error) {
	lines, torn := jsonfile.CutTruncated(text)
	if len(lines) == 0 {
		return nil, fmt.Errorf("memory record: %w: the run was killed before it began, and the journal holds nothing", ErrNot)
	}
	var rec Record
	if err := jsonfile.DecodeLine(lines[0], &rec); err != nil {
		return nil, fmt.Errorf("memory record: journal: line 1: %w", err)
	}
	if rec.Schema != Schema {
		return nil, fmt.Errorf("memory record: %w: it is of version %q, this zbench reads %q", ErrNot, rec.Schema, Schema)
	}
	if err := rec.goOn(lines[1:]); err != nil {
		return nil, err
	}
	if torn > 0 {
		rec.Warnings = append(rec.Warnings, record.Warning{
			Code: "torn", Message: fmt.Sprintf("the last line of the journal was cut off while it was written (%d bytes): its result is left out", torn),
			Hint: "measure again where it is needed",
		})
	}
	return &rec, rec.check()
}

// goOn puts the journal's lines in the places of the planned cases.
func (rec *Record) goOn(lines [][]byte) error {
	place := map[string]int{}
	for i := range rec.Results {
		r := &rec.Results[i]
		place[r.id()] = i
		r.Status, r.Reason = record.Interrupted, "the run ended before it"
	}
	for n, line := range lines {
		var r Result
		if err := jsonfile.DecodeLine(line, &r); err != nil {
			return fmt.Errorf("memory record: journal: line %d: %w", n+2, err)
		}
		i, planned := place[r.id()]
		if !planned {
			rec.Results = append(rec.Results, r) // chosen by what was measured before
			continue
		}
		rec.Results[i] = r
	}
	rec.Warnings = append(rec.Warnings, rec.Outliers()...)
	return nil
}

// id names a result within its record.
func (r *Result) id() string { return fmt.Sprintf("%s@%d", r.Key, r.Device) }

// check refuses what no run can have left, so that nothing else has to.
func (rec *Record) check() error {
	for i := range rec.Results {
		r := &rec.Results[i]
		bad := ""
		switch {
		case r.Array < 0 || r.Moved < 0 || r.WorkingSet < 0 || r.Rows < 0 || r.Hidden < 0:
			bad = "a negative size"
		case r.Rate != nil && !(*r.Rate > 0 && !math.IsInf(*r.Rate, 0)):
			bad = "a rate that is not positive"
		case r.Status == "":
			bad = "no status"
		case r.Timing != nil && r.Timing.Seconds == nil:
			bad = "a timing without times"
		}
		if bad != "" {
			return fmt.Errorf("memory record: result %d (%s) has %s", i, r.Key, bad)
		}
	}
	return nil
}

// HeaderLine is the first line of a journal: the record with its planned cases. Each
// line ends in a checksum of its own, as jsonfile.Line writes it.
func HeaderLine(rec *Record) ([]byte, error) { return line(rec) }

// Line is a result as a line of the journal.
func (r *Result) Line() ([]byte, error) { return line(r) }

func line(v any) ([]byte, error) {
	text, err := jsonfile.Line(v)
	if err != nil {
		return nil, fmt.Errorf("memory record: journal: %w", err)
	}
	return text, nil
}
