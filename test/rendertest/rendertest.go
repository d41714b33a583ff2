// Package rendertest writes documents for the tests of the packages that make them.
package rendertest

import (
	"bytes"

	"github.com/stretchr/testify/require"

	"zbench/bench/show/document"
	"zbench/report"
)

// Text is the document on a terminal of so many columns; verbose is all that a terminal can show.
func Text(t require.TestingT, d *document.Document, width int, verbose bool) string {
	var b bytes.Buffer
	require.NoError(t, report.WriteText(&b, d, report.Screen{Width: width, Verbose: verbose}))
	return b.String()
}

// Markdown is the document for a merge request.
func Markdown(t require.TestingT, d *document.Document) string {
	var b bytes.Buffer
	require.NoError(t, report.WriteMarkdown(&b, d))
	return b.String()
}

// CSV is the document for a spreadsheet.
func CSV(t require.TestingT, d *document.Document) string {
	var b bytes.Buffer
	require.NoError(t, report.WriteCSV(&b, d))
	return b.String()
}

// JUnit is the document for a test server.
func JUnit(t require.TestingT, d *document.Document) string {
	var b bytes.Buffer
	require.NoError(t, report.WriteJUnit(&b, d))
	return b.String()
}
