// Package jsonfile has the common code of zbench's JSON files. They are indented, and the same
// document always gives the same bytes.
package jsonfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Write writes a document as indented JSON with a checksum and a final newline. If JSON cannot
// represent the document, for example because of a NaN, it writes nothing. Errors use what as the
// name of the document.
func Write(w io.Writer, what string, document any) error {
	text, err := indented(document)
	if err == nil {
		text, err = sealed(text)
	}
	return written(w, what, text, err)
}

// WriteBare writes a document without a checksum.
func WriteBare(w io.Writer, what string, document any) error {
	text, err := indented(document)
	return written(w, what, text, err)
}

func indented(document any) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(document)
	return text.Bytes(), err
}

func written(w io.Writer, what string, text []byte, err error) error {
	if err != nil {
		return fmt.Errorf("%s: encode: %w", what, err)
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("%s: write: %w", what, err)
	}
	return nil
}

// Filled returns an empty list for nil, which JSON would write as null.
func Filled[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
