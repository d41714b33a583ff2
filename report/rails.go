package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/finding"
	"zbench/bench/pairwise"
	"zbench/bench/unit"
)

// mostHeat is the number of ends up to which pairs are drawn one by one.
const mostHeat = 600

// Rails is the report of slow components. version is zbench's.
func Rails(d *pairwise.Document, version string) *Document {
	title := map[string]string{pairwise.OfMatrix: "Bandwidths of pairs: ", pairwise.OfLogs: "Logs of pairs: ", pairwise.OfTimes: "Ranks of a job: "}[d.Kind] + d.File
	out := &Document{
		Lead: railsLead(d), Findings: d.Verdict(), Chips: []Fact{{"State", string(d.State)}, {"Compared with", cmp.Or(d.Reference, "nothing")}},
		Foot: "A loss is a share of the bandwidth of the median: 50 % lost is half of it. 1 GB/s = 1e9 B/s.",
	}
	if s := d.Survey; s != nil {
		title = fmt.Sprintf("Rails of %s with %s each", unit.Count(int64(len(s.Nodes)), "node"), unit.Count(int64(s.GPUs), "GPU"))
		if out.Simulated = s.Simulated; s.Simulated {
			out.Banners = []Banner{{"simulated", "SIMULATED", "A model decided these times, not hardware."}}
			out.Foot += " SIMULATED: a model decided these times, not hardware."
		}
	}
	out.Title = title
	for _, h := range d.Heats {
		if len(h.Columns) <= mostHeat {
			out.add(h.ID, map[string]string{"map": "Bandwidth lost by pair", "rails": "Bandwidth lost by rail", "links": "Bandwidth lost by xGMI link"}[h.ID], heatBlocks(h)...)
		}
	}
	list := d.Table()
	list.Title = ""
	if len(d.Ranking) > 0 {
		out.Sections = append(out.Sections, Section{Name: resultsID, ID: resultsID, Title: "Worst first", Blocks: []Block{Sheet{Table: list, Label: "components, the worst first", Role: resultsID}}})
	}
	out.add("nodes", "Nodes for the next job", railsNodes(d)...)
	if d.Survey != nil {
		if len(d.Survey.ActualRails) > 0 {
			out.add("actual", "The NIC that each GPU uses", Sheet{Table: d.Survey.ActualTable(), Label: "expected and actual NICs"},
				Paragraph{"small", said("Expected is the NIC nearest to the GPU by PCI parents. Actual is the NIC whose byte counters rose while one GPU of every node ran a ring.")})
		}
		if len(d.Survey.Counters) > 0 {
			out.add("nics", "NIC counters", Sheet{Table: nicTable(d.Survey.Counters), Label: "counters of NICs"})
		}
	}
	out.add("survey", "What was measured", railsSurvey(d.Survey)...)
	out.add("notes", "Notes", listed("small", append([]string{"Written by zbench " + version + "."}, d.Notes...))...)
	return out
}

func heatBlocks(h pairwise.Heat) []Block {
	return []Block{HeatMap{
		ID: h.ID, Title: h.Title, Rows: h.Rows, Columns: h.Columns, Shares: h.Lost, Limit: h.Limit,
		Table: &Sheet{Table: h.Table(), Label: "the slowest"},
	}, Paragraph{"small", said(fmt.Sprintf("The height of a mark is the loss; the limit is %s. Empty is without a value.", pairwise.Percent(h.Limit)))}}
}

// railsSurvey are the facts of a measurement; unit.None for data from elsewhere.
func railsSurvey(s *pairwise.Survey) []Block {
	if s == nil {
		return nil
	}
	facts := Facts{
		{"Backend", s.Backend},
		{"Message", fmt.Sprintf("%s in each direction, %s in a round", unit.Bytes(s.Bytes), unit.Count(int64(s.Launches), "launch"))},
		{"Rounds", fmt.Sprintf("%d, of which %d between nodes", s.Rounds, s.NetworkRounds)},
	}
	if s.Fabric != "" {
		facts = append(facts, Fact{"Fabric", s.Fabric})
	}
	if len(s.Faults) > 0 {
		facts = append(facts, Fact{"Planted faults", strings.Join(s.Faults, ", ")})
	}
	return []Block{facts, Paragraph{"small", said("rounds.csv has the time of each pair in each round.")}}
}

func railsLead(d *pairwise.Document) string {
	switch d.State {
	case finding.Faulty:
		kind := "slow component"
		if slices.ContainsFunc(d.Findings, func(f pairwise.Finding) bool { return f.Lost == 0 }) {
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

func railsNodes(d *pairwise.Document) []Block {
	return nodeLists([]nodeList{
		{"fail.txt: nodes with a finding, for srun --exclude=./fail.txt", d.Fail},
		{"unclear.txt: candidates of what could not be decided", d.Unclear},
		{"pass.txt: nodes that are not slow", d.Pass},
	})
}
