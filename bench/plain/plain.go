// Package plain makes text from elsewhere safe where it is shown: names of files,
// versions, keys and whatever else a log or a record holds.
package plain

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text escapes what a terminal would interpret instead of show: control characters other
// than newline and tab, marks that reverse the direction of writing, and bytes that
// are no UTF-8. Each becomes \u and four hexadecimal digits, as JSON has it, so that
// a document of JSON stays the same document.
func Text(s string) string {
	if strings.IndexFunc(s, acts) < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\u%04x`, s[i])
		case acts(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// acts reports whether a terminal may interpret a character instead of showing it. It is true for
// RuneError, which may be a broken byte.
func acts(r rune) bool {
	switch r {
	case '\n', '\t':
		return false
	case utf8.RuneError, '\u2028', '\u2029':
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}

// Line keeps a text on one line of a terminal: control characters, escape sequences
// among them, and what cannot be drawn become spaces.
func Line(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || !unicode.IsGraphic(r) {
			return ' '
		}
		return r
	}, s)
}

// Markdown keeps a text from being read as markup: it stays on its line, in its cell. Commands
// between backticks are code.
func Markdown(s string) string {
	var b strings.Builder
	for _, p := range Parts(s) {
		if p.Code {
			b.WriteString("`" + p.Text + "`")
			continue
		}
		b.WriteString(markup.Replace(p.Text))
	}
	return b.String()
}

var markup = strings.NewReplacer(
	`\`, `\\`, "|", `\|`, "<", "&lt;", ">", "&gt;", "*", `\*`, "`", "\\`", "[", `\[`, "]", `\]`, "\r", " ", "\n", " ",
)

// formula is what a cell begins with that a spreadsheet computes (OWASP, "CSV
// Injection"); the wide forms are taken by some for the narrow ones.
const formula = "=+-@\t\r\n＝＋－＠"

// Cell is a cell of a CSV file that no spreadsheet takes for a formula: a quote
// mark goes before what begins as one. Numbers stay as they are.
func Cell(s string) string {
	_, first := utf8.DecodeRuneInString(s)
	if !strings.ContainsAny(s[:first], formula) {
		return s
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return s
	}
	return "'" + s
}

// Row makes cells of all fields, in place.
func Row(fields []string) []string {
	for i := range fields {
		fields[i] = Cell(fields[i])
	}
	return fields
}
