package rails

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"zbench/bench/base/finding"
	"zbench/bench/base/plain"
	"zbench/bench/base/unit"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
	"zbench/bench/show/table"
)

// mostListed is the largest number of nodes in a list that is not folded.
const mostListed = 12

// NodeList is a file of nodes for the next job.
type NodeList struct {
	Text  string
	Names []string
}

// NodeLists returns the lists that have nodes, one node per line as in the files. Long lists are folded.
func NodeLists(lists []NodeList) []document.Block {
	var out []document.Block
	for _, one := range lists {
		switch list := (document.Code{Label: one.Text, Text: Lines(one.Names)}); {
		case len(one.Names) > mostListed:
			out = append(out, document.Details{Summary: one.Text, Blocks: []document.Block{list}})
		case len(one.Names) > 0:
			out = append(out, document.Paragraph{Role: "", Text: document.Said(one.Text)}, list)
		}
	}
	return out
}

// Each pair is drawn if there are at most mostHeat ends.
const mostHeat = 600

// Shown returns the document for readers. version is zbench's version.
func (d *Document) Shown(version string) *document.Document {
	title := map[string]string{OfMatrix: "Bandwidths of pairs: ", OfLogs: "Logs of pairs: ", OfTimes: "Ranks of a job: "}[d.Kind] + d.File
	out := &document.Document{
		Command: "rails", Value: d, Title: title,
		Lead: railsLead(d), State: d.State, Findings: d.Verdict(), Chips: []document.Fact{{Term: "State", Text: string(d.State)}, {Term: "Compared with", Text: cmp.Or(d.Reference, "nothing")}},
		Foot: "A loss is a share of the bandwidth of the median: 50 % lost is half of it. 1 GB/s = 1e9 B/s. Written by zbench " + version + ".",
	}
	if s := d.Survey; s != nil {
		out.Title = fmt.Sprintf("Rails of %s with %s each", unit.Count(int64(len(s.Nodes)), "node"), unit.Count(int64(s.GPUs), "GPU"))
		if s.Simulated {
			out.Simulate()
		}
	}
	for _, h := range d.Heats {
		out.Add(h.ID, map[string]string{"map": "Bandwidth lost by pair", "rails": "Bandwidth lost by rail", "links": "Bandwidth lost by xGMI link"}[h.ID], h, document.Paragraph{Role: "small", Text: document.Said(fmt.Sprintf("The height of a mark is the loss; the limit is %s. Empty is without a value.", Percent(h.Limit)))})
	}
	if pairs := d.PairTable(); len(pairs.Columns) > 0 {
		title := "GPU to GPU within a node, GB/s each way"
		if n := len(d.Survey.Nodes); n > 1 {
			title += fmt.Sprintf(", median of %d nodes", n)
		}
		out.Add("pairs", title, document.Sheet{Table: pairs, Label: "rates between the GPUs of a node"}).Show(document.Everywhere)
	}
	if len(d.Ranking) > 0 {
		out.Results("Worst first", document.Sheet{Table: d.Table(), Label: "components, the worst first", Role: document.ResultsID}).Show(document.Everywhere)
	}
	out.Add("nodes", "Nodes for the next job", NodeLists([]NodeList{
		{"fail.txt: nodes with a finding, for srun --exclude=./fail.txt", d.Fail},
		{"unclear.txt: candidates of what could not be decided", d.Unclear},
		{"pass.txt: nodes that are not slow", d.Pass},
	})...)
	if d.Survey != nil {
		if len(d.Survey.ActualRails) > 0 {
			others, expected := d.Survey.ActualTables()
			out.Add("actual", "The NIC that each GPU uses", append(document.Apart("expected and actual NICs", others, expected, "GPUs that use the expected NIC"),
				document.Paragraph{Role: "small", Text: document.Said("Expected is the NIC nearest to the GPU by PCI parents. Actual is the NIC whose byte counters rose while one GPU of every node ran a ring.")})...)
		}
		if len(d.Survey.Counters) > 0 {
			apart, alike := record.NICTables(d.Survey.Counters)
			out.Add("nics", "NIC counters", append(document.Apart("counters of NICs", apart, alike, record.NICsAlike), document.Paragraph{Role: "small", Text: document.Said(record.NICNote)})...)
		}
	}
	out.Add("survey", "What was measured", railsSurvey(d.Survey)...)
	out.Add("notes", "Notes", document.Listed("small", d.Notes)...).Show(document.Everywhere)
	return out
}

// heat adds a map of lost shares, NaN if unknown, unless it has too many columns. limit is the smallest
// lost share for which a component is named.
func (d *Document) heat(id, title string, rows, columns []string, lost [][]float64, limit float64) {
	if len(columns) > mostHeat {
		return
	}
	t := table.Of([]string{"row", "column", "lost"})
	t.Columns[2].Right = true
	type cell struct {
		from, to int
		lost     float64
	}
	var all []cell
	for i, row := range lost {
		for k, lost := range row {
			if !math.IsNaN(lost) {
				all = append(all, cell{i, k, lost})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b cell) int { return cmp.Compare(b.lost, a.lost) })
	for _, c := range all[:min(len(all), mostShown)] {
		t.Add(plain.Line(rows[c.from]), plain.Line(columns[c.to]), Percent(c.lost))
	}
	if more := len(all) - mostShown; more > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("%d more have lost less.", more))
	}
	d.Heats = append(d.Heats, document.HeatMap{ID: id, Title: title, Rows: rows, Columns: columns, Shares: lost, Limit: max(limit, 0.05), Table: &document.Sheet{Table: t, Label: "the slowest"}})
}

// railsSurvey returns the facts of a measurement; none for data from elsewhere.
func railsSurvey(s *Survey) []document.Block {
	if s == nil {
		return nil
	}
	facts := document.Facts{
		{Term: "Backend", Text: s.Backend},
		{Term: "Message", Text: fmt.Sprintf("%s in each direction, %s in a round", unit.Bytes(s.Bytes), unit.Count(int64(s.Launches), "launch"))},
		{Term: "Rounds", Text: fmt.Sprintf("%d, of which %d between nodes", s.Rounds, s.NetworkRounds)},
	}
	if s.Fabric != "" {
		facts = append(facts, document.Fact{Term: "Fabric", Text: s.Fabric})
	}
	if len(s.Faults) > 0 {
		facts = append(facts, document.Fact{Term: "Planted faults", Text: strings.Join(s.Faults, ", ")})
	}
	return []document.Block{facts, document.Paragraph{Role: "small", Text: document.Said("rounds.csv has the time of each pair in each round.")}}
}

func railsLead(d *Document) string {
	switch d.State {
	case finding.Faulty:
		kind := "slow component"
		if slices.ContainsFunc(d.Findings, func(f NamedSlow) bool { return f.Lost == 0 }) {
			kind = "faulty component"
		}
		return fmt.Sprintf("%s named.", unit.Count(int64(len(d.Findings)), kind))
	case finding.Unclear:
		return "Something is slow; the data do not tell which component."
	case finding.NotChecked:
		return "NOT CHECKED: there is nothing to compare with."
	default:
		return "No slow component."
	}
}

// Table returns the components, the worst first.
func (d *Document) Table() table.Table {
	last := []string{"SLOW", "OF PAIRS"}
	if d.Kind == OfTimes {
		last = []string{"LAST", "OF"}
	}
	t := table.Numbers("COMPONENT", "LOST", last[0], last[1])
	t.Columns[0].Right = false
	most := 0 // rows with a notable loss; the table has at least ten
	for most < len(d.Ranking) && d.Ranking[most].Lost > cmp.Or(d.Limit, 0.05)/2 {
		most++
	}
	worst := d.Ranking[:min(len(d.Ranking), max(most, 10))]
	for _, r := range worst {
		t.Add(plain.Line(r.Name), Percent(r.Lost), fmt.Sprint(r.Slow), fmt.Sprint(r.All))
	}
	if rest := len(d.Ranking) - len(worst); rest > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("%d more, with less lost, are in rails.json.", rest))
	}
	return t
}

// mostShown is the number of pairs in the table of a heat map.
const mostShown = 200
