package doctor

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"zbench/bench/plain"
	"zbench/bench/table"
)

// signs are legible without colour; the words say it where a sign cannot be drawn.
var signs = map[Mark]string{Good: "✓", Bad: "✗", Warn: "!", Fact: "·"}

// colours are those of terminals: green, red, yellow, none.
var colours = map[Mark]string{Good: "\x1b[32m", Bad: "\x1b[31m", Warn: "\x1b[33m"}

// Style is how text is drawn.
type Style struct {
	// Width is where lines are broken; 0 takes 100.
	Width  int
	Colour bool
}

// section is a title and its findings.
type section struct {
	title string
	mark  Mark
	found []Finding
}

// shown is the report as sections, every text of a machine escaped: colours are the
// only sequences that a terminal interprets.
func (r Report) shown() (title string, all []section) {
	all = r.sections()
	for _, s := range all {
		for i, f := range s.found {
			s.found[i] = Finding{f.Mark, plain.Text(f.Name), plain.Text(f.Value), plain.Text(f.Lost), plain.Text(f.Remedy)}
		}
	}
	return plain.Text(fmt.Sprintf("zbench %s doctor on %s:", r.Tool, r.Host)), all
}

func (r Report) sections() []section {
	var all []section
	for _, b := range r.Backends {
		s := section{title: "backend " + b.Name + ": can run", mark: Good, found: b.Findings()}
		if b.Simulated {
			s.title += " (SIMULATED: a model's times, no GPU needed)"
		}
		if !b.Usable {
			s.mark, s.title = Bad, "backend "+b.Name+": cannot run"
		}
		all = append(all, s)
	}
	if len(r.Machine) > 0 {
		all = append(all, section{title: "machine", found: slices.Clone(r.Machine)})
	}
	return all
}

// Text writes the report for a terminal.
func (r Report) Text(w io.Writer, style Style) error {
	if style.Width == 0 {
		style.Width = 100
	}
	t := &textWriter{style: style}
	title, sections := r.shown()
	t.line("%s %s", title, plain.Text(r.Verdict))
	for _, s := range sections {
		for _, f := range s.found {
			t.names = max(t.names, utf8.RuneCountInString(f.Name))
		}
	}
	for _, s := range sections {
		t.line("")
		t.line("%s", t.paint(s.mark, s.title))
		for _, f := range s.found {
			t.finding(f)
		}
	}
	if len(r.NotChecked) > 0 {
		t.line("\nNOT CHECKED: it takes a run on the GPUs to see")
		for _, item := range r.NotChecked {
			t.line("  - %s", item)
		}
	}
	_, err := io.WriteString(w, t.text.String())
	return err
}

type textWriter struct {
	text  strings.Builder
	style Style
	names int
}

func (t *textWriter) line(format string, args ...any) { fmt.Fprintf(&t.text, format+"\n", args...) }

func (t *textWriter) paint(mark Mark, text string) string {
	if !t.style.Colour || colours[mark] == "" {
		return text
	}
	return colours[mark] + text + "\x1b[0m"
}

// finding is a sign, a name, and a value that continues under itself; then what is
// lost and what to do.
func (t *textWriter) finding(f Finding) {
	indent := strings.Repeat(" ", 4+t.names+2)
	name := f.Name + strings.Repeat(" ", t.names-utf8.RuneCountInString(f.Name))
	values := wrap(f.Value, t.style.Width-len(indent))
	t.line("%s", strings.TrimRight(fmt.Sprintf("  %s %s  %s", t.paint(f.Mark, signs[f.Mark]), name, values[0]), " "))
	for _, more := range values[1:] {
		t.line("%s%s", indent, more)
	}
	for _, extra := range []struct{ sign, text string }{{"lost: ", f.Lost}, {"→ ", f.Remedy}} {
		if extra.text == "" {
			continue
		}
		sign := extra.sign
		for _, more := range wrap(extra.text, t.style.Width-len(indent)-utf8.RuneCountInString(sign)) {
			t.line("%s%s%s", indent, sign, more)
			sign = strings.Repeat(" ", utf8.RuneCountInString(sign))
		}
	}
}

// minWidth is the least width that a text is folded to, in columns.
const minWidth = 20

// wrap folds a text; one of several lines, as a compiler's log, keeps its own lines.
func wrap(text string, width int) []string {
	if strings.Contains(text, "\n") {
		return strings.Split(text, "\n")
	}
	return plain.Fold(text, max(width, minWidth), "", "")
}

// Markdown writes the report as tables, for an issue or a page.
func (r Report) Markdown(w io.Writer) error {
	var b strings.Builder
	title, sections := r.shown()
	fmt.Fprintf(&b, "**%s** %s\n", plain.Markdown(title), plain.Markdown(plain.Text(r.Verdict)))
	for _, s := range sections {
		t := table.Of([]string{"", "what", "found", "lost", "remedy"})
		for _, f := range s.found {
			t.Add(signs[f.Mark], f.Name, f.Value, f.Lost, f.Remedy)
		}
		fmt.Fprintf(&b, "\n### %s\n\n", s.title)
		if err := table.Markdown(&b, t); err != nil {
			return err
		}
	}
	if len(r.NotChecked) > 0 {
		b.WriteString("\n### NOT CHECKED: it takes a run on the GPUs to see\n\n")
		for _, item := range r.NotChecked {
			fmt.Fprintf(&b, "- %s\n", item)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
