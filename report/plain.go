package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"zbench/bench/record"
	"zbench/bench/unit"
)

// oneLine keeps a foreign string from breaking a table: control characters,
// escape sequences among them, become spaces.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || !unicode.IsGraphic(r) {
			return ' '
		}
		return r
	}, s)
}

// markdownText keeps a foreign string from being read as markup.
func markdownText(s string) string {
	return strings.NewReplacer(
		`\`, `\\`, "|", `\|`, "<", "&lt;", ">", "&gt;", "*", `\*`, "`", "\\`", "[", `\[`, "]", `\]`,
	).Replace(s)
}

// folded breaks a line at spaces so that none is longer than width, where it
// can be; what follows the first is indented.
func folded(s string, width int) []string {
	var out []string
	line := ""
	for word := range strings.FieldsSeq(s) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > width {
			out = append(out, line)
			line = "   "
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(out, line)
}

// footnotes numbers the texts that do not fit into a row.
type footnotes struct{ tally }

// ref returns the text's number in brackets, the same for the same text.
func (f *footnotes) ref(text string) string {
	f.add(text)
	return fmt.Sprintf("[%d]", slices.Index(f.order, text)+1)
}

// lines are the texts with their numbers.
func (f *footnotes) lines() []string {
	out := make([]string, len(f.order))
	for i, text := range f.order {
		out[i] = fmt.Sprintf("[%d] %s", i+1, oneLine(text))
	}
	return out
}

// cell is what a row's notes column says: the notes, or a number where they
// are too long. A case that did not end ok says its status, and why beneath.
func (f *footnotes) cell(r *record.Result, notes []string) string {
	text := strings.Join(notes, ", ")
	if r.Status == record.OK {
		if len([]rune(text)) > noteWidth {
			return f.ref(text)
		}
		return text
	}
	why := reasonOf(r)
	if text != "" {
		why += "; " + text
	}
	return clip(statusText(r.Status), noteWidth-5) + " " + f.ref(why)
}

func orNone(s string) string {
	if s == "" {
		return none
	}
	return s
}

// collectiveCell prints a collective's name in the width of its column.
func collectiveCell(name string) string { return oneLine(clip(orUnnamed(name), 16)) }

// printSize prints the size a row stands for.
func printSize(r *record.Result) string { return unit.Bytes(sizeOf(r)) }

// reasonOf says why a case did not end ok, as far as the record knows.
func reasonOf(r *record.Result) string {
	switch {
	case r.Reason != "":
		return r.Reason
	case r.Verified.Reason != "":
		return r.Verified.Reason
	case r.Verified.Wrong != nil && *r.Verified.Wrong > 0:
		return plural(*r.Verified.Wrong, "wrong element")
	}
	return "no reason was recorded"
}
