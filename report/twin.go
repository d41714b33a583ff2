package report

import (
	"maps"
	"slices"

	"zbench/bench/unit"
)

// twinOf turns a chart into a table: one row per size, one column per series.
// A size a series has twice, as repeated runs do, takes as many rows.
func twinOf(c Chart) twin {
	if c.Quantity == Spread {
		return distributionTwin(c)
	}
	t := twin{Head: []string{"size"}}
	cells := map[int64][][]string{} // by size, by series
	for i, s := range c.Series {
		t.Head = append(t.Head, s.Name)
		for _, p := range s.Points {
			if cells[p.Bytes] == nil {
				cells[p.Bytes] = make([][]string, len(c.Series))
			}
			cells[p.Bytes][i] = append(cells[p.Bytes][i], p.Text(c.Quantity))
		}
	}
	for _, size := range slices.Sorted(maps.Keys(cells)) {
		for at := 0; ; at++ {
			row, filled := []string{unit.Bytes(size)}, false
			for _, values := range cells[size] {
				cell := none
				if at < len(values) {
					cell, filled = values[at], true
				}
				row = append(row, cell)
			}
			if !filled {
				break
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}
