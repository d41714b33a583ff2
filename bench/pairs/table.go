package pairs

import (
	"fmt"
	"io"
	"strings"

	"zbench/bench/plain"
	"zbench/bench/table"
	"zbench/bench/unit"
)

// Sentence is the verdict in one sentence.
func (v Verdict) Sentence() string {
	of := plain.Count(len(v.Nodes), "node") + ", " + plain.Count(v.Pairs, "pair")
	switch {
	case v.Undecided:
		return "cannot tell which is slow: " + of
	case len(v.Slow) == 0 && len(v.Unclear) > 0:
		return "no node is slow; " + plain.Count(len(v.Unclear), "pair") + " must be measured again: " + of
	case len(v.Slow) == 0:
		return "nothing is slow: " + of + ", median " + unit.Rate(v.Median)
	}
	s := v.Slow[0]
	return fmt.Sprintf("%s is %.0f %% slower than the rest (%s)%s", s.Name(), 100*s.Share, of, more(len(v.Slow)-1))
}

func more(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", and %d more", n)
}

// Name is the node, or the pair, in words.
func (s Slow) Name() string {
	if s.To == "" {
		return "node " + s.From
	}
	return "the pair " + s.From + " → " + s.To
}

// Table has what is slow, the worst first.
func (v Verdict) Table() table.Table {
	t := table.Table{Rule: true, Columns: []table.Column{{Name: "slow"}, {Name: "lost", Right: true}, {Name: "confidence"}, {Name: "reason"}}}
	for _, s := range v.Slow {
		reason := fmt.Sprintf("slow with %s", plain.Count(s.Pairs, "partner"))
		switch {
		case s.To != "" && s.Confidence == High:
			reason = "both ends are as fast as the rest with others; slow each time it was measured"
		case s.To != "":
			reason = "both ends are as fast as the rest with others; measured once: repeat it"
		}
		t.Add(strings.TrimPrefix(s.Name(), "the "), fmt.Sprintf("%.0f %%", 100*s.Share), s.Confidence, reason)
	}
	return t
}

// Notes say what could not be judged.
func (v Verdict) Notes() []string {
	var out []string
	if v.Undecided {
		out = append(out, fmt.Sprintf("NOT CHECKED: a slow node is told by its pairs with at least two others; %d nodes are needed", leastNodes))
	}
	if len(v.Single) > 0 {
		out = append(out, "NOT CHECKED: "+strings.Join(v.Single[:min(len(v.Single), 16)], ", ")+more(max(len(v.Single)-16, 0))+": fewer than two partners")
	}
	if n := len(v.Unclear); n > 0 {
		var names []string
		for _, s := range v.Unclear[:min(n, 8)] {
			names = append(names, s.From+" → "+s.To)
		}
		out = append(out, fmt.Sprintf("UNCLEAR: %d pairs were slow the one time that they were measured, as samples are by chance: %s%s. Measure these again.", n, strings.Join(names, ", "), more(max(n-8, 0))))
	}
	return out
}

// Text writes the verdict, the table and the notes for a terminal of a width in columns, 0
// for 120.
func (v Verdict) Text(w io.Writer, width int) error {
	if width == 0 {
		width = table.Terminal
	}
	if _, err := io.WriteString(w, strings.Join(plain.Fold(plain.Line(v.Sentence()), width, "", "  "), "\n")+"\n"); err != nil {
		return fmt.Errorf("write verdict: %w", err)
	}
	return v.rest(w, func(t table.Table) error { return table.Text(w, width, t) })
}

// Markdown writes the same for an issue.
func (v Verdict) Markdown(w io.Writer) error {
	if _, err := io.WriteString(w, "**"+plain.Markdown(plain.Line(v.Sentence()))+"**\n"); err != nil {
		return fmt.Errorf("write verdict: %w", err)
	}
	return v.rest(w, func(t table.Table) error { return table.Markdown(w, t) })
}

func (v Verdict) rest(w io.Writer, write func(table.Table) error) error {
	if len(v.Slow) > 0 {
		if _, err := io.WriteString(w, "\n"); err != nil {
			return fmt.Errorf("write verdict: %w", err)
		}
		if err := write(v.Table()); err != nil {
			return err
		}
	}
	for _, note := range v.Notes() {
		if _, err := io.WriteString(w, "\n"+plain.Line(note)+"\n"); err != nil {
			return fmt.Errorf("write verdict: %w", err)
		}
	}
	return nil
}

// PassFail are the nodes to use and those to leave out. An end of a slow pair passes: one
// of the two may be sound.
func (v Verdict) PassFail() (pass, fail []string) {
	slow := map[string]bool{}
	for _, s := range v.Slow {
		if s.To == "" {
			slow[s.From] = true
		}
	}
	for _, name := range v.Nodes {
		if slow[name] {
			fail = append(fail, name)
		} else {
			pass = append(pass, name)
		}
	}
	return pass, fail
}
