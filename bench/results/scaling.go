package results

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/run/curve"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
	"zbench/bench/show/table"
)

// scalingBlocks show bus bandwidth against the number of ranks: the drops, charts, and an
// efficiency table for each family of worlds.
func scalingBlocks(rec *record.Record, drawn []curve.Curve) []document.Block {
	all := curve.Scalings(drawn)
	if len(all) == 0 {
		return nil
	}
	out := document.Listed("", fallLines(all))
	if len(out) == 0 {
		out = []document.Block{document.Paragraph{Text: document.Said("No collective falls below " + unit.Percent(curve.FallShare) + " of its best bus bandwidth at the largest number of ranks.")}}
	}
	out = append(out, document.Plots(scalingCharts(rec, all))...)
	for _, f := range []curve.Family{curve.OneWorld, curve.Groups, curve.Strided} {
		t := scalingTable(all, f)
		if len(t.Groups) == 0 {
			continue
		}
		s := document.Sheet{Label: "Scaling efficiency, " + string(f), Table: t}
		s.Caption = plain.Capital(string(f)) + ": bus bandwidth, and its share of the best in the same column"
		if rec.Simulated {
			s.Caption = "SIMULATED. " + s.Caption
		}
		out = append(out, s)
	}
	return out
}

// fallLines name the collectives that drop with scale, one line per family and message size.
func fallLines(all []curve.Scaling) []string {
	var out []string
	for _, f := range []curve.Family{curve.OneWorld, curve.Groups, curve.Strided} {
		fallen := map[int64][]string{}
		var falling []int64
		for _, s := range slice.Where(all, func(s curve.Scaling) bool { return s.Family == f }) {
			for _, size := range s.Sizes {
				if text, _, falls := s.Fall(size); falls {
					fallen[size], falling = append(fallen[size], text), append(falling, size)
				}
			}
		}
		for _, size := range slice.Distinct(falling) {
			line := fmt.Sprintf("At %s busbw falls off with the number of ranks: %s.", unit.Bytes(size), strings.Join(fallen[size], "; "))
			if f != curve.OneWorld {
				line = plain.Capital(string(f)) + ": " + line
			}
			out = append(out, line)
		}
	}
	return out
}

// scalingCharts draw bus bandwidth over the number of ranks.
func scalingCharts(rec *record.Record, all []curve.Scaling) []document.Chart {
	if len(all) == 0 {
		return nil
	}
	c := baseChart(rec, nil)
	c.ID, c.Title, c.Quantity = "scaling", "Bus bandwidth by number of ranks", document.Scale
	var names []string
	for _, s := range all {
		for _, size := range s.Sizes {
			one := document.Series{Name: s.Name + ", " + unit.Bytes(size)}
			if s.Family != curve.OneWorld {
				one.Name += ", " + string(s.Family)
			}
			for _, w := range s.Worlds {
				r := w.BySize[size]
				p := document.Point{Bytes: int64(w.Ranks), Value: *r.BusBW, Extrapolated: r.Extrapolated}
				bracket(&p, r)
				p.Words = unit.Rate(p.Value) + ", " + unit.Percent(curve.Share(p.Value, s.Best(size))) + " of the best, " + w.Text()
				one.Points = append(one.Points, p)
			}
			c.Series = append(c.Series, one)
			names = append(names, s.Collective)
		}
	}
	out := document.Split(c, names)
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
