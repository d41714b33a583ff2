package report

import (
	"cmp"
	"slices"

	"zbench/bench/curve"
	"zbench/bench/record"
	"zbench/bench/table"
	"zbench/bench/unit"
)

// scalingCharts draw bus bandwidth over the number of ranks.
func scalingCharts(rec *record.Record, all []curve.Scaling) []Chart {
	if len(all) == 0 {
		return nil
	}
	c := baseChart(rec, nil)
	c.ID, c.Title, c.Quantity = "scaling", "Bus bandwidth by number of ranks", Scale
	var names []string
	for _, s := range all {
		for _, size := range s.Sizes {
			one := Series{Name: s.Name + ", " + unit.Bytes(size)}
			if s.Family != curve.OneWorld {
				one.Name += ", " + string(s.Family)
			}
			for _, w := range s.Worlds {
				r := w.BySize[size]
				p := Point{Bytes: int64(w.Ranks), Value: *r.BusBW, Extrapolated: r.Extrapolated}
				bracket(&p, r)
				p.Words = unit.Rate(p.Value) + ", " + unit.Percent(curve.Share(p.Value, s.Best(size))) + " of the best, " + w.Text()
				one.Points = append(one.Points, p)
			}
			c.Series = append(c.Series, one)
			names = append(names, s.Collective)
		}
	}
	out := split(c, names)
	for i := range out {
		out[i].Notes = notesOf(out[i], rec)
	}
	return out
}

// scalingTable has a row for each world and a pair of columns for each collective
// and message size: the bus bandwidth and its share of the best of the same family.
func scalingTable(all []curve.Scaling, f curve.Family) (t table.Table) {
	t.Columns = []table.Column{{Name: "ranks"}}
	rows := map[string][]string{}
	var order []curve.World
	width := 0
	for _, s := range all {
		if s.Family != f {
			continue
		}
		for _, size := range s.Sizes {
			for i, name := range []string{"busbw", "of best"} {
				t.Columns = append(t.Columns, table.Column{Name: name, Over: s.Name + ", " + unit.Bytes(size), Right: true, Begins: i == 0})
			}
			for _, w := range s.Worlds {
				key := w.Text()
				if rows[key] == nil {
					order = append(order, w)
				}
				for len(rows[key]) < width {
					rows[key] = append(rows[key], unit.None)
				}
				bw := *w.BySize[size].BusBW
				rows[key] = append(rows[key], unit.Rate(bw), unit.Percent(curve.Share(bw, s.Best(size))))
			}
			width += 2
		}
	}
	slices.SortStableFunc(order, func(a, b curve.World) int { return cmp.Compare(a.Ranks, b.Ranks) })
	for _, w := range order {
		cells := rows[w.Text()]
		for len(cells) < width {
			cells = append(cells, unit.None)
		}
		t.Add(append([]string{w.Text()}, cells...)...)
	}
	return t
}
