// Package table is a table as data: columns, rows in groups, notes. Text and Markdown write it for
// a terminal and for a merge request; package report's page writes the same table as HTML. A
// benchmark builds its table once.
package table

import (
	"cmp"
	"slices"

	"zbench/bench/base/slice"
)

// Terminal is the maximum width of terminal text in characters.
const Terminal = 120

// Table is a table of formatted cells, each with its unit.
type Table struct {
	// Title stands above the table, Notes stand beneath it, one per line.
	Title string
	Notes []string
	// By names the properties in which groups differ. A terminal shows a group's values as a line
	// above its rows; Markdown, which has no such lines, shows them as columns.
	By      []string
	Columns []Column
	Groups  []Group
	// Rule draws a line beneath the columns' names and above each group. Indent is the indentation
	// of the first column without such a line.
	Rule   bool
	Indent int
}

// Column is a column's name and alignment.
type Column struct {
	Name string
	// Right is for numbers. Wrap says whether a page may break a cell's text.
	Right bool
	Wrap  Wrap
	// Over is a heading shared by neighbouring columns. Output without headings uses Long; if
	// empty, Name.
	Over, Long string
	// Begins separates a column from the previous one, if the output can draw that.
	Begins bool
}

// Wrap says whether a page may break a cell's text into lines.
type Wrap int

// The ways to break a text: never, between the words of sentences, or of lists, which may be
// narrower.
const (
	Unbroken Wrap = iota
	Sentences
	Words
)

// Group is rows that belong together.
type Group struct {
	// Cells are the group's values of Table.By. Note holds for all of its rows; output that cannot
	// print it once appends it to the last cell of each.
	Cells []string
	Note  string
	Rows  []Row
}

// Row is one line of cells, one per column. A cell may have several lines.
type Row struct {
	Cells []string
	// ID names the row within a page. Best marks the most important row.
	ID   string
	Best bool
}

// Filled reports whether the table has a row.
func (t Table) Filled() bool {
	return slices.ContainsFunc(t.Groups, func(g Group) bool { return len(g.Rows) > 0 })
}

// Add appends a row to the last group. It makes a group if there is none.
func (t *Table) Add(cells ...string) {
	if len(t.Groups) == 0 {
		t.Groups = append(t.Groups, Group{})
	}
	last := &t.Groups[len(t.Groups)-1]
	last.Rows = append(last.Rows, Row{Cells: cells})
}

// AddTo appends a row to the last group if it has this name, else to a new one.
func (t *Table) AddTo(group string, cells ...string) {
	if n := len(t.Groups); n == 0 || t.Groups[n-1].Cells[0] != group {
		t.Groups = append(t.Groups, Group{Cells: []string{group}})
	}
	t.Add(cells...)
}

// Of makes a table of left-aligned columns with one group of rows.
func Of(names []string, rows ...[]string) Table {
	t := Table{Columns: slice.Map(names, func(name string) Column { return Column{Name: name} })}
	for _, cells := range rows {
		t.Add(cells...)
	}
	return t
}

// Only returns the table with the columns that keep selects by their names and cells.
func (t Table) Only(keep func(name string, cells []string) bool) Table {
	rows := t.rows()
	var kept []int
	for i, c := range t.Columns {
		if keep(c.Name, slice.Map(rows, func(cells []string) string { return cells[i] })) {
			kept = append(kept, i)
		}
	}
	t.Columns = slice.Map(kept, func(i int) Column { return t.Columns[i] })
	t.Groups = slice.Map(t.Groups, func(g Group) Group {
		g.Rows = slice.Map(g.Rows, func(r Row) Row {
			r.Cells = slice.Map(kept, func(i int) string { return r.Cells[i] })
			return r
		})
		return g
	})
	return t
}

// rows returns the rows of all groups.
func (t Table) rows() [][]string {
	var out [][]string
	for _, g := range t.Groups {
		for _, r := range g.Rows {
			out = append(out, r.Cells)
		}
	}
	return out
}

// long returns a column's name without a heading above it.
func (c Column) long() string { return cmp.Or(c.Long, c.Name) }

// Numbers returns a table of columns of numbers.
func Numbers(names ...string) Table {
	t := Of(names)
	for i := range t.Columns {
		t.Columns[i].Right = true
	}
	return t
}
