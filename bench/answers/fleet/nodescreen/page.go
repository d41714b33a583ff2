package nodescreen

import (
	"cmp"
	"fmt"
	"slices"

	"zbench/bench/answers/fleet/rails"
	"zbench/bench/answers/soak"
	"zbench/bench/base/finding"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/show/document"
)

// mostFailed is the number of findings in the verdict; the tables have all.
const mostFailed = 7

// Shown returns the judgement for readers. version is zbench's version.
func (d *Document) Shown(version string) *document.Document {
	nodes := slices.SortedFunc(slices.Values(d.Reports), func(a, b *Node) int { return plain.Natural(a.Host, b.Host) })
	out := &document.Document{
		Command: "screen", Value: d,
		Title: "Screen of " + unit.Count(int64(max(d.Nodes, d.Expected)), "node"), Lead: "Each node was checked alone, then the nodes were compared.",
		State: d.State, Findings: d.verdict(), Most: mostFailed, Chips: d.chips(),
		Foot: "A share is of the median of all nodes. 1 GB/s = 1e9 B/s. Port rates are decimal: 400G = 50 GB/s. Written by zbench " + version + ".",
	}
	if d.Simulated {
		out.Simulate()
	}
	if ranked := rankedBlocks(d.Standings()); len(ranked) > 0 {
		out.Results("Nodes, worst first", ranked...)
	}
	out.Add("measured", "Compared with the fleet", screenDots(nodes, d)...)
	if len(d.Findings) > 0 {
		on := document.Page | document.Verbose | document.Markdown
		if len(out.Findings) > out.Most { // a terminal does not show all findings
			on = document.Everywhere
		}
		out.Add("findings", "Findings and next steps", document.Sheet{Table: d.Table(), Label: "findings"}).Show(on)
	}
	if len(d.References) > 0 {
		out.Add("references", "What measurements were compared with", document.Sheet{Table: compared(d.References)}).Show(document.Brief)
	}
	out.Add("unchecked", "NOT CHECKED", document.Listed("warnings", slice.Map(d.Unchecked, plain.Line))...).Show(document.Everywhere)
	out.Add("next", "Nodes for the next job", rails.NodeLists([]rails.NodeList{
		{Text: "fail.txt: nodes to leave out, for srun --exclude=./fail.txt and --exclude-bad", Names: d.Fail},
		{Text: "unclear.txt: nodes that differ without a majority", Names: d.Unclear},
		{Text: "pass.txt: nodes without a finding", Names: d.Pass},
	})...)
	out.Fold("notes", "Notes", document.Listed("small", []string{
		fmt.Sprintf("A value lies apart if it is at least %s and at least 5 robust standard deviations below the median. Of 2 or 3 values, those %s below the best are unclear.", rails.Percent(Effect), rails.Percent(effectOfFew)),
		"What most nodes have in common fails no node.",
	})...)
	return out
}

func (d *Document) chips() []document.Fact {
	reported := fmt.Sprint(d.Nodes)
	if d.Expected > d.Nodes {
		reported += fmt.Sprintf(" of %d", d.Expected)
	}
	return []document.Fact{
		{Term: "Nodes that reported", Text: reported}, {Term: "Leave out", Text: fmt.Sprint(len(d.Fail))}, {Term: "Unclear", Text: fmt.Sprint(len(d.Unclear))}, {Term: "Without a finding", Text: fmt.Sprint(len(d.Pass))},
	}
}

// soaked returns the bound of soaks without wrong data, in words; "" without such a soak.
func (d *Document) soaked() string {
	var clean soak.Document
	for _, n := range d.Reports {
		if n.Soak != nil && n.Soak.Error == "" {
			clean.Nodes, clean.Attempts = append(clean.Nodes, n.Host), clean.Attempts+n.Soak.Samples
		}
	}
	if clean.Attempts == 0 {
		return ""
	}
	clean.UpTo = soak.UpTo(0, clean.Attempts)
	return clean.Counted()
}

// rankedBlocks returns the nodes with a finding. The nodes without a finding follow, folded.
func rankedBlocks(standings []*Standing) []document.Block {
	first := slices.IndexFunc(standings, func(s *Standing) bool { return s.Result == passed })
	if first < 0 {
		first = len(standings)
	}
	var out []document.Block
	if first > 0 {
		out = append(out, document.Sheet{Table: Ranked(standings[:first]), Label: "nodes with a finding, the worst first", Role: document.ResultsID})
	}
	if rest := standings[first:]; len(rest) > 0 {
		list := document.Sheet{Table: Ranked(rest), Label: "nodes without a finding, the slowest first"}
		out = append(out, document.Details{Summary: unit.Count(int64(len(rest)), "node") + " without a finding, the slowest first", Blocks: []document.Block{list}})
	}
	return out
}

// verdict returns the result, then the defects, the worst nodes first.
func (d *Document) verdict() finding.List {
	simulated := ""
	if d.Simulated {
		simulated = " (SIMULATED)"
	}
	all := finding.List{{Code: "verdict", Severity: d.State.Severity(), Text: d.result() + simulated + d.notChecked()}}
	if counted := d.soaked(); counted != "" {
		all = append(all, finding.Finding{Code: "soak", Severity: finding.Note, Text: "soak of each node alone: " + counted})
	}
	for _, f := range d.Findings {
		if f.Host == "" { // nodes that did not report and whose names are unknown
			all = append(all, f.Finding())
		}
	}
	for _, s := range d.Standings() {
		all = append(all, slice.Map(s.Findings, Deviation.Finding)...)
	}
	return all
}

// screenDots draws a picture for each rule that compares rates.
func screenDots(nodes []*Node, d *Document) []document.Block {
	names := slice.Map(nodes, func(n *Node) string { return plain.Line(n.Host) })
	var out []document.Block
	for _, rule := range []struct{ name, id, title, one string }{
		{"memory", "memory", "Bandwidth of every GPU's memory", "a GPU"},
		{productRule, "product", "Matrix product of every GPU", "a GPU"},
		{"collective", "collective", "Collective over the GPUs of each node", "a node"},
		{linkRule, "link", "Messages between each two GPUs of a node", "a link"},
		{"nic_collective", "nic", "Collective over each NIC alone", "a NIC"},
	} {
		dots := document.Dots{ID: "dots-" + rule.id, Title: rule.title + ", share of the median", Nodes: names, One: rule.one, Mark: document.MarkOf(d.Simulated)}
		var limits []Reference
		for _, k := range kinds(nodes, rule.name) {
			if r := d.reference(k.what); r.Median > 0 {
				limits, dots.Values = append(limits, r), append(dots.Values, dotValues(d, nodes, k, r.Median)...)
			}
		}
		if len(limits) == 0 {
			continue
		}
		byLimit := func(a, b Reference) int { return cmp.Compare(a.Limit, b.Limit) }
		dots.Limits = []float64{slices.MinFunc(limits, byLimit).Limit}
		if most := slices.MaxFunc(limits, byLimit).Limit; most-dots.Limits[0] >= 0.02 { // closer limits would look like one line
			dots.Limits = append(dots.Limits, most)
		}
		dots.Table = &document.Sheet{Table: compared(limits), Label: "medians and limits"}
		out = append(out, dots)
	}
	return out
}

// dotValues returns the values of a kind that a rule compared.
func dotValues(d *Document, nodes []*Node, k kind, median float64) []document.DotValue {
	var out []document.DotValue
	for _, v := range k.values {
		at := slices.IndexFunc(nodes, func(n *Node) bool { return n.Host == v.Host })
		tip := v.Host
		if v.Subject != "node" {
			tip += ", " + v.Subject
		}
		out = append(out, document.DotValue{Node: at, Share: v.Rate / median, Tip: plain.Line(tip) + ": " + rateText(k.rule, v.Rate), Named: slices.ContainsFunc(d.Findings, func(f Deviation) bool {
			return f.Rule == k.rule && f.Host == v.Host && f.Subject == v.Subject
		})})
	}
	return out
}
