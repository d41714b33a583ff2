// Package rendertest renders documents for the tests of packages that make them.
package rendertest

import (
	"bytes"

	"github.com/stretchr/testify/require"

	"zbench/bench/show/document"
	"zbench/report"
)

// Text returns the document as text for a terminal of the given width. verbose shows everything
// that a terminal can show.
func Text(t require.TestingT, d *document.Document, width int, verbose bool) string {
	var b bytes.Buffer
	require.NoError(t, report.WriteText(&b, d, report.Screen{Width: width, Verbose: verbose}))
	return b.String()
}

// Markdown returns the document as Markdown.
func Markdown(t require.TestingT, d *document.Document) string {
	var b bytes.Buffer
	require.NoError(t, report.WriteMarkdown(&b, d))
	return b.String()
}

// CSV returns the document as CSV.
func CSV(t require.TestingT, d *document.Document) string {
	var b bytes.Buffer
	require.NoError(t, report.WriteCSV(&b, d))
	return b.String()
}

// JUnit returns the document as JUnit XML.
func JUnit(t require.TestingT, d *document.Document) string {
	var b bytes.Buffer
	require.NoError(t, report.WriteJUnit(&b, d))
	return b.String()
}
