// Package table holds a table as data: columns, rows in groups, notes. Text writes the table for a
// terminal. Markdown writes it for a merge request. Package report writes it on a page. A benchmark
// therefore builds its table only once.
package table

import (
	"cmp"
	"slices"

	"zbench/bench/base/slice"
)

// Terminal is the maximum width of terminal output, in characters.
const Terminal = 120

// Table is a table of formatted cells. Each cell includes its unit.
type Table struct {
	// Title is shown above the table. Notes are shown beneath it, one per line.
	Title string
	Notes []string
	// By names the properties in which groups differ. A terminal shows a group's values in a line
	// above its rows. Markdown has no such lines and shows the values as columns.
	By      []string
	Columns []Column
	Groups  []Group
	// Rule draws a line beneath the column names and above each group. Indent is the indentation of
	// the first column if there is no such line.
	Rule   bool
	Indent int
}

// Column is a column's name and alignment.
type Column struct {
	Name string
	// Right is true for numbers. Wrap says whether a page may break a cell's text.
	Right bool
	Wrap  Wrap
	// Over is a heading shared by neighbouring columns. Output without such headings uses Long, or
	// Name if Long is empty.
	Over, Long string
	// Begins separates the column from the previous one, in outputs that can show this.
	Begins bool
}

// Wrap says whether a page may break a cell's text into lines.
type Wrap int

// Unbroken text is never broken. Sentences are broken between words. Words are lists, which may be
// narrower than sentences.
const (
	Unbroken Wrap = iota
	Sentences
	Words
)

// Group is a number of rows that belong together.
type Group struct {
	// Cells are the group's values of Table.By. Note applies to all rows of the group. An output
	// that cannot print the note once appends it to the last cell of each row.
	Cells []string
	Note  string
	Rows  []Row
}

// Row is one line of cells, one per column. A cell may have several lines.
type Row struct {
	Cells []string
	// ID identifies the row within a page. Best marks the most important row.
	ID   string
	Best bool
}

// Filled reports whether the table has a row.
func (t Table) Filled() bool {
	return slices.ContainsFunc(t.Groups, func(g Group) bool { return len(g.Rows) > 0 })
}

// Add appends a row to the last group, or to a new group if there is none.
func (t *Table) Add(cells ...string) {
	if len(t.Groups) == 0 {
		t.Groups = append(t.Groups, Group{})
	}
	last := &t.Groups[len(t.Groups)-1]
	last.Rows = append(last.Rows, Row{Cells: cells})
}

// AddTo appends a row to the last group if this group has the given name. Otherwise it appends the
// row to a new group.
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

// Only returns the table with the columns for which keep returns true. The function keep gets a
// column's name and cells.
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

// long returns the column name for output without shared headings.
func (c Column) long() string { return cmp.Or(c.Long, c.Name) }

// Numbers returns a table whose columns hold numbers.
func Numbers(names ...string) Table {
	t := Of(names)
	for i := range t.Columns {
		t.Columns[i].Right = true
	}
	return t
}
