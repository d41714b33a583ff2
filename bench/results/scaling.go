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
		t := scalingTable(slice.Where(all, func(s curve.Scaling) bool { return s.Family == f }))
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
// and message size: the bus bandwidth and its share of the best of the family.
func scalingTable(of []curve.Scaling) (t table.Table) {
	var worlds []curve.World
	for _, s := range of {
		worlds = append(worlds, s.Worlds...)
	}
	slices.SortStableFunc(worlds, func(a, b curve.World) int { return cmp.Compare(a.Ranks, b.Ranks) })
	names := slice.Distinct(slice.Map(worlds, curve.World.Text))
	t.Columns = []table.Column{{Name: "ranks"}}
	rows := slice.Map(names, func(name string) []string { return []string{name} })
	for _, s := range of {
		for _, size := range s.Sizes {
			for i, name := range []string{"busbw", "of best"} {
				t.Columns = append(t.Columns, table.Column{Name: name, Over: s.Name + ", " + unit.Bytes(size), Right: true, Begins: i == 0})
			}
			for i, name := range names {
				cells := []string{unit.None, unit.None}
				w := slice.First(s.Worlds, func(w curve.World) bool { return w.Text() == name })
				if r := w.BySize[size]; r != nil {
					cells = []string{unit.Rate(*r.BusBW), unit.Percent(curve.Share(*r.BusBW, s.Best(size)))}
				}
				rows[i] = append(rows[i], cells...)
			}
		}
	}
	for _, cells := range rows {
		t.Add(cells...)
	}
	return t
}
