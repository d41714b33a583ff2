package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"zbench/bench/plain"
	"zbench/bench/record"
)

// Formats of WriteTable.
const (
	FormatTable    = "table"
	FormatMarkdown = "markdown"
)

// lineWidth is the width of a terminal the table must fit into.
const lineWidth = 120

// folded breaks a title or a note into lines of lineWidth; those after the first are
// indented.
func folded(text string) []string {
	return plain.Fold(plain.OneSpace(text), lineWidth, "", "    ")
}

// WriteTable writes all cases as a table for a terminal ("table") or a merge
// request ("markdown"), grouped by collective, with the units beneath. Cases
// that did not end ok are rows too, with the reason beneath.
func WriteTable(w io.Writer, rec *record.Record, format string) error {
	if rec == nil {
		rec = &record.Record{}
	}
	t := textTable(rec)
	var b bytes.Buffer
	var err error
	switch format {
	case FormatTable:
		err = t.terminal(&b)
	case FormatMarkdown:
		err = t.markdown(&b)
	default:
		return fmt.Errorf("unknown table format %q: valid are %s, %s", format, FormatTable, FormatMarkdown)
	}
	if err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	if _, err := b.WriteTo(w); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return nil
}

// textual is a table as strings.
type textual struct {
	title  string
	head   []string
	align  []tw.Align
	rows   [][]string
	blocks []block
	// halves is the first column of either half and the one after the last,
	// where results out of place and in place stand side by side.
	halves []int
	footer []string
}

// block is the rows of one collective.
type block struct {
	name, dtype, op string
	// common are the notes that all its results have.
	common []string
	first  int
}

// heading is the block's title line.
func (b block) heading() string {
	return clip(oneLine(strings.Join(nonEmpty(b.name, b.dtype, b.op, strings.Join(b.common, ", ")), "  ")), lineWidth-2)
}

// terminal draws no borders, with a rule and a title above each collective.
func (t textual) terminal(w io.Writer) error {
	lines, err := t.render(renderer.NewBlueprint(tw.Rendition{
		Borders:  tw.Border{Left: tw.Off, Right: tw.Off, Top: tw.Off, Bottom: tw.Off},
		Settings: tw.Settings{Separators: tw.Separators{BetweenColumns: tw.Off}},
	}))
	if err != nil {
		return err
	}
	const header = 2 // the names and the rule beneath
	for _, b := range slices.Backward(t.blocks) {
		above := []string{lines[1], " " + b.heading()}
		if b.first == 0 {
			above = above[1:]
		}
		if at := header + b.first; at <= len(lines) {
			lines = slices.Insert(lines, at, above...)
		}
	}
	out := slices.Concat(folded(t.title), []string{""}, t.over(), lines, []string{""})
	for _, line := range t.footer {
		out = append(out, folded(line)...)
	}
	for i := range out {
		out[i] = strings.TrimRight(out[i], " ")
	}
	_, err = io.WriteString(w, strings.Join(out, "\n")+"\n")
	return err
}

// over is the line above the column names that tells the halves apart.
func (t textual) over() []string {
	if len(t.halves) == 0 {
		return nil
	}
	line := ""
	for i, name := range []string{"out of place", "in place"} {
		left, right := t.width(t.halves[i]), t.width(t.halves[i+1])
		line += strings.Repeat(" ", left-len([]rune(line))+1)
		text := "── " + name + " "
		line += text + strings.Repeat("─", max(0, right-left-2-len([]rune(text)))) + " "
	}
	return []string{line}
}

// width is what the columns before the given one take.
func (t textual) width(column int) int {
	sum := 0
	for c := range column {
		widest := len([]rune(t.head[c]))
		for _, row := range t.rows {
			widest = max(widest, len([]rune(row[c])))
		}
		const padding = 2
		sum += widest + padding
	}
	return sum
}

// markdown writes a pipe table between a title and the footer as a list. It has
// no title lines: columns name the collective and the halves.
func (t textual) markdown(w io.Writer) error {
	safe := t
	safe.rows, safe.head = nil, append([]string{"collective", "type", "op"}, t.head...)
	safe.align = append([]tw.Align{tw.AlignLeft, tw.AlignLeft, tw.AlignLeft}, t.align...)
	if len(t.halves) > 0 {
		for c := t.halves[1]; c < t.halves[2]; c++ {
			safe.head[c+3] = "in-place " + t.head[c]
		}
	}
	for i, row := range t.rows {
		of := t.blockAt(i)
		notes := strings.Join(nonEmpty(append(slices.Clone(of.common), row[len(row)-1])...), ", ")
		var cells []string
		for _, c := range slices.Concat([]string{of.name, of.dtype, orNone(of.op)}, row[:len(row)-1], []string{notes}) {
			cells = append(cells, plain.Markdown(oneLine(c)))
		}
		safe.rows = append(safe.rows, cells)
	}
	lines, err := safe.render(renderer.NewMarkdown())
	if err != nil {
		return err
	}
	out := append([]string{"**" + plain.Markdown(t.title) + "**", ""}, lines...)
	out = append(out, "")
	for _, line := range t.footer {
		out = append(out, "- "+plain.Markdown(line))
	}
	_, err = io.WriteString(w, strings.Join(out, "\n")+"\n")
	return err
}

// render lets tablewriter lay the cells out and returns the lines.
func (t textual) render(r tw.Renderer) ([]string, error) {
	var b bytes.Buffer
	table := tablewriter.NewTable(&b, tablewriter.WithRenderer(r), tablewriter.WithConfig(tablewriter.Config{
		Header: tw.CellConfig{
			Formatting: tw.CellFormatting{AutoFormat: tw.Off, AutoWrap: tw.WrapNone},
			Alignment:  tw.CellAlignment{PerColumn: t.align},
		},
		Row: tw.CellConfig{
			Formatting: tw.CellFormatting{AutoWrap: tw.WrapNone},
			Alignment:  tw.CellAlignment{PerColumn: t.align},
		},
	}))
	table.Header(t.head)
	for _, row := range t.rows {
		// Append keeps the slice it is given; these are never written again.
		if err := table.Append(row); err != nil {
			return nil, err
		}
	}
	if err := table.Render(); err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimRight(b.String(), "\n"), "\n"), nil
}
