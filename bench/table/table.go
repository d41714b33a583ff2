// Package table is a table as data: columns, rows in groups, notes. Text and
// Markdown write it for a terminal and for a merge request; the page of package
// report writes the same table as HTML. A benchmark builds its table once.
package table

import (
	"cmp"
	"slices"

	"zbench/bench/slice"
)

// Terminal is the width in characters that text for a terminal keeps to.
const Terminal = 120

// Table is a table whose cells are printed already, each with its unit.
type Table struct {
	// Title stands above the table, Notes stand beneath it, one a line.
	Title string
	Notes []string
	// By names what the groups differ in. A terminal shows a group's values as a
	// line above its rows; markdown, which has no such lines, as columns.
	By      []string
	Columns []Column
	Groups  []Group
	// Rule draws a line beneath the names of the columns and above each group.
	// Indent is how far the first column stands in where there is no such line.
	Rule   bool
	Indent int
}

// Column is a column's name and how it is set.
type Column struct {
	Name string
	// Right is for numbers. Wrap says where a cell may take several lines of a page.
	Right bool
	Wrap  Wrap
	// Over is the heading that neighbouring columns share. Where headings cannot
	// be drawn the column is called Long; empty is Name.
	Over, Long string
	// Begins sets a column apart from the one before, where that can be drawn.
	Begins bool
}

// Wrap is whether a page may break a cell's text into lines.
type Wrap int

// The ways to break a text: never, between words of sentences, and of lists, which
// may be narrower.
const (
	Unbroken Wrap = iota
	Sentences
	Words
)

// Group is rows that belong together.
type Group struct {
	// Cells are the group's values of Table.By. Note holds for all of its rows;
	// where it cannot be said once it joins the last cell of each.
	Cells []string
	Note  string
	Rows  []Row
}

// Row is one line of cells, one for each column. A cell may be of several lines.
type Row struct {
	Cells []string
	// ID names the row within a page. Best is true for the row to look at.
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

// AddTo appends a row to the last group if that has this name, else to a new one.
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

// Only is the table with the columns that keep takes, by their names and cells.
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

// rows are the rows of all groups.
func (t Table) rows() [][]string {
	var out [][]string
	for _, g := range t.Groups {
		for _, r := range g.Rows {
			out = append(out, r.Cells)
		}
	}
	return out
}

// long is a column's name where no heading stands over it.
func (c Column) long() string { return cmp.Or(c.Long, c.Name) }

// Numbers is a table of columns of numbers.
func Numbers(names ...string) Table {
	t := Of(names)
	for i := range t.Columns {
		t.Columns[i].Right = true
	}
	return t
}
