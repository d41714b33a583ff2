package bisect

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/show/document"
	"zbench/bench/show/table"
)

// Shown returns the search for readers: the verdict, the change of each variant by size, the machine's
// drift, and every case. A terminal omits cases with the verdict Same.
func (b *Document) Shown() *document.Document {
	first, _ := b.Ends()
	d := &document.Document{
		Command: "bisect", Value: b, CSV: b.CSV, Checks: b.checks(), Strict: b.strict,
		Title: "Bisection of " + unit.Count(len(b.Variants), "variant"),
		Lead: strings.Join([]string{
			unit.Count(len(b.Cases), "case"), unit.Count(b.Children, "child run") + " in " + unit.Count(b.Rounds, "round"),
			unit.Count(b.GPUs, "GPU"), b.Timing + " times",
		}, " · "),
		Findings: b.Findings(), Words: map[string]string{CodeSlow: "SLOWER", CodeBetween: "SLOWER"}, Chips: []document.Fact{{Term: "Verdict", Text: b.Verdict.Word()}},
		Foot: "Sizes are IEC, 1 KiB = 1,024 B. A change is the time over that of " + first + ", less 1, with drift taken out.",
	}
	if b.First != nil {
		d.Chips = append(d.Chips, document.Fact{Term: "First slow variant", Text: b.First.Variant})
	}
	if b.Simulated {
		d.Simulate()
	}
	if !b.Complete {
		d.Banners = append(d.Banners, document.Banner{Kind: "interrupted", Label: "INCOMPLETE", Text: "The search was stopped, or its rounds were used up; `zbench bisect --resume DIR`, with more --max-rounds, continues it."})
	}
	d.Add("change", "Change by size", variantBlocks(b, first)...)
	if chart := driftChart(b); !chart.Empty() {
		d.Add("drift", "Drift over the search", document.Plot{Chart: chart})
	}
	d.Add("cases", "Cases", document.Sheet{Table: b.CaseTable(true)}).Show(document.Terminal | document.Markdown)
	d.Results("Results", document.Sheet{Table: b.CaseTable(false), Label: "Cases", Role: document.ResultsID}).Show(document.Page | document.Verbose)
	d.Add("variants", "Variants", document.Sheet{Table: b.VariantTable(), Label: "Variants"}).Show(document.Everywhere)
	d.Fold("readings", "Readings of each variant", document.Sheet{Table: readingTable(b), Label: "Readings of each variant"})
	return d
}

// variantBlocks returns the changes of all variants by size, one chart per group of cases. The
// first is open.
func variantBlocks(b *Document, first string) []document.Block {
	var charts []document.Block
	for i, group := range groupsInOrder(b) {
		c := document.Chart{
			ID: fmt.Sprintf("change-%d-%s", i+1, document.Slug(group)), Title: group, Mark: document.MarkOf(b.Simulated), Quantity: document.Change, Axis: "change against " + plain.Clip(first, 16),
			Notes: []string{"Above 0 a variant takes longer. Bars are the 95 % interval of each reading, without adjustment for their number. A variant has points only where it was measured."},
		}
		for v := range b.Variants {
			if b.Variants[v].Name == first {
				continue
			}
			c.Series = append(c.Series, changesOf(b, group, v))
		}
		c.Series = slices.DeleteFunc(c.Series, func(s document.Series) bool { return len(s.Points) == 0 })
		if lo, hi := document.SizeRange(c); lo == hi {
			continue // a single point makes no curve: the table has it
		}
		if c.Clip(); !c.Empty() {
			charts = append(charts, document.Plot{Chart: c})
		}
	}
	return document.FirstOpen(charts)
}

// groupsInOrder returns the groups of cases that have a size.
func groupsInOrder(b *Document) []string {
	sized := slice.Where(b.Cases, func(c Measured) bool { return c.Bytes > 0 })
	return slice.Distinct(slice.Map(sized, func(c Measured) string { return c.Group }))
}

// changesOf returns the curve of a variant's changes in a group.
func changesOf(b *Document, group string, variant int) document.Series {
	s := document.Series{Name: b.Variants[variant].Name}
	for i := range b.Cases {
		c := &b.Cases[i]
		r := c.Variants[variant]
		if c.Group != group || c.Bytes <= 0 || r.Change == nil || !document.Change.Drawable(*r.Change) {
			continue
		}
		p := document.Point{Bytes: c.Bytes, Value: *r.Change}
		if r.Lo != nil && r.Hi != nil {
			p.Lo, p.Hi, p.Bounded = *r.Lo, *r.Hi, true
		}
		s.Points = append(s.Points, p)
	}
	return s
}

// driftChart draws the level of the machine in each child.
func driftChart(b *Document) document.Chart {
	c := document.Chart{
		ID: "drift", Title: "Level of the machine in each child run", Mark: document.MarkOf(b.Simulated), Quantity: document.Level, Axis: "time against the mean", Short: true,
		Series: []document.Series{{Name: "all variants"}},
		Notes:  []string{"The mean over a child's cases of the time without the variant's effect, over the mean of all children. A trend is drift, which the verdicts take out."},
	}
	for i, l := range b.Drift {
		if l.Change == nil || !document.Level.Drawable(*l.Change) {
			continue
		}
		c.Series[0].Points = append(c.Series[0].Points, document.Point{
			Bytes: int64(i + 1), Value: *l.Change,
			Words: fmt.Sprintf("%s, %s in round %d, %s", document.Level.Format(*l.Change), l.Variant, l.Round+1, unit.Count(l.Cases, "case")),
		})
	}
	return c
}

// readingTable returns a table with a row for each case and a column for each variant.
func readingTable(b *Document) table.Table {
	t := table.Numbers(append([]string{"size"}, b.names()...)...)
	t.By = []string{"case"}
	for i := range b.Cases {
		c := &b.Cases[i]
		cells := []string{document.Change.Place(document.Point{Bytes: c.Bytes})}
		for _, r := range c.Variants {
			cell := unit.None
			if r.Seconds != nil {
				cell = document.Time.Format(*r.Seconds)
				if r.Change != nil {
					cell += " (" + document.Change.Format(*r.Change) + ")"
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
