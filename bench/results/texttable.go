package results

import (
	"slices"
	"strings"

	"zbench/bench/answers/judge"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/run/curve"
	"zbench/bench/run/record"
	"zbench/bench/show/table"
)

// columns selects a row's figures: both placements side by side, and isolated times.
type columns struct{ both, alone bool }

// figures returns the columns of one placement, without the number of wrong elements. If both placements
// must fit, it omits ± and, if there is an isolated time, algbw. The page and the files have both.
func (c columns) figures() []figure {
	out := []figure{figureTime}
	if !c.both {
		out = append(out, figureError)
	}
	if c.alone {
		out = append(out, figureAlone)
	}
	if !c.both || !c.alone {
		out = append(out, figureAlgBW)
	}
	return append(out, figureBusBW)
}

// half returns the cells of a result in one placement; dashes if there is none.
func (c columns) half(r *record.Result) []string {
	return append(slice.Map(c.figures(), func(f figure) string { return f.text(r) }), wrongCell(r))
}

// wrongCell formats the number of wrong elements; N/A, as in rccl-tests, means not verified.
func wrongCell(r *record.Result) string {
	switch {
	case r == nil:
	case r.Verified.State == record.VerifiedBlocks:
		return "N/A"
	case r.Verified.Wrong != nil:
		return unit.Comma(*r.Verified.Wrong)
	case r.Status == record.OK && r.Verified.State != record.VerifiedOK:
		return "N/A"
	}
	return unit.None
}

// Results returns a table of every case, grouped by collective, with the units beneath. If the record has both
// placements, a row has the out-of-place and the in-place result of a size side by side, as in rccl-tests.
// Cases that did not end ok also have rows, with the reason beneath the table.
func Results(rec *record.Record) table.Table {
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

// columns returns the columns before the notes, for both halves if there are two.
func (c columns) columns() []table.Column {
	out := []table.Column{{Name: "size", Right: true}, {Name: "count", Right: true}}
	figures := append(c.figures(), figure{name: "wrong"})
	out = append(out, slice.Map(figures, func(f figure) table.Column { return table.Column{Name: f.name, Right: true} })...)
	if !c.both {
		return out
	}
	for i, f := range figures {
		out[2+i].Over = "out of place"
		out = append(out, table.Column{Name: f.name, Right: true, Over: "in place", Long: "in-place " + f.name})
	}
	return out
}

// groupOf names the rows of a pair. The name includes the traits in which the pairs of a collective differ.
func groupOf(all []curve.Pair, i int) table.Group {
	either := slice.Map(all, curve.Pair.Either)
	r := either[i].Rows[0]
	words := strings.Fields(curve.Name(either, i))
	name := strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == r.Dtype || w == r.Op }), " ")
	return table.Group{Cells: []string{name, r.Dtype, r.Op}}
}

// row returns the cells of one size.
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

// noter fills the notes column of the text table.
type noter struct {
	common  []string
	columns columns
	width   int
	beneath footnotes
}

// cell returns the notes of a line as keywords, with a mark if they hold for one of the two results only. Notes
// that are too long become the number of a footnote.
func (n *noter) cell(pair [2]*record.Result) string {
	first, second := n.words(pair[0]), n.words(pair[1])
	out, in := " (out)", " (in)"
	if pair[0] == nil || pair[1] == nil {
		out, in = "", ""
	}
	var words []string
	for _, w := range first {
		if !slices.Contains(second, w) {
			w += out
		}
		words = append(words, w)
	}
	for _, w := range second {
		if !slices.Contains(first, w) {
			words = append(words, w+in)
		}
	}
	text := plain.Line(strings.Join(words, ", "))
	if len([]rune(text)) > n.width {
		return n.beneath.ref(text)
	}
	return text
}

// words returns a result's keywords. A case that did not end ok has its status here and the reason
// beneath.
func (n *noter) words(r *record.Result) []string {
	if r == nil {
		return nil
	}
	notes := n.without(tableNotes(r, n.columns))
	if r.Status == record.OK {
		return notes
	}
	why := strings.Join(append([]string{reasonOf(r)}, notes...), "; ")
	return []string{plain.Clip(statusText(r.Status), 12) + " " + n.beneath.ref(why)}
}

// tableNotes returns a row's keywords. These are the keywords of the page, and "in place" if the table has no
// column for it.
func tableNotes(r *record.Result, c columns) []string {
	var notes []string
	if r.InPlace && !c.both {
		notes = append(notes, "in place")
	}
	return append(notes, rowNotes(r)...)
}

// Method `without` leaves out the common notes.
func (n *noter) without(notes []string) []string {
	return slices.DeleteFunc(notes, func(w string) bool { return slices.Contains(n.common, w) })
}

// commonNotes returns the notes that every result has. They are printed once, not per row.
func commonNotes(curves []curve.Curve, c columns) []string {
	var all []string
	results := 0
	for _, of := range curves {
		for _, r := range of.Rows {
			if r.Status == record.OK {
				results++
				all = append(all, tableNotes(r, c)...)
			}
		}
	}
	notes, of := slice.Group(all, func(n string) string { return n })
	return slices.DeleteFunc(notes, func(n string) bool { return len(of[n]) < results })
}

// tableTitle describes the world, and marks simulated results.
func tableTitle(rec *record.Record) string {
	return plain.Line(strings.Join(nonEmpty(record.Mark(rec), worldText(rec.World)), " · "))
}

// footer returns the text beneath the table: explanations of the notes, unverified cases, late
// ranks, the units, and the figures' sources.
func footer(rec *record.Record, c columns, notes, common []string) []string {
	out := notes
	if len(common) > 0 {
		out = append(out, "All results: "+strings.Join(common, ", ")+".")
	}
	if n := countOf(rec, halved); n > 0 {
		out = append(out, record.OnePass+": "+unit.Count(n, "result")+" of"+onePass+".")
	}
	for _, k := range unverified(rec).order {
		out = append(out, "N/A: not verified: "+k.text()+" ("+unit.Count(k.count, "case")+").")
	}
	for _, l := range judge.Late(rec) {
		for _, text := range l.Texts() {
			out = append(out, "Late: "+text)
		}
	}
	out = append(out, slice.Map(unstableLines(rec), func(line string) string { return "Unstable: " + line })...)
	units := "time: median per launch in a burst, as rccl-tests"
	if !c.both {
		units += "; ±: half its 95 % interval"
	}
	if c.alone {
		units += "; isolated: one launch at a time, slowest rank"
	}
	rates := "algbw and busbw"
	if c.both && c.alone {
		rates = "busbw"
	}
	out = append(out, units+"; "+rates+" in GB/s = 1e9 B/s, of the burst; sizes IEC.")
	if f := record.FaultsOf(rec); len(f) > 0 {
		out = append(out, "Faults planted: "+strings.Join(f, "; ")+".")
	}
	if m := record.Mark(rec); m != "" {
		out = append(out, m+".")
	}
	for i := range out {
		out[i] = plain.Line(out[i])
	}
	return out
}

// unverified groups the reasons why results were not verified.
func unverified(rec *record.Record) *messageGroups {
	var why messageGroups
	for _, r := range rec.Each() {
		if r.Status == record.OK && r.Verified.State != record.VerifiedOK && r.Verified.State != record.VerifiedWrong && r.Verified.Reason != "" {
			why.add(r.Verified.Reason)
		}
	}
	return &why
}
