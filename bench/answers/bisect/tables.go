package bisect

import (
	"fmt"
	"strconv"

	"zbench/bench/answers/compare"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/show/table"
)

// VariantTable returns a table with a row for each variant.
func (d *Document) VariantTable() table.Table {
	t := table.Table{Rule: true, Columns: []table.Column{{Name: "variant"}, {Name: "settings", Wrap: table.Sentences}, {Name: "children", Right: true}, {Name: "state", Wrap: table.Sentences}}}
	for _, v := range d.Variants {
		state := "measured"
		switch {
		case v.LeftOut:
			state = "LEFT OUT"
		case v.Children == 0:
			state = "not needed"
		}
		t.Add(v.Name, v.Settings, strconv.Itoa(v.Children), state)
	}
	return t
}

// names returns the variants' names.
func (d *Document) names() []string {
	return slice.Map(d.Variants, func(v Variant) string { return v.Name })
}

// CaseTable returns a table with a row for each case. If short is true, cases with the verdict Same are
// left out.
func (d *Document) CaseTable(short bool) table.Table {
	t, cells := table.Numbers("size", "first slow", "change", "95 % interval", "probability", "children"), d.orderCells
	t.Columns[1].Right = false
	if !d.Ordered {
		t, cells = table.Numbers(append([]string{"size"}, d.names()...)...), d.rankCells
	}
	t.Rule, t.By = true, []string{"case"}
	t.Columns = append(t.Columns, table.Column{Name: "verdict"})
	left := 0
	for i := range d.Cases {
		c := &d.Cases[i]
		if short && c.Verdict == Same {
			left++
			continue
		}
		t.AddTo(c.Group, append(append([]string{unit.Bytes(c.Bytes)}, cells(c)...), c.Verdict.Word())...)
	}
	if left > 0 {
		t.Notes = append(t.Notes, plain.Count(left, "case")+" the same: --verbose lists all.")
	}
	first, _ := d.Ends()
	switch {
	case first == "":
	case d.Ordered:
		t.Notes = append(t.Notes, fmt.Sprintf("Changes are against %s, without drift; a change above 0 is slower. At most %s chance of any wrong slowdown; a case that is not named is slow with at most %s probability, where slow and healthy were equally likely before the search.", first, compare.Percent(d.Alpha), compare.Percent(d.Miss)))
	default:
		t.Notes = append(t.Notes, fmt.Sprintf("Ranks, and times against %s, without drift. Variants share a rank where none of them is faster by %s or more, as far as the times tell; at most %s chance of any wrong difference.", first, compare.Percent(d.MinEffect), compare.Percent(d.Alpha)))
	}
	return t
}

// orderCells returns the cells of a case of ordered variants.
func (d *Document) orderCells(c *Measured) []string {
	out := []string{unit.None, unit.None, unit.None, unit.None, ""}
	if c.First != "" {
		out[0] = c.First
	}
	if c.Change != nil {
		out[1] = unit.Change(*c.Change)
	}
	_, last := d.Ends()
	children := 0
	for _, r := range c.Variants {
		children += r.Children
		if at := c.First; r.Lo != nil && (r.Name == at || at == "" && r.Name == last) {
			out[2] = unit.Change(*r.Lo) + " to " + unit.Change(*r.Hi)
		}
	}
	if c.Probability != nil {
		out[3] = ">99.9 %"
		if *c.Probability < 0.999 {
			out[3] = compare.Percent(*c.Probability)
		}
	}
	out[4] = strconv.Itoa(children)
	return out
}

// rankCells returns the cells of a case of unordered variants. A cell has the rank and the change of a
// variant.
func (d *Document) rankCells(c *Measured) []string {
	return slice.Map(c.Variants, func(r Reading) string {
		switch {
		case r.Rank == 0:
			return unit.None
		case r.Change == nil:
			return strconv.Itoa(r.Rank)
		}
		return fmt.Sprintf("%d (%s)", r.Rank, unit.Change(*r.Change))
	})
}

// CSV returns one row per variant and case, in base units.
func (d *Document) CSV() (header []string, rows [][]string) {
	header = []string{"key", "group", "bytes", "verdict", "first", "probability", "variant", "children", "seconds", "change", "change_lo", "change_hi", "rank", "left_out", "simulated"}
	for i := range d.Cases {
		c := &d.Cases[i]
		for v, r := range c.Variants {
			rank := ""
			if r.Rank > 0 {
				rank = strconv.Itoa(r.Rank)
			}
			rows = append(rows, []string{
				c.Key, c.Group, strconv.FormatInt(c.Bytes, 10), string(c.Verdict), c.First, table.Number(c.Probability),
				r.Name, strconv.Itoa(r.Children), table.Number(r.Seconds), table.Number(r.Change), table.Number(r.Lo), table.Number(r.Hi), rank,
				strconv.FormatBool(d.Variants[v].LeftOut), strconv.FormatBool(d.Simulated),
			})
		}
	}
	return header, rows
}
