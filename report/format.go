package report

import (
	"fmt"
	"io"
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/show/document"
)

// Format is an output format for documents. To add a format, add a row to the table.
type Format struct {
	Name string
	// Readable is true if the format is text to which more text for people may be appended.
	Readable bool
	write    func(w io.Writer, d *document.Document, s Screen) error
}

var formats = []Format{
	{"table", true, WriteText},
	{"markdown", false, func(w io.Writer, d *document.Document, _ Screen) error { return WriteMarkdown(w, d) }},
	{"csv", false, func(w io.Writer, d *document.Document, _ Screen) error { return WriteCSV(w, d) }},
	{"json", false, func(w io.Writer, d *document.Document, _ Screen) error { return WriteJSON(w, d) }},
	{"junit", false, func(w io.Writer, d *document.Document, _ Screen) error { return WriteJUnit(w, d) }},
}

// FormatNames returns the names of the formats.
func FormatNames() []string {
	return slice.Map(formats, func(f Format) string { return f.Name })
}

// FormatOf returns the format with a name, or false if there is none.
func FormatOf(name string) (Format, bool) {
	i := slices.IndexFunc(formats, func(f Format) bool { return f.Name == name })
	if i < 0 {
		return Format{}, false
	}
	return formats[i], true
}

// Write writes a document in this format. s is only used for text on a terminal.
func (f Format) Write(w io.Writer, d *document.Document, s Screen) error { return f.write(w, d, s) }

// WriteJSON writes the typed result of the document.
func WriteJSON(w io.Writer, d *document.Document) error {
	if d.Value == nil {
		return fmt.Errorf("write JSON: zbench %s has none", d.Command)
	}
	return d.Value.WriteJSON(w)
}
