package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/advice"
	"zbench/bench/results"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
	"zbench/bench/show/table"
	"zbench/test/golden"
	"zbench/test/recordtest"
)

// three is a small record: one result, one skipped case, one in place.
func three() *record.Record {
	rec := recordtest.Sweep(11)
	inPlace := rec.Results[10]
	inPlace.InPlace, inPlace.Key = true, inPlace.Key+"-ip"
	rec.Results = []record.Result{rec.Results[9], inPlace, rec.Results[11]}
	return rec
}

// onTerminal is the table on a terminal.
func onTerminal(t *testing.T, x table.Table) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, table.Text(&b, table.Terminal, x))
	return b.String()
}

func tableText(t *testing.T, rec *record.Record) string {
	t.Helper()
	return onTerminal(t, results.Results(rec))
}

func markdownText(t *testing.T, rec *record.Record) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, table.Markdown(&b, results.Results(rec)))
	return b.String()
}

func writeHTML(t *testing.T, d *document.Document) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, WriteHTML(&b, d))
	// Spans that keep flags whole would stand in the way of every text that is looked for.
	return regexp.MustCompile(`<span class="flag">([^<]*)</span>`).ReplaceAllString(b.String(), "$1")
}

// factors names every collective of the table, which results' tests hold.
var factors = regexp.MustCompile(`busbw = algbw × [^\n]*, with n ranks`)

func TestGoldens(t *testing.T) {
	golden.Equal(t, "table.txt", tableText(t, three()))
	golden.Equal(t, "table.md", markdownText(t, three()))
	page := writeHTML(t, results.Collectives(three(), results.Extras{Knees: knees(), Command: "zbench collectives --nodes 128"}))
	golden.Equal(t, "outline.txt", factors.ReplaceAllString(outline(t, page), "busbw = algbw × …, with n ranks"))
}

// outline lists the page's headings, captions and other texts, one per line,
// and fails where the page is not well-formed. The page is written so that it
// is XML but for the script.
func outline(t *testing.T, page string) string {
	t.Helper()
	var out strings.Builder
	for _, e := range elements(t, page) {
		switch e.name {
		case "h1", "h2", "h3", "caption", "dt", "dd", "p", "th", "summary", "code", "li":
			if text := strings.Join(strings.Fields(e.text), " "); text != "" {
				out.WriteString(e.name + ": " + text + "\n")
			}
		}
	}
	return out.String()
}

// element is what the tests look at: a name, its attributes, its text.
type element struct {
	name string
	attr map[string]string
	text string
}

// elements parses strictly and returns every element in order of its end.
func elements(t *testing.T, page string) []element {
	t.Helper()
	var out, open []element
	var from []int // where the text of an open element begins in the page's text
	var text strings.Builder
	d := xml.NewDecoder(strings.NewReader(withoutScript(page)))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			require.Empty(t, open, "elements left open")
			return out
		}
		require.NoError(t, err)
		switch tok := token.(type) {
		case xml.StartElement:
			e := element{name: tok.Name.Local, attr: map[string]string{}}
			for _, a := range tok.Attr {
				e.attr[a.Name.Local] = a.Value
			}
			open, from = append(open, e), append(from, text.Len())
		case xml.CharData:
			text.Write(tok)
		case xml.EndElement:
			last := len(open) - 1
			open[last].text = text.String()[from[last]:]
			out = append(out, open[last])
			open, from = open[:last], from[:last]
		}
	}
}

// between returns what stands between two marks, and what is left without it.
func between(s, from, to string) (inner, rest string) {
	head, tail, ok := strings.Cut(s, from)
	if !ok {
		return "", s
	}
	inner, tail, _ = strings.Cut(tail, to)
	return inner, head + from + to + tail
}

func withoutScript(page string) string {
	_, page = between(page, "<script>", "</script>")
	return page
}

// pageOf is the page of a record, without more.
func pageOf(t *testing.T, rec *record.Record) string {
	t.Helper()
	return writeHTML(t, results.Collectives(rec, results.Extras{Knees: knees()}))
}

// sizeCharts are the charts over the size, spreads those of launches alone.
func sizeCharts(rec *record.Record) []document.Chart {
	return chartsOf(results.Collectives(rec, results.Extras{}))
}

func spreads(rec *record.Record) []document.Chart {
	for _, b := range section(rec, "spreads") {
		if strips, ok := b.(document.Strips); ok {
			return strips
		}
	}
	return nil
}

// section is what a section of the page of a record has; nil if there is no such section.
func section(rec *record.Record, name string) []document.Block {
	return blocksOf(results.Collectives(rec, results.Extras{}), name)
}

func blocksOf(d *document.Document, name string) []document.Block {
	for _, s := range d.Sections {
		if s.Name == name {
			return s.Blocks
		}
	}
	return nil
}

// sheets are the tables among blocks.
func sheets(blocks []document.Block) (out []document.Sheet) {
	for _, b := range blocks {
		if s, ok := b.(document.Sheet); ok {
			out = append(out, s)
		}
	}
	return out
}

// adviceChart is the chart of a recommendation.
func adviceChart(d *advice.Document) document.Chart {
	return chartsOf(&document.Document{Sections: []document.Section{{Blocks: advice.Blocks(d, "")}}})[0]
}

// chartsOf are the charts of a document, in its order.
func chartsOf(d *document.Document) []document.Chart {
	var out []document.Chart
	for b := range d.Blocks() {
		if p, ok := b.(document.Plot); ok {
			out = append(out, p.Chart)
		}
	}
	return out
}

// allCharts are both.
func allCharts(rec *record.Record) []document.Chart {
	return append(sizeCharts(rec), spreads(rec)...)
}

func svg(t *testing.T, c document.Block) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, WriteSVG(&b, c))
	return b.String()
}

// head are the names of a table's columns.
func head(t table.Table) []string {
	var names []string
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	return names
}
