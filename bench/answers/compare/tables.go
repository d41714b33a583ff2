package compare

import (
	"fmt"
	"strconv"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/show/table"
)

// ChangeTable lists the other differences between the sides; nil if there are none.
func (d *Document) ChangeTable() *table.Table {
	if len(d.Changes) == 0 {
		return nil
	}
	t := table.Of([]string{"what differs", "BASE", "NEW"})
	for _, c := range d.Changes {
		t.Add(c.What, abridged(c.Base), abridged(c.New))
	}
	for i := range t.Columns {
		t.Columns[i].Wrap = table.Sentences
	}
	return &t
}

// `abridged` returns values for a cell. A value of many words, such as the hosts of a large run, is cut to the first
// words and their total number.
func abridged(values []string) string {
	const most, kept = 16, 4
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = v
		if words := strings.Fields(v); len(words) > most {
			out[i] = fmt.Sprintf("%s … (%d)", strings.Join(words[:kept], " "), len(words))
		}
	}
	return strings.Join(out, ", ")
}

// CaseTable returns a table with a row for each case. If short is true, cases with the verdict Same are left out.
func (d *Document) CaseTable(short bool) table.Table {
	t, ranked, noted := d.caseColumns()
	left := 0
	for _, c := range slice.Pointers(d.Cases) {
		if short && c.Verdict == Same {
			left++
			continue
		}
		cells := c.cells()
		if ranked {
			p := unit.None
			if c.RankP != nil {
				p = probability(*c.RankP)
			}
			cells = append(cells, p)
		}
		if noted {
			cells = append(cells, c.note())
		}
		t.AddTo(c.Group, cells...)
	}
	if left > 0 {
		t.Notes = append(t.Notes, plain.Count(left, "case")+" the same: --verbose lists all.")
	}
	t.Notes = append(t.Notes, fmt.Sprintf("Times are geometric means of run medians; a change above 0 is slower. Verdicts: at most %s chance of any false one if the runs of both sides are exchangeable, without modes of whole runs; at least %s.", Percent(d.Alpha), Percent(d.MinEffect)))
	if ranked {
		t.Notes = append(t.Notes, "The rank test is advisory: it is not adjusted for the number of cases.")
	}
	return t
}

// caseColumns returns the columns of CaseTable. `ranked` is true if any case has a rank test; the table then has a
// column of rank tests. `noted` is true if any case has a note; the table then has a column of notes.
func (d *Document) caseColumns() (t table.Table, ranked, noted bool) {
	t = table.Numbers("size", "runs", "BASE", "NEW", "change", "95 % interval", "p (Holm)")
	t.Rule, t.By, t.Columns = true, []string{"case"}, append(t.Columns, table.Column{Name: "verdict"})
	for i := range d.Cases {
		ranked, noted = ranked || d.Cases[i].RankP != nil, noted || d.Cases[i].note() != ""
	}
	if ranked {
		t.Columns = append(t.Columns, table.Column{Name: "p (rank test)", Right: true})
	}
	if noted {
		t.Columns = append(t.Columns, table.Column{Name: "note", Wrap: table.Sentences})
	}
	return t, ranked, noted
}

// cells returns a case's row.
func (c *Case) cells() []string {
	out := []string{unit.Bytes(c.Bytes), fmt.Sprintf("%d:%d", c.Base.Runs, c.New.Runs), c.Base.text(), c.New.text(), unit.None, unit.None, unit.None, c.word()}
	if c.Change != nil {
		out[4] = unit.Change(*c.Change)
	}
	if c.Test != nil {
		out[5] = unit.Change(c.Test.Lo) + " to " + unit.Change(c.Test.Hi)
		out[6] = probability(c.Test.AdjustedP)
	}
	return out
}

// note returns the reason of a case that was not checked. The reason for unclear cases is in the findings.
func (c *Case) note() string {
	if c.Verdict == NotChecked {
		return c.Reason
	}
	return ""
}

// probability prints a p-value. It prints no value below 1e-6: noise is not normal enough for that.
func probability(p float64) string {
	if p < 1e-6 {
		return "<1e-6"
	}
	return fmt.Sprintf("%.2g", p)
}

func (v Values) text() string {
	if v.Seconds == nil {
		return unit.None
	}
	return unit.Seconds(*v.Seconds)
}

// CSV returns a row for each case, in base units.
func (d *Document) CSV() (header []string, rows [][]string) {
	header = []string{"key", "group", "bytes", "timing", "base_runs", "new_runs", "base_seconds", "new_seconds", "change", "change_lo", "change_hi", "p", "adjusted_p", "verdict", "reason", "simulated"}
	for _, c := range slice.Pointers(d.Cases) {
		row := []string{c.Key, c.Group, strconv.FormatInt(c.Bytes, 10), c.Timing, strconv.Itoa(c.Base.Runs), strconv.Itoa(c.New.Runs), table.Number(c.Base.Seconds), table.Number(c.New.Seconds), table.Number(c.Change)}
		if c.Test != nil {
			row = append(row, table.Number(&c.Test.Lo), table.Number(&c.Test.Hi), table.Number(&c.Test.P), table.Number(&c.Test.AdjustedP))
		} else {
			row = append(row, "", "", "", "")
		}
		rows = append(rows, append(row, string(c.Verdict), c.Reason, strconv.FormatBool(d.Simulated)))
	}
	return header, rows
}
