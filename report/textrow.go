package report

import (
	"math"
	"slices"
	"strings"

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
		burst, alone := timingOf(r), isolatedOf(r)
		if burst.known {
			cells["time µs"] = brief(burst.median / micro)
		}
		if burst.bounded {
			cells["±"] = brief((burst.hi - burst.lo) / 2 / micro)
		}
		if alone.known {
			cells["alone µs"] = brief(alone.median / micro)
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
		return comma(*r.Verified.Wrong)
	case r.Status == record.OK && r.Verified.State != record.VerifiedOK:
		return "N/A"
	}
	return ""
}

// brief prints v in few characters, as rccl-tests does: the larger the figure,
// the fewer decimals.
func brief(v float64) string {
	switch a := math.Abs(v); {
	case !finite(v) || a < 1e4:
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
	curves := curvesOf(rec)
	all := pairs(curves)
	var c columns
	var placed, out bool
	for _, p := range all {
		placed, out = placed || len(p.place.rows) > 0, out || len(p.out.rows) > 0
	}
	c.both, c.alone = placed && out, hasIsolated(rec)
	t := table.Table{Title: tableTitle(rec), Rule: true, By: []string{"collective", "type", "op"}, Columns: c.columns()}
	for i, p := range all {
		g := groupOf(all, i)
		for _, pair := range p.lines() {
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
		own := n.without(commonNotes([]curve{p.out, p.place}, c))
		n.common = slices.Concat(global, own)
		t.Groups[i].Note = strings.Join(own, ", ")
		for k, pair := range p.lines() {
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
func groupOf(all []pair, i int) table.Group {
	either := make([]curve, len(all))
	for j, p := range all {
		either[j] = p.either()
	}
	r := either[i].rows[0]
	words := strings.Fields(curveName(either, i))
	name := strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == r.Dtype || w == r.Op }), " ")
	return table.Group{Cells: []string{name, r.Dtype, r.Op}}
}

// row prints one size.
func (c columns) row(pair [2]*record.Result) []string {
	r := pair[0]
	if r == nil {
		r = pair[1]
	}
	cells := []string{unit.Bytes(sizeOf(r)), comma(r.Count)}
	if c.both {
		return append(append(cells, c.half(pair[0])...), c.half(pair[1])...)
	}
	return append(cells, c.half(r)...)
}

// lines puts the results of one size side by side. A size that occurs more
// often, as in repeated runs, takes as many lines.
func (p pair) lines() [][2]*record.Result {
	var out [][2]*record.Result
	a, b := p.out.rows, p.place.rows
	for len(a)+len(b) > 0 {
		var line [2]*record.Result
		if len(b) == 0 || len(a) > 0 && sizeOf(a[0]) <= sizeOf(b[0]) {
			line[0] = a[0]
		}
		if len(a) == 0 || len(b) > 0 && sizeOf(b[0]) <= sizeOf(a[0]) {
			line[1] = b[0]
		}
		if line[0] != nil {
			a = a[1:]
		}
		if line[1] != nil {
			b = b[1:]
		}
		out = append(out, line)
	}
	return out
}
