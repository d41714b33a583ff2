package pairwise

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"zbench/bench/finding"
	"zbench/bench/plain"
	"zbench/bench/table"
)

// Codes of the findings of slow components.
const (
	CodeSlow       = "slow"
	CodeUnclear    = "unclear"
	CodeNotChecked = "not_checked"
	CodeHealthy    = "healthy"
	CodeSimulated  = "simulated"
)

// marks are the words with which lines of a verdict begin.
var marks = map[string]string{
	CodeSlow: "FAULT", CodeUnclear: "UNCLEAR", CodeNotChecked: "NOT CHECKED", CodeHealthy: "OK", CodeSimulated: "SIMULATED",
}

// Mark is the word with which a finding begins: FAULT, UNCLEAR, NOT CHECKED, OK or SIMULATED.
func Mark(f finding.Finding) string { return marks[f.Code] }

// Verdict is the answer as findings, in the order of reading.
func (d *Document) Verdict() finding.List {
	var out finding.List
	for _, f := range d.Findings {
		kind, lost := "", "has lost "+Percent(f.Lost)+" of its bandwidth"
		switch {
		case d.Kind == OfTimes:
			lost = "lets the others wait for " + Percent(f.Lost) + " of a collective's time"
		case f.Intermittent:
			kind = "intermittent: "
		case f.Lost == 0:
			lost = "has a fault, without a loss of bandwidth"
		}
		out = append(out, finding.Finding{
			Code: CodeSlow, Severity: finding.Fault, Share: f.Lost, Subject: &finding.Subject{Kind: finding.Kind(f.Part), Name: f.Name, Nodes: f.Nodes},
			Text: fmt.Sprintf("%s%s %s (confidence %s): %s", kind, plain.Line(f.Name), lost, f.Level, strings.Join(f.Reasons, "; ")), Evidence: f.Reasons,
		})
	}
	for _, q := range d.Questions {
		lost := ""
		if q.Lost > 0 {
			lost = ", " + Percent(q.Lost) + " lost"
		}
		text := q.What + lost
		if len(q.Candidates) > 0 {
			text += "; candidates: " + list(q.Candidates)
		}
		one := finding.Finding{Code: CodeUnclear, Severity: finding.Warning, Share: q.Lost, Text: text, Hint: q.Next}
		for _, name := range q.Candidates {
			one.Candidates = append(one.Candidates, finding.Subject{Name: name})
		}
		out = append(out, one)
	}
	for _, u := range d.Unchecked {
		out = append(out, finding.Finding{Code: CodeNotChecked, Severity: finding.Warning, Text: u})
	}
	if d.State == finding.Healthy {
		text := "no component is slow, compared with " + d.Reference
		if d.Limit > 0 {
			text += "; a loss of " + Percent(math.Ceil(100*d.Limit)/100) + " would be named"
		}
		if d.Kind == OfTimes {
			text = "no rank arrives last beyond chance"
		}
		out = slices.Insert(out, 0, finding.Finding{Code: CodeHealthy, Severity: finding.OK, Text: text})
	}
	if d.Survey != nil && d.Survey.Simulated {
		out = append(out, d.Survey.simulated())
	}
	return out
}

// list joins names; of many it says how many more.
func list(names []string) string {
	const most = 8
	shown := make([]string, 0, most)
	for _, n := range names[:min(len(names), most)] {
		shown = append(shown, plain.Line(n))
	}
	text := strings.Join(shown, ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Table is the worst-first list.
func (d *Document) Table() table.Table {
	last := []string{"SLOW", "OF PAIRS"}
	if d.Kind == OfTimes {
		last = []string{"LAST", "OF"}
	}
	t := table.Of([]string{"COMPONENT", "LOST", last[0], last[1]})
	for i := 1; i < 4; i++ {
		t.Columns[i].Right = true
	}
	t.Title = "Worst first"
	worst := d.Worst()
	for _, r := range worst {
		t.Add(plain.Line(r.Name), Percent(r.Lost), fmt.Sprint(r.Slow), fmt.Sprint(r.All))
	}
	if rest := len(d.Ranking) - len(worst); rest > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("%d more, with less lost, are in rails.json.", rest))
	}
	return t
}

// Text writes the document for a terminal of so many columns: the verdict first.
func (d *Document) Text(w io.Writer, width int) error {
	if width <= 0 { // not a terminal
		width = table.Terminal
	}
	var b strings.Builder
	write := func(first, rest, text string) {
		b.WriteString(strings.Join(plain.Fold(plain.OneSpace(text), width, first, rest), "\n") + "\n")
	}
	indent := strings.Repeat(" ", 13)
	for _, l := range d.Verdict() {
		write(fmt.Sprintf("%-13s", Mark(l)), indent, l.Text)
		if l.Hint != "" {
			write(indent+"→ ", indent+"  ", l.Hint)
		}
	}
	b.WriteString("\n")
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	if len(d.Ranking) > 0 {
		if err := table.Text(w, width, d.Table()); err != nil {
			return err
		}
	}
	b.Reset()
	for _, n := range d.Notes {
		write("note: ", "      ", n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Markdown writes the document for a merge request or an issue.
func (d *Document) Markdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString("## Verdict\n\n")
	for _, l := range d.Verdict() {
		fmt.Fprintf(&b, "* **%s** %s", Mark(l), plain.Markdown(l.Text))
		if l.Hint != "" {
			fmt.Fprintf(&b, " (%s)", plain.Markdown(l.Hint))
		}
		b.WriteString("\n")
	}
	for _, n := range d.Notes {
		fmt.Fprintf(&b, "* note: %s\n", plain.Markdown(n))
	}
	b.WriteString("\n")
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	if len(d.Ranking) == 0 {
		return nil
	}
	return table.Markdown(w, d.Table())
}

// mostShown is the number of pairs in the table of a heat map.
const mostShown = 200

// Table is the slowest cells of the map.
func (h Heat) Table() table.Table {
	t := table.Of([]string{"row", "column", "lost"})
	t.Columns[2].Right = true
	type cell struct {
		from, to int
		lost     float64
	}
	var all []cell
	for i, row := range h.Lost {
		for k, lost := range row {
			if !math.IsNaN(lost) {
				all = append(all, cell{i, k, lost})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b cell) int { return cmp.Compare(b.lost, a.lost) })
	for _, c := range all[:min(len(all), mostShown)] {
		t.Add(plain.Line(h.Rows[c.from]), plain.Line(h.Columns[c.to]), Percent(c.lost))
	}
	if more := len(all) - mostShown; more > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("%d more have lost less.", more))
	}
	return t
}
