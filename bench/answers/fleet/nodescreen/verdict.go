package nodescreen

import (
	"fmt"

	"zbench/bench/answers/fleet/rails"
	"zbench/bench/base/finding"
	"zbench/bench/base/plain"
	"zbench/bench/show/table"
)

// Verdict returns the result in one sentence, with the unchecked things.
func (d *Document) Verdict() string { return d.result() + d.notChecked() }

func (d *Document) result() string {
	of := fmt.Sprint(d.Nodes)
	if d.Expected > d.Nodes {
		of = fmt.Sprintf("%d of %d", d.Nodes, d.Expected)
	}
	switch d.State {
	case finding.NotChecked:
		return "NOT CHECKED: no node reported"
	case finding.Faulty:
		if len(d.Fail) == 0 {
			return fmt.Sprintf("FAULT: nodes are missing; %s reported, %d without a finding", of, len(d.Pass))
		}
		return fmt.Sprintf("FAULT: %s to leave out; %s reported, %d without a finding", plain.Count(len(d.Fail), "node"), of, len(d.Pass))
	case finding.Unclear:
		return fmt.Sprintf("UNCLEAR: %s differ and no majority decides; %s reported", plain.Count(len(d.Unclear), "node"), of)
	default:
		switch {
		case d.Nodes == 1 && !d.checked:
			return "OK: no check of the node failed; nothing was measured that has an equal to compare with"
		case d.Nodes == 1:
			return fmt.Sprintf("OK: no part of the node fails or lies apart from its equals; %s reported", of)
		}
		return fmt.Sprintf("OK: no node fails or lies apart; %s reported", of)
	}
}

// Table has a row for each finding.
func (d *Document) Table() table.Table {
	t := table.Of([]string{"NODE", "PART", "FOUND", "NEXT"})
	t.Columns[2].Wrap, t.Columns[3].Wrap = table.Sentences, table.Sentences
	for _, f := range d.Findings {
		text := f.Message
		if f.Unclear {
			text = "unclear: " + text
		}
		t.Add(plain.Line(f.Host), plain.Line(f.Subject), plain.Line(text), f.Next)
	}
	return t
}

// `compared` returns the references as a table.
func compared(all []Reference) table.Table {
	t := table.Numbers("COMPARED", "VALUES", "MEDIAN", "SPREAD", "NAMED FROM")
	t.Columns[0].Right = false
	for _, r := range all {
		t.Add(plain.Line(r.What), fmt.Sprint(r.Count), rateText(r.Rule, r.Median), rails.Percent(r.Spread), "−"+rails.Percent(r.Limit))
		t.Notes = append(t.Notes, fmt.Sprintf("Slowest by %s: %s; fastest: %s.", plain.Line(r.What), r.Slowest.text(r.Rule), r.Fastest.text(r.Rule)))
	}
	return t
}

// text returns a component with its node and its rate.
func (e *Extreme) text(rule string) string {
	where := e.Host
	if e.Subject != "node" {
		where = e.Subject + " of " + e.Host
	}
	return plain.Line(where) + " at " + rateText(rule, e.Rate)
}
