package muon

import (
	_ "embed"
	"errors"
	"fmt"
	"io"

	"zbench/bench/jsonfile"
)

// SchemaJSON is the JSON Schema of a Report.
//
//go:embed schema/v1.json
var SchemaJSON []byte

// ErrNot is wrapped by errors of Decode that mean another kind of file.
var ErrNot = errors.New("not a zbench Muon record")

var format = jsonfile.Format{What: "muon record", Schema: Schema, Not: ErrNot}

// Encode writes the report as indented JSON. Lists that are nil become empty.
func Encode(w io.Writer, r *Report) error {
	out := *r
	out.Created = out.Created.UTC()
	out.Asked, out.Shapes, out.Checks = jsonfile.Filled(out.Asked), jsonfile.Filled(out.Shapes), jsonfile.Filled(out.Checks)
	return jsonfile.Write(w, format.What, out)
}

// Is tells a report by the first bytes.
func Is(text []byte) bool { return format.Is(text) }

// Decode reads a report.
func Decode(text []byte) (*Report, error) {
	var r Report
	rest, err := format.Decode(text, &r)
	if err == nil {
		err = format.Ended(rest)
	}
	if err != nil {
		return nil, err
	}
	if r.Done < 0 || r.Done > len(r.Asked) {
		return nil, fmt.Errorf("muon record: %d of %d shapes are done", r.Done, len(r.Asked))
	}
	for _, s := range r.Shapes {
		if err := s.Shape.Check(); err != nil {
			return nil, fmt.Errorf("muon record: %w", err)
		}
		for _, row := range s.Rows {
			if row.Seconds != nil && *row.Seconds <= 0 {
				return nil, fmt.Errorf("muon record: %s of %s takes no time", row.What, s.Shape)
			}
		}
	}
	return &r, nil
}
