package advice

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"zbench/bench/plain"
	"zbench/bench/recommend"
	"zbench/bench/table"
	"zbench/bench/trainer"
)

// assumedSentence is the sentence where nothing was asked: what it assumes, the
// setting with no more digits than the model's bracket allows, that bracket, and what
// the default costs.
func (d *Document) assumedSentence() string {
	a := &d.Answer
	s := "use " + d.Setting()
	if a.Keep {
		s = "keep the default " + d.Setting()
	}
	s += " elements"
	if d.Bracket != nil {
		s += fmt.Sprintf(" (%s within the model's range)", d.Range())
	}
	costs := 0.0
	switch {
	case a.Keep:
		costs = a.Gain
		s += fmt.Sprintf("; another size gains at most %s of a step", AtMost(a.Gain))
	case a.Default != nil:
		costs = costOf(a, a.Default)
		s += fmt.Sprintf("; the default %s costs %s of a step", d.Amount(a.Default.Elements), Share(costs))
	}
	if most, ok := d.Bracket.DefaultCost(); ok && most > costs+recommend.PlateauWidth {
		s += fmt.Sprintf(", up to %.0f %% within that range", 100*most)
	}
	return fmt.Sprintf("%s%s; assumed: %s. Confidence %s.", d.mark(), s, strings.Join(d.Assumed, ", "), a.Confidence.Level)
}

// IsAssumed reports whether the user gave no model, and the settings were assumed.
func (d *Document) IsAssumed() bool { return d != nil && len(d.Assumed) > 0 }

// WriteAssumed writes the answer to the assumed question: the other answers first,
// the sentence last.
func (d *Document) WriteAssumed(w io.Writer, width int, paths ...string) error {
	if err := d.WriteWhatIf(w, width, paths...); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", strings.Join(plain.Fold(d.Sentence, width, "", ""), "\n"))
	return err
}

// Command is what answers for the user's own model, from the curves in a folder, or in
// several records and logs.
func Command(paths ...string) string { return strings.Join(command(paths), " ") }

// command is Command in parts that stay together.
func command(paths []string) []string {
	line := []string{"zbench recommend"}
	for _, p := range paths {
		line = append(line, quoted(p))
	}
	return []string{strings.Join(line, " "), "--framework " + trainer.Assumed + " --params FILE --backward-ms MS"}
}

// commandLines is the command behind a heading: one line where it fits, else as a
// shell continues one.
func commandLines(heading string, paths []string, width int) []string {
	if one := heading + Command(paths...); utf8.RuneCountInString(one) <= width {
		return []string{one}
	}
	parts := command(paths)
	return []string{heading + parts[0] + " \\", parts[1]}
}

// quoted is a path as an argument of a shell, which takes it for no flag.
func quoted(s string) string {
	if strings.HasPrefix(s, "-") {
		s = "./" + s
	}
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+=:@%,") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// WriteWhatIf writes the other answers, the caveats and the command for the user's
// own model, for a terminal of so many columns.
func (d *Document) WriteWhatIf(w io.Writer, width int, paths ...string) error {
	var b strings.Builder
	if t := d.WhatIfTable(); len(t.Groups[0].Rows) > 0 {
		if err := table.Text(&b, width, t); err != nil {
			return fmt.Errorf("advice: %w", err)
		}
	}
	for _, c := range d.Caveats {
		for _, line := range plain.Fold(c, width, "", "") {
			b.WriteString(line + "\n")
		}
	}
	for i, line := range commandLines("Your own model: ", paths, width) {
		if i > 0 {
			line = "  " + line
		}
		b.WriteString(line + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WhatIfTable is the other answers, one a row. What the assumed question lacks is not
// repeated for each.
func (d *Document) WhatIfTable() table.Table {
	t := table.Table{Indent: 2, Groups: []table.Group{{}}, Columns: []table.Column{{Name: fmt.Sprintf("what if (at %.0f TFLOP/s)", assumedFlops/1e12)}, {Name: "setting"}, {Name: "range of the model"}, {Name: "default costs", Right: true}}}
	for _, x := range d.WhatIf {
		if x.Refusal != nil && !d.Answered() {
			continue
		}
		t.Add(x.cells()...)
	}
	return t
}

func (x *WhatIf) cells() []string {
	if x.Refusal != nil {
		why := strings.ReplaceAll(x.Refusal.Code, "_", " ")
		if m := x.Refusal.Missing; len(m) > 0 {
			why = "needs " + strings.Join(m, " and ")
		}
		return []string{x.Name, why, "", ""}
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
