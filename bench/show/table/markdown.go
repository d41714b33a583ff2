package table

import (
	"io"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter/renderer"

	"zbench/bench/base/plain"
)

// Markdown writes a table for a merge request, with the title in bold and the notes as a list. It
// escapes text that comes from outside zbench.
func Markdown(w io.Writer, t Table) error {
	lines, err := t.markdown()
	return written(w, lines, err)
}

// markdown returns the lines of a table.
func (t Table) markdown() ([]string, error) {
	var columns []Column
	var names []string
	for _, name := range t.By {
		columns, names = append(columns, Column{}), append(names, cell(name))
	}
	for _, c := range t.Columns {
		columns, names = append(columns, c), append(names, cell(c.long()))
	}
	var rows [][]string
	for _, g := range t.Groups {
		for _, r := range g.Rows {
			cells := slices.Concat(g.values(), r.Cells)
			if last := len(cells) - 1; g.Note != "" {
				cells[last] = strings.TrimSuffix(g.Note+", "+cells[last], ", ")
			}
			for i := range cells {
				cells[i] = cell(cells[i])
			}
			rows = append(rows, cells)
		}
	}
	lines, err := render(columns, names, rows, renderer.NewMarkdown())
	if err != nil {
		return nil, err
	}
	var out []string
	if t.Title != "" {
		out = append(out, "**"+plain.Markdown(plain.Line(t.Title))+"**", "")
	}
	out = append(out, lines...)
	if len(t.Notes) > 0 {
		out = append(out, "")
	}
	for _, note := range t.Notes {
		out = append(out, "- "+plain.Markdown(plain.Line(note)))
	}
	return out, nil
}

// values returns the group's cells, with a dash in place of an empty cell.
func (g Group) values() []string {
	out := slices.Clone(g.Cells)
	for i := range out {
		if out[i] == "" {
			out[i] = "–"
		}
	}
	return out
}

// cell escapes text for a table cell and keeps line breaks as `<br>`.
func cell(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = plain.Markdown(plain.Line(line))
	}
	return strings.Join(lines, "<br>")
}
