package report

import (
	"fmt"

	"zbench/bench/pairwise"
	"zbench/bench/rails"
)

// mostHeat is the number of ends up to which pairs are drawn one by one.
const mostHeat = 600

// Rails is the report of slow components. version is zbench's.
func Rails(d *pairwise.Document, version string) *Document {
	title := map[string]string{pairwise.OfMatrix: "Bandwidths of pairs", pairwise.OfLogs: "Logs of pairs", pairwise.OfTimes: "Ranks of a job"}[d.Kind] + ": " + d.File
	out := &Document{
		Title: title, Lead: railsLead(d), Verdict: railsBox(d),
		Foot: "A loss is a share of the bandwidth of the median: 50 % lost is half of it. 1 GB/s = 1e9 B/s.",
	}
	list := d.Table()
	list.Title = ""
	if h := d.Heat; h != nil && len(h.Names) <= mostHeat {
		out.add("map", "Bandwidth lost by pair", HeatMap{
			ID: "map", Title: "Row to column, share of the median's bandwidth lost", Rows: h.Names, Columns: h.Names, Shares: h.Lost, Limit: h.Limit,
			Table: &Sheet{Table: d.Cells(), Label: "the slowest pairs"},
		}, Paragraph{"small", said(fmt.Sprintf("The height of a mark is the loss; the limit is %s. Empty is without a value.", pairwise.Percent(h.Limit)))})
	}
	if len(d.Ranking) > 0 {
		out.Sections = append(out.Sections, Section{Name: results, ID: results, Title: "Worst first", Blocks: []Block{Sheet{Table: list, Label: "components, the worst first", Role: results}}})
	}
	out.add("nodes", "Nodes for the next job", railsNodes(d)...)
	out.add("notes", "What was read", listed("small", append([]string{"Written by zbench " + version + "."}, d.Notes...))...)
	return out
}

func railsLead(d *pairwise.Document) string {
	switch d.State {
	case rails.Faulty:
		return fmt.Sprintf("%s named.", plural(int64(len(d.Findings)), "slow component"))
	case rails.Unclear:
		return "Something is slow; the data do not tell which component."
	case rails.NotChecked:
		return "NOT CHECKED: there is nothing to compare with."
	default:
		return "No slow component."
	}
}

func railsBox(d *pairwise.Document) *VerdictBox {
	box := &VerdictBox{Chips: []Fact{{"State", string(d.State)}, {"Compared with", d.Reference}}}
	if d.Reference == "" {
		box.Chips[1].Text = "nothing"
	}
	class := map[string]string{"FAULT": "bad", "UNCLEAR": "warning", "NOT CHECKED": "warning", "OK": "good"}
	for _, l := range d.Verdict() {
		box.Rows = append(box.Rows, verdictRow{Class: class[l.Mark], Tag: l.Mark, Text: l.Text, Hint: l.Next})
	}
	return box
}

func railsNodes(d *pairwise.Document) []Block {
	var out []Block
	for _, one := range []struct {
		text  string
		names []string
	}{
		{"fail.txt: nodes with a finding, for srun --exclude=./fail.txt", d.Fail},
		{"unclear.txt: candidates of what could not be decided", d.Unclear},
		{"pass.txt: nodes that are not slow", d.Pass},
	} {
		if len(one.names) > 0 {
			out = append(out, Paragraph{"", said(one.text)}, Code{one.text, pairwise.Lines(one.names)})
		}
	}
	return out
}
