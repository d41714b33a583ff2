package muon

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// SchemaJSON is the JSON Schema of a Report.
//
//go:embed schema/v1.json
var SchemaJSON []byte

// ErrNot is wrapped by errors of Decode that mean another kind of file.
var ErrNot = errors.New("not a zbench Muon record")

// Encode writes the report as indented JSON. Lists that are nil become empty.
func Encode(w io.Writer, r *Report) error {
	out := *r
	out.Created = out.Created.UTC()
	out.Asked, out.Shapes, out.Checks = filled(out.Asked), filled(out.Shapes), filled(out.Checks)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(out); err != nil {
		return fmt.Errorf("muon record: encode: %w", err)
	}
	return nil
}

func filled[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Is tells a report by the first bytes.
func Is(text []byte) bool {
	return bytes.Contains(text[:min(len(text), 200)], []byte(`"zbench.muon/`))
}

// Decode reads a report.
func Decode(text []byte) (*Report, error) {
	if !Is(text) {
		return nil, ErrNot
	}
	d := json.NewDecoder(bytes.NewReader(text))
	var r Report
	if err := d.Decode(&r); err != nil {
		return nil, fmt.Errorf("muon record: %w", err)
	}
	if r.Schema != Schema {
		return nil, fmt.Errorf("muon record: %w: it is of version %q, this zbench reads %q", ErrNot, r.Schema, Schema)
	}
	if rest := bytes.TrimSpace(text[d.InputOffset():]); len(rest) > 0 {
		return nil, fmt.Errorf("muon record: %d bytes behind its end", len(rest))
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
