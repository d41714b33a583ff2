package table

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
)

// gap is the number of spaces between two columns.
const gap = 2

// Text writes a table for a terminal. Title and notes are broken at width; a row is never broken.
func Text(w io.Writer, width int, t Table) error {
	lines, err := t.text(width)
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return written(w, lines, err)
}

// written writes lines, unless there was an error.
func written(w io.Writer, lines []string, err error) error {
	if err == nil {
		_, err = io.WriteString(w, strings.Join(lines, "\n")+"\n")
	}
	if err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return nil
}

// text returns the lines of a table.
func (t Table) text(width int) ([]string, error) {
	lines, err := t.drawn()
	if err != nil {
		return nil, err
	}
	lines = t.grouped(lines, width)
	var out []string
	if t.Title != "" {
		out = append(folded(t.Title, width), "")
	}
	out = append(append(out, t.over()...), lines...)
	if len(t.Notes) > 0 {
		out = append(out, "")
	}
	for _, note := range t.Notes {
		out = append(out, folded(note, width)...)
	}
	return out, nil
}

// grouped inserts a line and the group's values above the rows of each group.
func (t Table) grouped(lines []string, width int) []string {
	if len(t.By) == 0 {
		return lines
	}
	const header = 2 // the line of names and the line beneath it
	at := header
	for _, g := range t.Groups {
		words := append(slices.Clone(g.Cells), g.Note)
		words = slices.DeleteFunc(words, func(s string) bool { return s == "" })
		above := []string{lines[1], " " + plain.Clip(plain.Line(strings.Join(words, "  ")), width-2)}
		if at == header {
			above = above[1:]
		}
		lines = slices.Insert(lines, at, above...)
		at += len(above) + len(g.Rows)
	}
	return lines
}

// Method `over` returns the line with the shared headings.
func (t Table) over() []string {
	line := ""
	for first, last := range t.Headings() {
		left, room := t.Width(first), t.Room(first, last)
		line += strings.Repeat(" ", max(0, left-displaywidth.String(line)+1))
		name := t.Columns[first].Over
		text := "── " + name + " "
		if displaywidth.String(text) > room+1 {
			text = name + " " // no room for the previous column's line
		}
		line += text + strings.Repeat("─", max(0, room-displaywidth.String(text))) + " "
	}
	if line == "" {
		return nil
	}
	return []string{line}
}

// Headings iterates over the headings. The value first is the first column of a heading, and last
// is the column after its last column.
func (t Table) Headings() iter.Seq2[int, int] {
	return func(yield func(first, last int) bool) {
		for first := 0; first < len(t.Columns); {
			last := first + 1
			for last < len(t.Columns) && t.Columns[last].Over == t.Columns[first].Over {
				last++
			}
			if t.Columns[first].Over != "" && !yield(first, last) {
				return
			}
			first = last
		}
	}
}

// Room returns the width of the columns with the indices first to last−1, in characters, without
// the gap after them.
func (t Table) Room(first, last int) int { return t.Width(last) - t.Width(first) - gap }

// Width returns the width of the first columns, in characters, each with the gap after it.
func (t Table) Width(columns int) int {
	sum, rows := 0, t.rows()
	for c, column := range t.Columns[:columns] {
		widest := displaywidth.String(column.Name)
		for _, row := range rows {
			widest = max(widest, displaywidth.String(plain.Line(row[c])))
		}
		sum += widest + gap
	}
	return sum
}

// drawn lays out the cells without borders. tablewriter puts a space on both sides of every cell.
func (t Table) drawn() ([]string, error) {
	names := slice.Map(t.Columns, func(c Column) string { return c.Name })
	beneath := tw.Off
	if t.Rule {
		beneath = tw.On
	}
	lines, err := render(t.Columns, names, t.rows(), renderer.NewBlueprint(tw.Rendition{
		Borders:  tw.Border{Left: tw.Off, Right: tw.Off, Top: tw.Off, Bottom: tw.Off},
		Settings: tw.Settings{Separators: tw.Separators{BetweenColumns: tw.Off}, Lines: tw.Lines{ShowHeaderLine: beneath}},
	}))
	if err != nil || t.Rule {
		return lines, err
	}
	for i := range lines {
		lines[i] = strings.Repeat(" ", t.Indent) + strings.TrimPrefix(lines[i], " ")
	}
	return lines, nil
}

// render lets tablewriter lay out the cells and returns the lines.
func render(columns []Column, names []string, rows [][]string, r tw.Renderer) ([]string, error) {
	align := make([]tw.Align, len(columns))
	for i, c := range columns {
		align[i] = tw.AlignLeft
		if c.Right {
			align[i] = tw.AlignRight
		}
	}
	cells := tw.CellConfig{
		Formatting: tw.CellFormatting{AutoFormat: tw.Off, AutoWrap: tw.WrapNone},
		Alignment:  tw.CellAlignment{PerColumn: align},
	}
	var b bytes.Buffer
	// Widths depend only on the text, so that the language of the environment cannot move a column.
	table := tablewriter.NewTable(&b, tablewriter.WithRenderer(r), tablewriter.WithEastAsian(tw.Off),
		tablewriter.WithConfig(tablewriter.Config{Header: cells, Row: cells}))
	table.Header(names)
	for _, row := range rows {
		// Append keeps the slice that it gets, so it gets a copy.
		clean := slice.Map(row, plain.Line)
		if err := table.Append(clean); err != nil {
			return nil, err
		}
	}
	if err := table.Render(); err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimRight(b.String(), "\n"), "\n"), nil
}

// folded breaks a title or a note into lines. Later lines are indented.
func folded(s string, width int) []string {
	return plain.Fold(plain.OneSpace(plain.Line(s)), width, "", "    ")
}

// Forget frees the cache of text widths, which takes 0.7 MB from the start of the program. Tables
// can still be written, but more slowly.
func Forget() { twwidth.SetCacheCapacity(0) }
