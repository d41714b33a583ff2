package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"zbench/bench/base/finding"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/show/document"
	"zbench/bench/show/table"
)

// Screen is the terminal, or another target of text output.
type Screen struct {
	// Width is the number of columns. Lines is the height; 0 is no limit. The blank lines between
	// parts are left out if the text fits only without them.
	Width, Lines int
	Colour       bool
	// Verbose shows everything that a terminal can show.
	Verbose bool
}

// Control sequences of a terminal.
const (
	bold    = "\x1b[1m"
	dim     = "\x1b[2m"
	uncolor = "\x1b[0m"
)

var severityColours = map[finding.Severity]string{finding.Fault: "\x1b[31m", finding.Warning: "\x1b[33m", finding.OK: "\x1b[32m"}

// signs distinguish severities without colour.
var signs = map[finding.Severity]string{finding.Fault: "✗", finding.Warning: "!", finding.OK: "✓", finding.Note: "·"}

// WriteText writes the document for a terminal: the findings and the terminal's sections, then the
// next commands. It escapes text that comes from outside zbench; the only control sequences are
// colours.
func WriteText(w io.Writer, d *document.Document, s Screen) error {
	parts, err := textParts(d, s)
	if err != nil {
		return fmt.Errorf("write text: %w", err)
	}
	gap := "\n"
	if lines := strings.Count(strings.Join(parts, ""), "\n"); lines <= s.Lines && lines+len(parts)-1 > s.Lines {
		gap = ""
	}
	_, err = io.WriteString(w, strings.Join(parts, gap))
	return err
}

// textParts returns the findings, the sections and the next commands as lines.
func textParts(d *document.Document, s Screen) ([]string, error) {
	on := document.Terminal
	if s.Verbose {
		on = document.Verbose
	}
	first, last := &textWriter{screen: s}, &textWriter{screen: s}
	if d.Beneath { // the next commands then follow directly after the last finding
		last.findings(d)
	} else {
		first.findings(d)
	}
	all := []*textWriter{first}
	for _, one := range d.For(on).Sections {
		t := &textWriter{screen: s}
		if title := one.Heading(); title != "" {
			t.fold(bold, title, "", "  ")
		}
		if err := t.blocks(one.Blocks); err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	for _, c := range d.Next {
		last.command(c)
	}
	var parts []string
	for _, t := range append(all, last) {
		if t.b.Len() > 0 {
			parts = append(parts, t.b.String())
		}
	}
	return parts, nil
}

// textWriter collects lines that are folded at the width of the screen.
type textWriter struct {
	screen Screen
	b      strings.Builder
}

// line adds a line in a style.
func (t *textWriter) line(style, text string) {
	if t.screen.Colour && style != "" && text != "" {
		text = style + text + uncolor
	}
	t.b.WriteString(text + "\n")
}

// fold adds an escaped text in a style. Its first line begins with the text `first`. All further
// lines begin with the text `rest`.
func (t *textWriter) fold(style, text, first, rest string) {
	for _, line := range plain.Fold(plain.OneSpace(plain.Line(text)), t.screen.Width, first, rest) {
		t.line(style, line)
	}
}

// hang adds a text after a prefix, and indents further lines by the width of the prefix.
func (t *textWriter) hang(style, prefix, text string) {
	t.fold(style, text, prefix, strings.Repeat(" ", utf8.RuneCountInString(prefix)))
}

// findings writes the title, unless the sections have one, and the statements, each with its next
// step.
func (t *textWriter) findings(d *document.Document) {
	if !d.Beneath && d.Title != "" {
		t.fold(bold, d.Title, "", "  ")
	}
	shown, more := d.Statements()
	for _, s := range shown {
		text := s.Text
		if s.Word != "" {
			text = s.Word + ": " + text
		}
		t.fold(severityColours[s.Severity], text, "", "  ")
		if s.Hint != "" {
			t.hang(dim, "  → ", s.Hint)
		}
	}
	if more > 0 {
		t.line("", fmt.Sprintf("%d more, listed below.", more))
	}
}

func (t *textWriter) blocks(all []document.Block) error {
	for i, b := range all {
		switch b.(type) {
		case document.Heading, document.Sheet:
			if i > 0 {
				t.line("", "")
			}
		}
		if err := t.block(b); err != nil {
			return err
		}
	}
	return nil
}

// block writes one block. Charts are only shown on pages.
func (t *textWriter) block(b document.Block) error {
	switch b := b.(type) {
	case document.Paragraph:
		t.fold("", b.Text.Plain(), "", "")
	case document.Heading:
		t.fold(bold, b.Text.Plain(), "", "  ")
	case document.List:
		for _, item := range b.Items {
			t.hang("", "- ", item.Plain())
		}
	case document.Facts:
		t.facts(b)
	case document.Code:
		for line := range strings.Lines(plain.Text(b.Text)) {
			t.line("", strings.TrimSuffix(line, "\n"))
		}
	case document.Command:
		t.command(b)
	case document.Items:
		t.items(b)
	case document.Sheet:
		if err := table.Text(&t.b, t.screen.Width, b.Table); err != nil {
			return err
		}
		if b.Caption != "" {
			t.fold("", b.Caption, "", "")
		}
	case document.Details:
		t.line("", "")
		t.fold(bold, b.Summary, "", "  ")
		return t.blocks(b.Blocks)
	}
	return nil
}

func (t *textWriter) facts(all document.Facts) {
	widest := slice.Most(all, func(f document.Fact) int { return utf8.RuneCountInString(f.Term) })
	for _, f := range all {
		t.hang("", fmt.Sprintf("%-*s  ", widest, plain.Line(f.Term)), f.Text)
	}
}

// command adds a command line. If it is wider than the terminal, it is continued on the next line.
func (t *textWriter) command(c document.Command) {
	first := ""
	if c.For != "" {
		first = c.For + ": "
	}
	lines := plain.Fold(plain.Line(c.Line), t.screen.Width-len(" \\"), first, "  ")
	for i, text := range lines {
		if i < len(lines)-1 {
			text += " \\"
		}
		t.line("", text)
	}
}

// widestName is the largest width, in columns, up to which the names of items have a column of
// their own.
const widestName = 26

// items writes each item: a sign, its name, its text, its further lines and the remedy. Lines after
// the first are below the text.
func (t *textWriter) items(all document.Items) {
	names := slice.Most(all, func(x document.Item) int { return utf8.RuneCountInString(plain.Line(x.Name)) })
	indent := "    "
	if names <= widestName {
		indent += strings.Repeat(" ", names+2)
	}
	for _, x := range all {
		name, text := plain.Line(x.Name), x.Text
		if names > widestName {
			name, text = "", name+": "+text
		} else {
			name += strings.Repeat(" ", names+2-utf8.RuneCountInString(name))
		}
		sign := signs[x.Severity]
		if t.screen.Colour && severityColours[x.Severity] != "" {
			sign = severityColours[x.Severity] + sign + uncolor
		}
		t.wrap("  "+sign+" "+name, indent, text)
		for _, more := range x.More {
			t.wrap(indent, indent, more)
		}
		if x.Hint != "" {
			t.wrap(indent+"→ ", indent+"  ", x.Hint)
		}
	}
}

// wrap adds a text. Its first line begins with the text `first`. All further lines begin with the
// text `rest`. A text with several lines, such as a compiler's log, keeps its lines.
func (t *textWriter) wrap(first, rest, text string) {
	const least = 20
	text = plain.Text(text)
	lines := strings.Split(text, "\n")
	if len(lines) == 1 {
		lines = plain.Fold(text, max(t.screen.Width-len(rest), least), "", "")
	}
	for _, line := range lines {
		t.line("", strings.TrimRight(first+line, " "))
		first = rest
	}
}
