package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/unit"
	"zbench/bench/show/document"
	"zbench/bench/show/table"
)

// Shown returns the comparison as a document: the verdict, other differences, both curves and the change by size, and
// every case. A terminal omits cases that are the same.
func (c *Document) Shown() *document.Document {
	d := &document.Document{
		Command: "compare", Value: c, CSV: c.CSV, Checks: c.checks(), Strict: c.strict,
		Title: "Comparison of " + c.Benchmark, Lead: unit.Count(len(c.Base), "run") + " of BASE, " + unit.Count(len(c.New), "run") + " of NEW",
		Findings: c.Findings(), Chips: []document.Fact{{Term: "Verdict", Text: c.Word()}},
		Words: map[string]string{CodeCommon: "SLOWER", CodeShape: "SLOWER", CodeLargest: "SLOWER", CodeBroken: "BROKEN"},
		Foot:  "Sizes are IEC, 1 KiB = 1,024 B; rates are decimal, 1 GB/s = 1e9 B/s. Times are geometric means of run medians.",
	}
	if c.Simulated {
		d.Simulate()
	}
	d.Add("overlay", "Curves of both sides", c.overlayBlocks()...)
	if t := c.ChangeTable(); t != nil {
		d.Add("differences", "What else differs", document.Sheet{Table: *t, Label: "What else differs between BASE and NEW"}).Show(document.Everywhere)
	}
	groups := curves(c.Cases)
	if chart := changeChart(c, groups); !chart.Empty() {
		d.Add("change", "Change by size", document.Plots(document.Split(chart, groupNames(groups)))...)
	}
	d.Add("curves", "Both sides by size", pairBlocks(c, groups)...)
	d.Add("cases", "Cases", document.Sheet{Table: c.CaseTable(true)}).Show(document.Terminal | document.Markdown)
	d.Results("Results", document.Sheet{Table: c.CaseTable(false), Label: "Cases", Role: document.ResultsID}).Show(document.Page | document.Verbose).Folded = len(c.overlaid) > 0
	d.Fold("runs", "Runs", document.Sheet{Table: runTable(c), Label: "Runs"})
	return d
}

// groupNames returns the collective or kernel of each group. Charts are split by these names.
func groupNames(groups []Shape) []string {
	out := make([]string, len(groups))
	for i, g := range groups {
		out[i], _, _ = strings.Cut(g.Group, " ")
	}
	return out
}

// changeChart draws the change of the time of each group by size.
func changeChart(c *Document, groups []Shape) document.Chart {
	chart := document.Chart{
		ID: "change", Title: "Change of the time, NEW over BASE", Mark: document.MarkOf(c.Simulated), Quantity: document.Change, Axis: "change of the time, NEW over BASE",
		Notes: []string{"Above 0 NEW takes longer. Bars are the 95 % interval of each case, without adjustment for the number of cases."},
	}
	for _, g := range groups {
		s := document.Series{Name: g.Group}
		for _, one := range g.cases {
			p := document.Point{Bytes: one.Bytes, Value: *one.Change}
			if one.Test != nil {
				p.Lo, p.Hi, p.Bounded = one.Test.Lo, one.Test.Hi, true
			}
			if document.Change.Drawable(p.Value) {
				s.Points = append(s.Points, p)
			}
		}
		chart.Series = append(chart.Series, s)
	}
	chart.Clip()
	return chart
}

// pairBlocks returns the curves of both sides, a chart per group. The first chart is open.
func pairBlocks(c *Document, groups []Shape) []document.Block {
	var out []document.Block
	for i, g := range groups {
		chart := document.Chart{
			ID: fmt.Sprintf("curves-%d-%s", i+1, document.Slug(g.Group)), Title: g.Group, Mark: document.MarkOf(c.Simulated), Quantity: document.Time,
			Series: []document.Series{{Name: cmp.Or(c.names[0], "BASE")}, {Name: cmp.Or(c.names[1], "NEW")}}, Short: true,
		}
		if !slices.ContainsFunc(g.cases, func(c *Case) bool { return c.Base.Rate == nil || c.New.Rate == nil }) {
			chart.Quantity = document.BusBW
			if c.Benchmark != "collectives" {
				chart.Quantity = document.Rate
			}
		}
		for _, one := range g.cases {
			for k, v := range []Values{one.Base, one.New} {
				value := *v.Seconds
				if chart.Quantity != document.Time {
					value = *v.Rate
				}
				if chart.Quantity.Drawable(value) {
					chart.Series[k].Points = append(chart.Series[k].Points, document.Point{Bytes: one.Bytes, Value: value})
				}
			}
		}
		out = append(out, document.Plot{Chart: chart})
	}
	return document.FirstOpen(out)
}

// runTable lists the runs of both sides.
func runTable(c *Document) table.Table {
	t := table.Numbers("cases with a time", "without")
	t.Columns = append([]table.Column{{Name: "side"}, {Name: "run", Wrap: table.Words}}, t.Columns...)
	for _, side := range []struct {
		name string
		runs []Member
	}{{"BASE", c.Base}, {"NEW", c.New}} {
		for _, r := range side.runs {
			t.Add(side.name, r.Name, unit.Comma(r.Cases), unit.Comma(r.Without))
		}
	}
	return t
}
