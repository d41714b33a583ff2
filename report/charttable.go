package report

import (
	"maps"
	"slices"

	"zbench/bench/base/unit"
	"zbench/bench/show/document"
	"zbench/bench/show/table"
)

// tableOfChart turns a chart into a table with one row per size and one column per series. If a
// series has a size twice, as in repeated runs, the size has two rows.
func tableOfChart(c document.Chart) document.Sheet {
	s := document.Sheet{Label: c.Title + ", as a table", Caption: c.Title}
	if c.Mark != "" {
		s.Caption += ": " + c.Mark
	}
	if c.Quantity == document.Spread {
		s.Table = tableOfDistribution(c)
		return s
	}
	s.Table = table.Numbers(c.Quantity.Row().Column)
	cells := map[int64][][]string{} // lists of cells by size, with one cell per series
	for i, one := range c.Series {
		s.Columns = append(s.Columns, table.Column{Name: one.Name, Right: true})
		for _, p := range one.Points {
			if cells[p.Bytes] == nil {
				cells[p.Bytes] = make([][]string, len(c.Series))
			}
			cells[p.Bytes][i] = append(cells[p.Bytes][i], p.Text(c.Quantity))
		}
	}
	for _, size := range slices.Sorted(maps.Keys(cells)) {
		for at := 0; ; at++ {
			row, filled := []string{c.Quantity.Place(document.Point{Bytes: size})}, false
			for _, values := range cells[size] {
				cell := unit.None
				if at < len(values) {
					cell, filled = values[at], true
				}
				row = append(row, cell)
			}
			if !filled {
				break
			}
			s.Add(row...)
		}
	}
	return s
}
