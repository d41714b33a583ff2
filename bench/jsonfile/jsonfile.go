// Package jsonfile is what zbench's files of JSON have in common: indented, the
// same bytes for the same document, and told by the "schema" they begin with.
package jsonfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Write writes a document as indented JSON with a newline at its end, or nothing
// where JSON cannot hold it, as a NaN. what names the document in errors.
func Write(w io.Writer, what string, document any) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(document); err != nil {
		return fmt.Errorf("%s: encode: %w", what, err)
	}
	if _, err := w.Write(text.Bytes()); err != nil {
		return fmt.Errorf("%s: write: %w", what, err)
	}
	return nil
}

// Filled turns a nil list, which JSON would have as null, into an empty one.
func Filled[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Format is a kind of file in its present version.
type Format struct {
	What   string // names it in errors: "memory record"
	Schema string // "zbench.memory/1", the version that is read
	Not    error  // wrapped by errors that mean another kind of file
}

// Is tells a file of the format, in any version, by the first bytes.
func (f Format) Is(text []byte) bool {
	family, _, _ := strings.Cut(f.Schema, "/")
	return bytes.Contains(text[:min(len(text), 200)], []byte(`"`+family+"/"))
}

// Decode reads the document at the beginning of the text into into, and returns
// what is behind it.
func (f Format) Decode(text []byte, into any) (rest []byte, err error) {
	if !f.Is(text) {
		return nil, f.Not
	}
	var head struct {
		Schema string `json:"schema"`
	}
	for _, part := range []any{&head, into} {
		d := json.NewDecoder(bytes.NewReader(text))
		if err := d.Decode(part); err != nil {
			return nil, fmt.Errorf("%s: %w", f.What, err)
		}
		if head.Schema != f.Schema {
			return nil, fmt.Errorf("%s: %w: it is of version %q, this zbench reads %q", f.What, f.Not, head.Schema, f.Schema)
		}
		rest = text[d.InputOffset():]
	}
	return rest, nil
}

// Ended refuses anything but white space behind a document.
func (f Format) Ended(rest []byte) error {
	if len(bytes.TrimSpace(rest)) > 0 {
		return fmt.Errorf("%s: %d bytes behind its end", f.What, len(rest))
	}
	return nil
}
