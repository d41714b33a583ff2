// Package plain makes text from outside zbench safe for display, such as names of files, versions,
// keys and other content of logs and records.
package plain

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text escapes every character that a terminal would interpret instead of displaying: control
// characters other than newline and tab, marks that reverse the direction of writing, and bytes
// that are not UTF-8. Each becomes \u and four hexadecimal digits, as in JSON, so that the meaning
// of a JSON document does not change.
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

// acts reports whether a terminal may interpret a character instead of displaying it. It returns
// true for RuneError, which may stand for an invalid byte.
func acts(r rune) bool {
	switch r {
	case '\n', '\t':
		return false
	case utf8.RuneError, '\u2028', '\u2029':
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}

// Line keeps a text on one terminal line: control characters, escape sequences and undrawable
// characters become spaces.
func Line(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || !unicode.IsGraphic(r) {
			return ' '
		}
		return r
	}, s)
}

// Markdown escapes a text so that it shows without markup on one line of a table cell. Commands
// between backticks become code.
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

// formula has the first characters of cells that a spreadsheet would compute (OWASP, "CSV
// Injection"). Some programs treat the full-width forms like the ASCII forms.
const formula = "=+-@\t\r\n＝＋－＠"

// Cell returns a CSV cell that no spreadsheet treats as a formula: if the text looks like a
// formula, a quote mark precedes it. Numbers stay unchanged.
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

// Row converts all fields to cells, in place.
func Row(fields []string) []string {
	for i := range fields {
		fields[i] = Cell(fields[i])
	}
	return fields
}
