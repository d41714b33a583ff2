package report

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/bisect"
	"zbench/bench/plain"
	"zbench/bench/table"
	"zbench/bench/unit"
)

// Bisection is the report of a search for the first slow variant, or of a ranking: the
// verdict, the change of each variant by size, the machine's drift, and every case.
func Bisection(b *bisect.Document) *Document {
	first, _ := b.Ends()
	d := &Document{
		Title: "Bisection of " + unit.Count(int64(len(b.Variants)), "variant"),
		Lead: strings.Join([]string{
			unit.Count(int64(len(b.Cases)), "case"), unit.Count(int64(b.Children), "child run") + " in " + unit.Count(int64(b.Rounds), "round"),
			unit.Count(int64(b.GPUs), "GPU"), b.Timing + " times",
		}, " · "),
		Simulated: b.Simulated, Findings: b.Findings(), Fault: "SLOWER",
		Foot: "Sizes are IEC, 1 KiB = 1,024 B. A change is the time over that of " + first + ", less 1, with drift taken out.",
	}
	d.Chips = []Fact{{"Verdict", b.Verdict.Word()}}
	if b.First != nil {
		d.Chips = append(d.Chips, Fact{"First slow variant", b.First.Variant})
	}
	if b.Simulated {
		d.Banners = append(d.Banners, Banner{"simulated", "SIMULATED", "A model decided these times, not hardware."})
		d.Foot += " SIMULATED: a model decided these times, not hardware."
	}
	if !b.Complete {
		d.Banners = append(d.Banners, Banner{"interrupted", "INCOMPLETE", "The search was stopped, or its rounds were used up; zbench bisect --resume, with more --max-rounds, continues it."})
	}
	d.add("change", "Change by size", variantBlocks(b, first)...)
	if chart := driftChart(b); !chart.Empty() {
		d.add("drift", "Drift over the search", Plot{Chart: chart})
	}
	d.results(Sheet{Table: b.CaseTable(false), Label: "Cases", Role: resultsID})
	d.add("variants", "Variants", Sheet{Table: b.VariantTable(), Label: "Variants"})
	d.fold("readings", "Readings of each variant", Sheet{Table: readingTable(b), Label: "Readings of each variant"})
	return d
}

// bisectMark is what must travel with a picture.
func bisectMark(b *bisect.Document) string {
	if b.Simulated {
		return "SIMULATED"
	}
	return ""
}

// variantBlocks are the changes of all variants by size, a chart for each group of cases. The
// first is open.
func variantBlocks(b *bisect.Document, first string) []Block {
	var charts []Block
	for i, group := range groupsInOrder(b) {
		c := Chart{
			ID: fmt.Sprintf("change-%d-%s", i+1, slug(group)), Title: group, Mark: bisectMark(b), Quantity: Change, Axis: "change against " + plain.Clip(first, 16),
			Notes: []string{"Above 0 a variant takes longer. Bars are the 95 % interval of each reading, without adjustment for their number. A variant has points only where it was measured."},
		}
		for v := range b.Variants {
			if b.Variants[v].Name == first {
				continue
			}
			c.Series = append(c.Series, changesOf(b, group, v))
		}
		c.Series = slices.DeleteFunc(c.Series, func(s Series) bool { return len(s.Points) == 0 })
		if lo, hi := sizeRange(c); lo == hi {
			continue // a point is no curve: the table has it
		}
		if c.clip(); !c.Empty() {
			charts = append(charts, Plot{Chart: c})
		}
	}
	if len(charts) < 2 {
		return charts
	}
	return []Block{charts[0], Details{"The same of " + unit.Count(int64(len(charts)-1), "other curve"), charts[1:]}}
}

// groupsInOrder are the groups of cases that have a size.
func groupsInOrder(b *bisect.Document) []string {
	var out []string
	for i := range b.Cases {
		if c := &b.Cases[i]; c.Bytes > 0 && !slices.Contains(out, c.Group) {
			out = append(out, c.Group)
		}
	}
	return out
}

// changesOf is the curve of a variant in a group.
func changesOf(b *bisect.Document, group string, variant int) Series {
	s := Series{Name: b.Variants[variant].Name}
	for i := range b.Cases {
		c := &b.Cases[i]
		r := c.Variants[variant]
		if c.Group != group || c.Bytes <= 0 || r.Change == nil || !Change.drawable(*r.Change) {
			continue
		}
		p := Point{Bytes: c.Bytes, Value: *r.Change}
		if r.Lo != nil && r.Hi != nil {
			p.Lo, p.Hi, p.Bounded = *r.Lo, *r.Hi, true
		}
		s.Points = append(s.Points, p)
	}
	return s
}

// driftChart is the level of the machine in each child.
func driftChart(b *bisect.Document) Chart {
	c := Chart{
		ID: "drift", Title: "Level of the machine in each child run", Mark: bisectMark(b), Quantity: Level, Axis: "time against the mean", Short: true,
		Series: []Series{{Name: "all variants"}},
		Notes:  []string{"The mean over a child's cases of the time without the variant's effect, over the mean of all children. A trend is drift, which the verdicts take out."},
	}
	for i, l := range b.Drift {
		if l.Change == nil || !Level.drawable(*l.Change) {
			continue
		}
		c.Series[0].Points = append(c.Series[0].Points, Point{
			Bytes: int64(i + 1), Value: *l.Change,
			Words: fmt.Sprintf("%s, %s in round %d, %s", Level.Format(*l.Change), l.Variant, l.Round+1, unit.Count(int64(l.Cases), "case")),
		})
	}
	return c
}

// readingTable has a row for each case and a column for each variant.
func readingTable(b *bisect.Document) table.Table {
	t := numbers("size")
	t.By = []string{"case"}
	for _, v := range b.Variants {
		t.Columns = append(t.Columns, table.Column{Name: v.Name, Right: true})
	}
	for i := range b.Cases {
		c := &b.Cases[i]
		cells := []string{Change.Place(Point{Bytes: c.Bytes})}
		for _, r := range c.Variants {
			cell := unit.None
			if r.Seconds != nil {
				cell = Time.Format(*r.Seconds)
				if r.Change != nil {
					cell += " (" + Change.Format(*r.Change) + ")"
				}
				cell += fmt.Sprintf(", n %d", r.Children)
			}
			cells = append(cells, cell)
		}
		t.AddTo(c.Group, cells...)
	}
	t.Notes = []string{"Medians of the children's times, with drift; in brackets the change without it; n is the number of children."}
	return t
}
