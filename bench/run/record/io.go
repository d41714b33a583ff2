package record

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"zbench/bench/base/finding"
	"zbench/bench/base/jsonfile"
)

// SchemaJSON is the JSON Schema (draft 2020-12) of WriteJSON's output.
//
//go:embed schema/v2.json
var SchemaJSON []byte

// MaxBytes is the largest record that Decode reads. A case takes about 1 KiB, so such a record has room for
// a quarter of a million cases.
const MaxBytes = 256 << 20

// Decode wraps ErrNotRecord if the file is not a record, and ErrVersion if the record has another version of
// the format.
var (
	ErrNotRecord = errors.New("not a zbench record")
	ErrVersion   = errors.New("unknown version of the record format")
)

// WriteJSON writes the record as indented JSON with a newline at its end. The same record gives the same
// bytes: nil lists are written as empty lists, and the time of creation is written in UTC. It fails on a NaN
// or an infinity, which JSON cannot represent.
func (r *Record) WriteJSON(w io.Writer) error {
	return jsonfile.Write(w, "record", normal(*r))
}

// CodeEdited is the code of the warning that a record's content differs from what zbench wrote.
const CodeEdited = "edited"

// Edits returns the warnings that the record, or the samples beside it, differ from what zbench
// wrote.
func (r *Record) Edits() []Warning {
	return slices.DeleteFunc(slices.Clone(r.Warnings), func(w Warning) bool { return w.Code != CodeEdited })
}

// normal fills every list that the format always has. It copies what it changes; the caller's
// record stays unchanged.
func normal(rec Record) Record {
	rec.Created = rec.Created.UTC()
	rec.Warnings = jsonfile.Filled(rec.Warnings)
	if j := rec.Judgement; j != nil {
		rec.Judgement = &finding.Judgement{Rules: j.Rules, State: j.State, Findings: jsonfile.Filled(j.Findings)}
	}
	rec.Results, rec.Kernels = jsonfile.Filled(slices.Clone(rec.Results)), slices.Clone(rec.Kernels)
	for _, c := range rec.Cases() {
		c.Warnings = jsonfile.Filled(c.Warnings)
	}
	rec.Source.Imports = slices.Clone(rec.Source.Imports)
	for i := range rec.Source.Imports {
		im := &rec.Source.Imports[i]
		im.Skipped = jsonfile.Filled(slices.Clone(im.Skipped))
		for j := range im.Skipped {
			im.Skipped[j].Lines = jsonfile.Filled(im.Skipped[j].Lines)
		}
	}
	if rec.Fabric != nil {
		f := *rec.Fabric
		f.Roofs, f.Extrapolated, f.Sources = jsonfile.Filled(f.Roofs), jsonfile.Filled(f.Extrapolated), jsonfile.Filled(f.Sources)
		rec.Fabric = &f
	}
	if rec.Spec != nil {
		want := rec.Spec.Clone()
		if want.Sweep != nil {
			want.Sweep.Collectives = jsonfile.Filled(want.Sweep.Collectives)
		}
		rec.Spec = &want
	}
	return rec
}

// Decode reads one record. It ignores unknown fields, so that records with added fields can be read. It
// refuses any other Schema, because a change of the format that could mislead Decode gets a new Schema. A
// record whose content does not match its checksum gets the warning CodeEdited. Every error states the
// defect and, if possible, its place.
func Decode(r io.Reader) (*Record, error) { return decode(r, MaxBytes) }

func decode(r io.Reader, limit int64) (*Record, error) {
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("record: read: %w", err)
	}
	if int64(len(text)) > limit {
		return nil, fmt.Errorf("record: %w: larger than %d MiB", ErrNotRecord, limit>>20)
	}
	var head struct {
		Schema *string `json:"schema"`
		SHA256 *string `json:"sha256"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("record: %w: %w", ErrNotRecord, located(text, err))
	}
	if head.Schema == nil {
		return nil, fmt.Errorf("record: %w: JSON without a \"schema\" field", ErrNotRecord)
	}
	if *head.Schema != Schema {
		return nil, fmt.Errorf("record: %w: the file has %q, this zbench reads %q", ErrVersion, *head.Schema, Schema)
	}
	rec := &Record{}
	if err := json.Unmarshal(text, rec); err != nil {
		return nil, fmt.Errorf("record: %w", located(text, err))
	}
	if err := rec.check(); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	edited := jsonfile.Edited(text)
	if edited || head.SHA256 == nil { // the findings describe the original content
		rec.Judgement = nil
	}
	if edited {
		rec.Warnings = append(rec.Warnings, Warning{
			CodeEdited, "the record was edited after zbench wrote it: its content does not fit its checksum",
			"if you did not change it, do not use it: `zbench report DIR/journal.jsonl` reads what was measured",
		})
	}
	return rec, nil
}

// located adds the line to an error of the JSON parser.
func located(text []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case len(bytes.TrimSpace(text)) == 0:
		return errors.New("the file is empty")
	case errors.As(err, &syntax) && syntax.Offset >= int64(len(text)):
		return fmt.Errorf("line %d: the file ends in the middle: %w", line(text, syntax.Offset), err)
	case errors.As(err, &syntax):
		return fmt.Errorf("line %d: %w", line(text, syntax.Offset), err)
	case errors.As(err, &kind):
		return fmt.Errorf("line %d: %w", line(text, kind.Offset), err)
	}
	return err
}

// line returns the number of the line at an offset, from 1.
func line(text []byte, offset int64) int {
	return 1 + bytes.Count(text[:min(max(offset, 0), int64(len(text)))], []byte("\n"))
}
