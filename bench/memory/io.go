package memory

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"zbench/bench/record"
)

// SchemaJSON is the JSON Schema (draft 2020-12) of what Encode writes.
//
//go:embed schema/v1.json
var SchemaJSON []byte

// ErrNot is wrapped by errors of Decode that mean another kind of file.
var ErrNot = errors.New("not a zbench memory record")

// Encode writes the record as indented JSON. Lists that are nil become empty.
func Encode(w io.Writer, rec *Record) error {
	out := *rec
	out.Created = out.Created.UTC()
	out.Warnings, out.Devices = filled(out.Warnings), filled(out.Devices)
	out.Asked.Sizes, out.Asked.Kernels, out.Asked.Dtypes = filled(out.Asked.Sizes), filled(out.Asked.Kernels), filled(out.Asked.Dtypes)
	out.Results = filled(append([]Result(nil), out.Results...))
	for i := range out.Results {
		out.Results[i].Warnings = filled(out.Results[i].Warnings)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(out); err != nil {
		return fmt.Errorf("memory record: encode: %w", err)
	}
	return nil
}

func filled[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Is tells a memory record, or its journal, by the first bytes.
func Is(text []byte) bool {
	return bytes.Contains(text[:min(len(text), 200)], []byte(`"zbench.memory/`))
}

// Decode reads a record, or the journal of a run that was killed: a header line
// with the planned cases, then a line for each that has ended. Cases that had not
// are interrupted, and a last line that was not written whole is left out.
func Decode(text []byte) (*Record, error) {
	if !Is(text) {
		return nil, ErrNot
	}
	d := json.NewDecoder(bytes.NewReader(text))
	var rec Record
	if err := d.Decode(&rec); err != nil {
		return nil, fmt.Errorf("memory record: %w", err)
	}
	if rec.Schema != Schema {
		return nil, fmt.Errorf("memory record: %w: it is of version %q, this zbench reads %q", ErrNot, rec.Schema, Schema)
	}
	rest := text[d.InputOffset():]
	if bytes.HasPrefix(text, []byte("{\"")) {
		if err := rec.goOn(rest); err != nil {
			return nil, err
		}
	} else if len(bytes.TrimSpace(rest)) > 0 {
		return nil, fmt.Errorf("memory record: %d bytes behind its end", len(rest))
	}
	return &rec, rec.check()
}

// goOn puts the journal's lines in the places of the planned cases.
func (rec *Record) goOn(lines []byte) error {
	place := map[string]int{}
	for i := range rec.Results {
		r := &rec.Results[i]
		place[r.id()] = i
		r.Status, r.Reason = record.Interrupted, "the run ended before it"
	}
	whole := bytes.LastIndexByte(lines, '\n') + 1
	for n, line := range bytes.Split(lines[:whole], []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		var r Result
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("memory record: journal line %d: %w", n+1, err)
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

// HeaderLine is the first line of a journal: the record with its planned cases.
func HeaderLine(rec *Record) ([]byte, error) { return line(rec) }

// Line is a result as a line of the journal.
func (r *Result) Line() ([]byte, error) { return line(r) }

func line(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("memory record: journal: %w", err)
	}
	return append(text, '\n'), nil
}
