package results

import (
	"cmp"
	"math"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/run/curve"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
	"zbench/bench/show/table"
)

// resultBlock returns the table of the cases that ended ok, in µs and GB/s. The other cases are in a
// separate table.
func resultBlock(rec *record.Record, curves []curve.Curve) document.Block {
	isolated := hasIsolated(rec)
	s := document.Sheet{Label: "Results", Role: document.ResultsID, Table: resultTable(curves, isolated)}
	if len(s.Groups) == 0 {
		return document.Paragraph{Text: document.Said("No case ended ok.")}
	}
	if rec.Simulated {
		s.Caption = "SIMULATED. "
	}
	s.Caption += "Times in µs per launch, rates in GB/s; n is the number of samples"
	if isolated {
		s.Caption += ", spread the slowest rank less the fastest"
	}
	s.Caption += "; in brackets, the launches verified."
	return s
}

// resultTable has a group for each curve.
func resultTable(curves []curve.Curve, isolated bool) table.Table {
	t := table.Table{By: []string{"collective"}, Columns: []table.Column{{Name: "size", Right: true}, {Name: "count", Right: true}}}
	add := func(over string, names ...string) {
		for i, name := range names {
			t.Columns = append(t.Columns, table.Column{Name: name, Over: over, Right: name != "stop", Begins: i == 0})
		}
	}
	burst := ""
	if isolated {
		burst = "time in a burst, as rccl-tests"
	}
	add(burst, "median", "[lo, hi]", "n / n_eff", "algbw", "busbw")
	if isolated {
		add("time of an isolated launch, slowest rank", "median", "[lo, hi]", "n / n_eff", "spread", "stop")
	}
	t.Columns = append(t.Columns, table.Column{Name: "verified", Begins: true}, table.Column{Name: "notes"})
	for _, c := range curves {
		common := noter{common: commonNotes([]curve.Curve{c}, columns{both: true})}
		g := table.Group{Cells: []string{strings.Join(append([]string{c.Name}, common.common...), " · ")}}
		for _, r := range c.Rows {
			if r.Status == record.OK {
				cells := append(cellsOf(r, isolated), strings.Join(common.without(rowNotes(r)), ", "))
				g.Rows = append(g.Rows, table.Row{ID: r.Key, Cells: cells})
			}
		}
		if len(g.Rows) > 0 {
			t.Groups = append(t.Groups, g)
		}
	}
	return t
}

// cellsOf prints a result without its notes. The spread is the difference between ranks, in µs and
// as a share of the time.
func cellsOf(r *record.Result, isolated bool) []string {
	out := append([]string{unit.Bytes(r.Bytes), unit.Comma(r.Count)}, timeCells(curve.BurstOf(r))...)
	out = append(out, gigas(r.AlgBW), gigas(r.BusBW))
	if isolated {
		t := curve.IsolatedOf(r)
		spread, stop := unit.None, unit.None
		if t.Known && r.Isolated.Stop != "" {
			stop = strings.ReplaceAll(r.Isolated.Stop, "_", " ")
		}
		if t.Known && r.Isolated.Spread != nil && unit.Finite(r.Isolated.Spread.Median) {
			s := r.Isolated.Spread.Median
			spread = fixed(s/micro) + ", " + unit.SmallPercent(s/t.Median)
		}
		out = append(append(out, timeCells(t)...), spread, stop)
	}
	return append(out, verifiedText(r.Verified))
}

// timeCells print a timing: its median and interval in µs, and n / n_eff.
func timeCells(t curve.Timing) []string {
	if !t.Known {
		return []string{unit.None, unit.None, unit.None}
	}
	interval, n := unit.None, unit.Comma(t.Sum.N)
	if t.Bounded {
		interval = "[" + fixed(t.Lo/micro) + ", " + fixed(t.Hi/micro) + "]"
	}
	if e := t.Sum.NEff; e != nil && unit.Finite(*e) {
		n += " / " + unit.Shortest(math.Round(*e))
	}
	return []string{fixed(t.Median / micro), interval, n}
}

func hasIsolated(rec *record.Record) bool {
	return countOf(rec, func(r *record.Result) bool { return curve.IsolatedOf(r).Known }) > 0
}

// verifiedText states whether the data were checked. It adds the number of launches in brackets.
func verifiedText(v record.Verified) string {
	text := "no"
	switch {
	case v.State == record.VerifiedOK:
		text = "yes"
	case v.State == record.VerifiedBlocks:
		text = unit.Count(v.Blocks, "block")
	case v.State == record.VerifiedWrong && v.Wrong != nil:
		text = unit.Comma(*v.Wrong) + " wrong"
	case v.State == record.VerifiedWrong:
		text = "wrong"
	}
	if text != "no" && v.Launches > 0 {
		text += " (" + unit.Comma(v.Launches) + ")"
	}
	return text
}

// rowNotes returns the warnings about one result as keywords; the warnings section has the
// sentences.
func rowNotes(r *record.Result) []string {
	var notes []string
	if r.BytesRequested > 0 && r.Bytes > 0 && r.BytesRequested != r.Bytes {
		notes = append(notes, "asked for "+unit.Bytes(r.BytesRequested))
	}
	if r.Extrapolated {
		notes = append(notes, "extrapolated")
	}
	codes, _ := slice.Group(r.Warnings, func(w record.Warning) string { return w.Code })
	return append(notes, codes...)
}

// otherBlocks list every case that did not end ok.
func otherBlocks(rec *record.Record) []document.Block {
	t := table.Table{Columns: []table.Column{
		{Name: "collective"}, {Name: "size", Right: true}, {Name: "status"}, {Name: "reason", Wrap: table.Sentences}, {Name: "time, µs", Right: true},
	}}
	for _, r := range rec.Each() {
		if r.Status == record.OK {
			continue
		}
		time := unit.None
		if known := curve.BurstOf(r); known.Known {
			time = fixed(known.Median / micro)
		}
		t.Add(plain.OrUnnamed(r.Collective), unit.Bytes(curve.Size(r)), statusText(r.Status), reasonOf(r), time)
		rows := t.Groups[0].Rows
		rows[len(rows)-1].ID = r.Key
	}
	if len(t.Groups) == 0 {
		return nil
	}
	return []document.Block{document.Sheet{Label: "Cases without a result", Table: t}}
}

func statusText(s record.Status) string { return cmp.Or(s.Text(), "unknown") }
