package results

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/run/curve"
	"zbench/bench/run/record"
	"zbench/bench/show/table"
)

// figure is a column of a table: its name, and its value in a result, if any.
type figure struct {
	name string
	of   func(*record.Result) (float64, bool)
}

// text formats the figure of a result, or returns a dash if the result lacks the figure.
func (f figure) text(r *record.Result) string {
	if r != nil {
		if v, ok := f.of(r); ok {
			return fixed(v)
		}
	}
	return unit.None
}

// The figures in the units of the tables.
var (
	figureBusBW = figure{"busbw", func(r *record.Result) (float64, bool) { bw, ok := curve.BusBW(r); return bw / giga, ok }}
	figureTime  = figure{"time µs", func(r *record.Result) (float64, bool) { t := curve.BurstOf(r); return t.Median / micro, t.Known }}
	figureError = figure{"±", func(r *record.Result) (float64, bool) {
		t := curve.BurstOf(r)
		return (t.Hi - t.Lo) / 2 / micro, t.Bounded
	}}
	figureAlone  = figure{"isolated µs", func(r *record.Result) (float64, bool) { t := curve.IsolatedOf(r); return t.Median / micro, t.Known }}
	figureSpread = figure{"spread", func(r *record.Result) (float64, bool) {
		if r.Isolated == nil || r.Isolated.Spread == nil {
			return 0, false
		}
		return r.Isolated.Spread.Median / micro, unit.Finite(r.Isolated.Spread.Median)
	}}
	figureAlgBW = figure{"algbw", func(r *record.Result) (float64, bool) {
		if r.AlgBW == nil {
			return 0, false
		}
		return *r.AlgBW / giga, unit.Finite(*r.AlgBW)
	}}
)

// details are the levels of detail of a summary, the fewest figures first. The summary uses the most
// detailed level that fits.
var details = [][]figure{
	{figureBusBW},
	{figureTime, figureBusBW},
	{figureTime, figureAlone, figureBusBW},
	{figureTime, figureError, figureAlone, figureSpread, figureAlgBW, figureBusBW},
}

// detailWidth is the width from which a summary of several curves shows more than time and bus
// bandwidth.
const detailWidth = 100

// Summary returns the results in short: a row per size, a column per curve, with as many figures as fit into
// the terminal's width. Curves that do not fit side by side get separate tables. Two things are left out:
// in-place results that agree with out-of-place results, and sizes without a result.
func Summary(rec *record.Record, width int) []table.Table {
	curves, _ := curve.Drawn(curve.Of(rec))
	for i := range curves {
		curves[i].Name = curve.NameBy(shortTraits, curves, i)
	}
	curves = slices.DeleteFunc(curves, func(c curve.Curve) bool { // the notes have the reason
		return !slices.ContainsFunc(c.Rows, func(r *record.Result) bool { return r.Status != record.Skipped })
	})
	tables := beside(curves, width)
	tables[0].Title = summaryTitle(rec) + " · " + units(tables)
	tables[len(tables)-1].Notes = append(summaryNotes(rec), explained(tables)...)
	return tables
}

// units names the rates in the tables, with their unit.
func units(tables []table.Table) string {
	rates := "busbw"
	for _, t := range tables {
		if slices.ContainsFunc(t.Columns, func(c table.Column) bool { return c.Name == figureAlgBW.name }) {
			rates = "algbw and busbw"
		}
	}
	return rates + " in GB/s"
}

// explained explains the columns with unclear names.
func explained(tables []table.Table) (out []string) {
	for _, w := range [][2]string{
		{figureError.name, "±: half the 95 % interval of the median, µs"},
		{figureAlone.name, "isolated: one launch at a time, slowest rank"},
		{figureSpread.name, "spread: the slowest rank less the fastest, µs"},
	} {
		if slices.ContainsFunc(tables[0].Columns, func(c table.Column) bool { return c.Name == w[0] }) {
			out = append(out, w[1])
		}
	}
	if len(out) > 0 {
		out = []string{strings.Join(out, "; ") + "."}
	}
	return out
}

// Function `beside` returns the table of all curves, side by side, with the most detail that fits. If even
// time and bus bandwidth do not fit, it returns tables of bus bandwidth with a column per world, and with as
// many collectives side by side as fit.
func beside(curves []curve.Curve, width int) []table.Table {
	for level, detail := range slices.Backward(details[1:]) {
		if t := summaryTable(curves, detail); fits(t, width) && (level == 0 || len(curves) == 1 || width >= detailWidth) {
			return []table.Table{t}
		}
	}
	var tables []table.Table
	var kept []curve.Curve
	flush := func() {
		if len(kept) > 0 {
			tables, kept = append(tables, summaryTable(kept, details[0])), nil
		}
	}
	add := func(more ...curve.Curve) bool {
		all := append(slices.Clip(kept), more...)
		if !fits(summaryTable(all, details[0]), width) {
			return false
		}
		kept = all
		return true
	}
	for _, worlds := range byCollective(curves) {
		if add(worlds...) {
			continue
		}
		if flush(); add(worlds...) {
			continue
		}
		for _, c := range worlds {
			if !add(c) {
				flush()
				kept = []curve.Curve{c} // at least one is shown
			}
		}
	}
	flush()
	return tables
}

// byCollective returns the curves of each collective: whole worlds first, by number of ranks, then groups.
func byCollective(curves []curve.Curve) [][]curve.Curve {
	names, of := slice.Group(curves, func(c curve.Curve) string { return c.Collective })
	return slice.Map(names, func(name string) []curve.Curve {
		all := of[name]
		slices.SortStableFunc(all, func(a, b curve.Curve) int {
			p, q := a.Rows[0], b.Rows[0]
			return cmp.Or(cmp.Compare(min(p.Groups, 2), min(q.Groups, 2)), cmp.Compare(p.Stride, q.Stride), cmp.Compare(p.Ranks, q.Ranks))
		})
		return all
	})
}

// fits reports whether the table is at most that wide. The space after the last column is cut, unless a line
// is drawn beneath the names.
func fits(t table.Table, width int) bool {
	for first, last := range t.Headings() {
		if tooWide(t, first, last) {
			return false
		}
	}
	end := t.Width(len(t.Columns))
	if !t.Rule {
		end--
	}
	return end <= width
}

// tooWide reports whether a heading is wider than its columns.
func tooWide(t table.Table, first, last int) bool {
	return len([]rune(t.Columns[first].Over)) > t.Room(first, last)
}

// summaryTable returns the table of curves side by side.
func summaryTable(curves []curve.Curve, show []figure) table.Table {
	t := table.Table{Columns: []table.Column{{Name: "size", Right: true}}}
	for _, c := range curves {
		for _, f := range show {
			column := table.Column{Name: f.name, Right: true, Over: c.Name}
			if len(show) == 1 {
				column.Name, column.Over = strings.TrimPrefix(c.Name, c.Collective+" "), c.Collective
			}
			t.Columns = append(t.Columns, column)
		}
	}
	bySize := make([]map[int64][]*record.Result, len(curves))
	sizes := map[int64]int{}
	for i, c := range curves {
		bySize[i] = map[int64][]*record.Result{}
		for _, r := range c.Rows {
			if r.Status != record.Skipped {
				size := asked(r)
				bySize[i][size] = append(bySize[i][size], r)
				sizes[size] = max(sizes[size], len(bySize[i][size]))
			}
		}
	}
	for _, size := range slices.Sorted(maps.Keys(sizes)) {
		for at := range sizes[size] {
			row := []string{unit.Bytes(size)}
			for i, c := range curves {
				var r *record.Result
				if at < len(bySize[i][size]) {
					r = bySize[i][size][at]
				}
				row = append(row, cells(c, r, show)...)
			}
			t.Add(row...)
		}
	}
	if len(show) > 1 {
		return t
	}
	for first, last := range t.Headings() { // a collective in one world needs no heading; other headings may be too wide
		named := t.Columns[first].Name == t.Columns[first].Over
		if !named && !tooWide(t, first, last) {
			continue
		}
		for i := first; i < last; i++ {
			c := &t.Columns[i]
			if !named {
				c.Name = c.Over + " " + c.Name
			}
			c.Over = ""
		}
	}
	return t
}

// asked returns the planned size of a case: each collective rounds the moved size in its own way.
func asked(r *record.Result) int64 { return cmp.Or(r.BytesRequested, r.Bytes) }

// cells returns a result's figures, or its status if it failed or has wrong data.
func cells(c curve.Curve, r *record.Result, show []figure) []string {
	out := make([]string, len(show))
	for i, f := range show {
		out[i] = unit.None
		if r != nil && (r.Status == record.OK || r.Status == record.Interrupted) {
			out[i] = f.text(r)
		}
	}
	if how := ended(c, r); how != "" {
		out[len(out)-1] = how
	}
	return out
}

// Function ended returns the status of a case that failed or has wrong data. This also holds if the hidden
// in-place case of the case failed or has wrong data. Otherwise the text is empty.
func ended(c curve.Curve, r *record.Result) string {
	if r == nil {
		return ""
	}
	all := []*record.Result{r}
	for _, twin := range c.Also {
		if asked(twin) == asked(r) {
			all = append(all, twin)
		}
	}
	for _, one := range all {
		switch one.Status {
		case record.WrongData:
			return "WRONG"
		case record.Failed:
			return "FAILED"
		case record.OK, record.Skipped, record.Interrupted:
		}
	}
	return ""
}

// shortTraits returns the traits in few letters, for headings.
func shortTraits(r *record.Result) []string {
	place, ranks, nodes := "out", unit.Count(r.Ranks, "rank"), unit.Count(r.Nodes, "node")
	if r.InPlace {
		place = "in"
	}
	if r.Groups > 1 {
		ranks, nodes = fmt.Sprintf("g%d", r.Ranks), ""
		if r.Stride > 0 {
			ranks = fmt.Sprintf("s%d", r.Stride)
		}
	} else if r.Nodes > 0 {
		ranks = ""
	}
	return []string{r.Dtype, r.Op, place, ranks, nodes, fmt.Sprintf("-g%d", r.GPUsPerProcess), plain.Clip(r.Setup, 16)}
}

// summaryTitle describes the world, in one line if the GPUs are known.
func summaryTitle(rec *record.Record) string {
	w := rec.World
	world := worldText(w)
	if w.Ranks > 0 && w.Nodes > 0 && w.GPUsPerNode > 0 {
		world = fmt.Sprintf("%s: %s × %s", unit.Count(w.Ranks, "rank"), unit.Count(w.Nodes, "node"), strings.TrimSpace(fmt.Sprintf("%d %s", w.GPUsPerNode, cmp.Or(w.GPU, "GPUs"))))
		if w.GPUsPerProcess > 1 {
			world += fmt.Sprintf(", %d per process", w.GPUsPerProcess)
		}
	}
	return strings.Join(nonEmpty(record.Mark(rec), world, strings.Join(dtypeAndOp(rec), ", ")), " · ")
}

// dtypeAndOp returns the element type and the operator, if all results have the same.
func dtypeAndOp(rec *record.Record) []string {
	all := rec.Each()
	types := slice.Distinct(slice.Map(all, func(r *record.Result) string { return r.Dtype }))
	ops := nonEmpty(slice.Distinct(slice.Map(all, func(r *record.Result) string { return r.Op }))...)
	var out []string
	for _, names := range [][]string{types, ops} {
		if len(names) == 1 {
			out = append(out, names[0])
		}
	}
	return nonEmpty(out...) // a type may be unknown
}

// summaryNotes returns the notes beneath a summary: omissions, abbreviations in the headings, and
// the warnings by cause.
func summaryNotes(rec *record.Record) []string {
	curves, _ := curve.Drawn(curve.Of(rec))
	return nonEmpty(append(append([]string{placeText(curves)}, legend(curves)...), warningText(rec))...)
}

// placeText states which in-place results are omitted, and how close they are to the shown results.
func placeText(curves []curve.Curve) string {
	apart, left, kept := 0.0, false, false
	for _, c := range curves {
		left, kept = left || len(c.Also) > 0 && c.Apart >= 0, kept || c.Rows[0].InPlace
		apart = max(apart, c.Apart)
	}
	switch {
	case left && kept:
		return "In-place results are shown where they differ from out-of-place by more than " + unit.Part(curve.NearlySame) + "."
	case left:
		return "In-place results are within " + unit.Part(apart) + " of out-of-place."
	}
	return ""
}

// legend explains the short names of groups.
func legend(curves []curve.Curve) []string {
	var all []string
	for _, c := range curves {
		r := c.Rows[0]
		if r.Groups > 1 {
			text := fmt.Sprintf("g%d: %s groups of %s at once", r.Ranks, unit.Comma(r.Groups), unit.Count(r.Ranks, "neighbouring rank"))
			if r.Stride > 0 {
				text = fmt.Sprintf("s%d: %s groups of %s, %d apart, at once", r.Stride, unit.Comma(r.Groups), unit.Count(r.Ranks, "rank"), r.Stride)
			}
			all = append(all, text)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return []string{strings.Join(slice.Distinct(all), "; ") + "."}
}

// warningText groups the warnings by cause, each with its cases.
func warningText(rec *record.Record) string {
	var parts []string
	for _, g := range warningGroups(rec) {
		part := g.kind.text()
		if len(g.cases) > 0 {
			part += " (" + unit.FirstFew(curve.Ranges(g.cases), fewRanges) + ")"
		}
		parts = append(parts, g.code+": "+part)
	}
	if len(parts) == 0 {
		return ""
	}
	return "Warnings: " + strings.Join(parts, "; ") + "."
}
