package results

import (
	"math"
	"slices"
	"strings"

	"zbench/bench/curve"
	"zbench/bench/record"
	"zbench/bench/table"
	"zbench/bench/unit"
)

// columns says which figures a half of a row has.
type columns struct{ both, alone bool }

// names are the columns of one half. Where two halves must fit, what the page
// and the files have beside gives way: ± and, beside the time alone, algbw.
func (c columns) names() []string {
	names := []string{"time µs"}
	if !c.both {
		names = append(names, "±")
	}
	if c.alone {
		names = append(names, "alone µs")
	}
	if !c.both || !c.alone {
		names = append(names, "algbw")
	}
	return append(names, "busbw", "wrong")
}

// half prints a result, or signs for nothing if there is none.
func (c columns) half(r *record.Result) []string {
	cells := map[string]string{}
	if r != nil {
		burst, alone := curve.BurstOf(r), curve.IsolatedOf(r)
		if burst.Known {
			cells["time µs"] = brief(burst.Median / micro)
		}
		if burst.Bounded {
			cells["±"] = brief((burst.Hi - burst.Lo) / 2 / micro)
		}
		if alone.Known {
			cells["alone µs"] = brief(alone.Median / micro)
		}
		if r.AlgBW != nil {
			cells["algbw"] = brief(*r.AlgBW / giga)
		}
		if r.BusBW != nil {
			cells["busbw"] = brief(*r.BusBW / giga)
		}
		cells["wrong"] = wrongCell(r)
	}
	out := c.names()
	for i, name := range out {
		out[i] = orNone(cells[name])
	}
	return out
}

// wrongCell counts wrong elements; N/A, as in rccl-tests, is not verified.
func wrongCell(r *record.Result) string {
	switch {
	case r.Verified.Wrong != nil:
		return unit.Comma(*r.Verified.Wrong)
	case r.Status == record.OK && r.Verified.State != record.VerifiedOK:
		return "N/A"
	}
	return ""
}

// brief prints v in few characters, as rccl-tests does: the larger the figure,
// the fewer decimals.
func brief(v float64) string {
	switch a := math.Abs(v); {
	case !unit.Finite(v) || a < 1e4:
		return fixed(v)
	case a < 1e5:
		s := fixed(math.Round(v*10) / 10)
		return s[:len(s)-1]
	}
	whole, _, _ := strings.Cut(fixed(math.Round(v)), ".")
	return whole
}

// Results is a table of every case, grouped by collective, with the units beneath:
// a row per size with the result out of place and the one in place side by side, as
// rccl-tests does, where the record has both. Cases that did not end ok are rows
// too, with the reason beneath.
func Results(rec *record.Record) table.Table {
	if rec == nil {
		rec = &record.Record{}
	}
	curves := curve.Of(rec)
	all := curve.Pairs(curves)
	var c columns
	var placed, out bool
	for _, p := range all {
		placed, out = placed || len(p.Place.Rows) > 0, out || len(p.Out.Rows) > 0
	}
	c.both, c.alone = placed && out, hasIsolated(rec)
	t := table.Table{Title: tableTitle(rec), Rule: true, By: []string{"collective", "type", "op"}, Columns: c.columns()}
	for i, p := range all {
		g := groupOf(all, i)
		for _, pair := range p.Lines() {
			g.Rows = append(g.Rows, table.Row{Cells: c.row(pair)})
		}
		t.Groups = append(t.Groups, g)
	}
	n := noter{columns: c, common: commonNotes(curves, c)}
	n.width = max(12, table.Terminal-1-t.Width(len(t.Columns)))
	t.Columns = append(t.Columns, table.Column{Name: "notes"})
	global := n.common
	for i, p := range all {
		n.common = global
		own := n.without(commonNotes([]curve.Curve{p.Out, p.Place}, c))
		n.common = slices.Concat(global, own)
		t.Groups[i].Note = strings.Join(own, ", ")
		for k, pair := range p.Lines() {
			row := &t.Groups[i].Rows[k]
			row.Cells = append(row.Cells, n.cell(pair))
		}
	}
	t.Notes = footer(rec, c, n.beneath.lines(), global)
	return t
}

// columns are those of the figures: of both halves where there are two.
func (c columns) columns() []table.Column {
	out := []table.Column{{Name: "size", Right: true}, {Name: "count", Right: true}}
	over, in := "", ""
	if c.both {
		over, in = "out of place", "in place"
	}
	for _, name := range c.names() {
		out = append(out, table.Column{Name: name, Right: true, Over: over})
	}
	if c.both {
		for _, name := range c.names() {
			out = append(out, table.Column{Name: name, Right: true, Over: in, Long: "in-place " + name})
		}
	}
	return out
}

// groupOf names a pair's rows; the traits in which collectives of one name differ
// are part of its name.
func groupOf(all []curve.Pair, i int) table.Group {
	either := make([]curve.Curve, len(all))
	for j, p := range all {
		either[j] = p.Either()
	}
	r := either[i].Rows[0]
	words := strings.Fields(curve.Name(either, i))
	name := strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == r.Dtype || w == r.Op }), " ")
	return table.Group{Cells: []string{name, r.Dtype, r.Op}}
}

// row prints one size.
func (c columns) row(pair [2]*record.Result) []string {
	r := pair[0]
	if r == nil {
		r = pair[1]
	}
	cells := []string{unit.Bytes(curve.Size(r)), unit.Comma(r.Count)}
	if c.both {
		return append(append(cells, c.half(pair[0])...), c.half(pair[1])...)
	}
	return append(cells, c.half(r)...)
}
