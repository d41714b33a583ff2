package advice

import (
	"fmt"
	"io"
	"strings"

	"zbench/bench/plain"
	"zbench/bench/table"
	"zbench/bench/trainer"
)

// assumedSentence is the sentence where nothing was asked: as of any answer, with no
// more digits than the bracket allows, and the bracket beside it.
func (d *Document) assumedSentence() string {
	a := &d.Answer
	s := "use " + d.Setting()
	if a.Keep {
		s = "keep the default " + d.Setting()
	}
	if d.Answer.Unit == trainer.Elements {
		s += " elements"
	}
	if d.Bracket != nil {
		s += fmt.Sprintf(" (%s in the model's bracket)", d.Range())
	}
	switch {
	case a.Keep:
		s += fmt.Sprintf("; at most %s of a step to gain", AtMost(a.Gain))
	case a.Default != nil:
		s += fmt.Sprintf("; the default %s costs %s of a step", d.Amount(a.Default.Elements), Share(costOf(a, a.Default)))
	}
	if d.Bracket != nil {
		if _, hi, ok := d.Bracket.DefaultCost(); ok {
			s += fmt.Sprintf(", up to %s in that bracket", wholeShare(hi))
		}
	}
	return d.mark() + s + ". Confidence " + a.Confidence.Level + "."
}

// wholeShare prints a share as a whole number of per cent, at least 1 %.
func wholeShare(r float64) string {
	if r < 0.01 {
		return "1 %"
	}
	return fmt.Sprintf("%.0f %%", 100*r)
}

// Assumptions is a line that says what was assumed; empty where a question was asked.
func (d *Document) Assumptions() string {
	if len(d.Assumed) == 0 {
		return ""
	}
	return "Assumed, because no flag says it: " + strings.Join(d.Assumed, ", ") + "."
}

// Command is what answers for the user's own model, of the curves in a folder.
func Command(folder string) string {
	return "zbench recommend " + quoted(folder) + " --framework megatron --params FILE --backward-ms MS"
}

// quoted is an argument of a shell.
func quoted(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+=:@%,") == "" && s[0] != '-' {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// WriteWhatIf writes the other answers, the caveats and the command for the user's
// own model, for a terminal of so many columns.
func (d *Document) WriteWhatIf(w io.Writer, width int, folder string) error {
	var b strings.Builder
	if len(d.WhatIf) > 0 {
		if err := table.Text(&b, width, d.WhatIfTable()); err != nil {
			return fmt.Errorf("advice: %w", err)
		}
	}
	for _, c := range d.Caveats {
		for _, line := range plain.Fold(c, width, "", "") {
			b.WriteString(line + "\n")
		}
	}
	fmt.Fprintf(&b, "For your own model: %s\n", Command(folder))
	_, err := io.WriteString(w, b.String())
	return err
}

// WhatIfTable is the other answers, one a row.
func (d *Document) WhatIfTable() table.Table {
	t := table.Table{Indent: 2, Groups: []table.Group{{}}, Columns: []table.Column{{Name: "what if"}, {Name: "setting"}, {Name: "in the model's bracket"}, {Name: "default costs", Right: true}}}
	for _, x := range d.WhatIf {
		t.Add(x.cells()...)
	}
	return t
}

func (x *WhatIf) cells() []string {
	if x.Refusal != nil {
		return []string{x.Name, "none", x.Refusal.Code, ""}
	}
	setting, costs := x.Setting, ""
	if x.Keep {
		setting = "keep " + setting
	}
	if x.DefaultCost != nil {
		costs = Share(*x.DefaultCost)
	}
	return []string{x.Name, setting, x.Range, costs}
}
