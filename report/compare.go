package report

import (
	"fmt"
	"math"
	"strings"

	"zbench/bench/compare"
	"zbench/bench/gate"
	"zbench/bench/table"
	"zbench/bench/unit"
)

// Comparison is the report of a comparison of runs: the verdict, what else differs, both
// curves and the change by size, and every case.
func Comparison(c *compare.Document) *Document {
	d := &Document{
		Title: "Comparison of " + c.Benchmark, Lead: unit.Count(int64(len(c.Base)), "run") + " of BASE, " + unit.Count(int64(len(c.New)), "run") + " of NEW",
		Simulated: c.Simulated, Findings: c.Findings(), Chips: []Fact{{"Verdict", c.Word()}}, Fault: "SLOWER",
		Foot: "Sizes are IEC, 1 KiB = 1,024 B; rates are decimal, 1 GB/s = 1e9 B/s. Times are geometric means of run medians.",
	}
	if c.Counts.Slower == 0 && c.Counts.Broken > 0 {
		d.Fault = "WORSE"
	}
	if c.Simulated {
		d.Banners = []Banner{{"simulated", "SIMULATED", "A model decided these times, not hardware."}}
		d.Foot += " SIMULATED: a model decided these times, not hardware."
	}
	if t := c.ChangeTable(); t != nil {
		d.add("differences", "What else differs", Sheet{Table: *t, Label: "What else differs between BASE and NEW"})
	}
	groups := compare.Curves(c.Cases)
	if chart := changeChart(c, groups); !chart.Empty() {
		d.add("change", "Change by size", plots(split(chart, groupNames(groups)))...)
	}
	d.add("curves", "Both sides by size", pairBlocks(c, groups)...)
	t := c.CaseTable(false)
	d.results(Sheet{Table: t, Label: "Cases", Role: resultsID})
	d.fold("runs", "Runs", Sheet{Table: runTable(c), Label: "Runs"})
	return d
}

// groupNames are the collectives or kernels, by which charts are split.
func groupNames(groups []compare.Curve) []string {
	out := make([]string, len(groups))
	for i, g := range groups {
		out[i], _, _ = strings.Cut(g.Group, " ")
	}
	return out
}

// markOf is what must travel with a picture.
func markOf(c *compare.Document) string {
	if c.Simulated {
		return "SIMULATED"
	}
	return ""
}

// changeChart is the change of the time of each group by size.
func changeChart(c *compare.Document, groups []compare.Curve) Chart {
	chart := Chart{
		ID: "change", Title: "Change of the time, NEW over BASE", Mark: markOf(c), Quantity: Change, Axis: "change of the time, NEW over BASE",
		Notes: []string{"Above 0 NEW takes longer. Bars are the 95 % interval of each case, without adjustment for the number of cases."},
	}
	for _, g := range groups {
		s := Series{Name: g.Group}
		for _, one := range g.Cases {
			p := Point{Bytes: one.Bytes, Value: *one.Change}
			if one.Test != nil {
				p.Lo, p.Hi, p.Bounded = one.Test.Lo, one.Test.Hi, true
			}
			if Change.drawable(p.Value) {
				s.Points = append(s.Points, p)
			}
		}
		chart.Series = append(chart.Series, s)
	}
	chart.clip()
	return chart
}

// clip shortens intervals to three times the largest change, or 6 %, so that the changes
// can be told apart. What a point says keeps its whole interval.
func (c *Chart) clip() {
	far := 0.02
	for _, s := range c.Series {
		for _, p := range s.Points {
			far = max(far, math.Abs(p.Value))
		}
	}
	for _, s := range c.Series {
		for i := range s.Points {
			p := &s.Points[i]
			if p.Lo < -3*far || p.Hi > 3*far {
				p.Words = p.Text(c.Quantity)
				p.Lo, p.Hi = max(p.Lo, -3*far), min(p.Hi, 3*far)
			}
		}
	}
}

// pairBlocks are the curves of both sides, a chart for each group. The first is open.
func pairBlocks(c *compare.Document, groups []compare.Curve) []Block {
	var out, more []Block
	for i, g := range groups {
		chart := Chart{
			ID: fmt.Sprintf("curves-%d-%s", i+1, slug(g.Group)), Title: g.Group, Mark: markOf(c), Quantity: Time,
			Series: []Series{{Name: "BASE"}, {Name: "NEW"}}, Short: true,
		}
		if ratesKnown(g) {
			chart.Quantity = BusBW
			if c.Benchmark != "collectives" {
				chart.Quantity = Rate
			}
		}
		for _, one := range g.Cases {
			for k, v := range []compare.Values{one.Base, one.New} {
				value := *v.Seconds
				if chart.Quantity != Time {
					value = *v.Rate
				}
				if chart.Quantity.drawable(value) {
					chart.Series[k].Points = append(chart.Series[k].Points, Point{Bytes: one.Bytes, Value: value})
				}
			}
		}
		if i == 0 {
			out = append(out, Plot{Chart: chart})
		} else {
			more = append(more, Plot{Chart: chart})
		}
	}
	if len(more) > 0 {
		out = append(out, Details{"The same of " + unit.Count(int64(len(more)), "other curve"), more})
	}
	return out
}

// ratesKnown tells whether every case of a group has a bandwidth on both sides.
func ratesKnown(g compare.Curve) bool {
	for _, one := range g.Cases {
		if one.Base.Rate == nil || one.New.Rate == nil {
			return false
		}
	}
	return true
}

// runTable lists the runs of both sides.
func runTable(c *compare.Document) table.Table {
	t := numbers("cases with a time", "without")
	t.Columns = append([]table.Column{{Name: "side"}, {Name: "run", Wrap: table.Words}}, t.Columns...)
	for _, side := range []struct {
		name string
		runs []compare.Member
	}{{"BASE", c.Base}, {"NEW", c.New}} {
		for _, r := range side.runs {
			t.Add(side.name, r.Name, unit.Comma(int64(r.Cases)), unit.Comma(int64(r.Without)))
		}
	}
	return t
}

// AddGates adds the outcome of thresholds to a document's verdict.
func (d *Document) AddGates(r *gate.Report) {
	if r != nil {
		d.Findings = append(d.Findings, r.Findings()...)
		d.Chips = append(d.Chips, Fact{"Thresholds", r.State.Word()})
	}
}
