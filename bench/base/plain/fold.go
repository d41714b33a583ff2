package plain

import (
	"strings"

	"github.com/clipperhouse/displaywidth"

	"zbench/bench/base/pattern"
)

// Fold breaks a text at spaces into lines of at most width terminal columns. The text of first
// precedes the first line, and the text of rest precedes every other line. A word that is wider
// than a line gets its own line and is not broken. Spaces inside a line are kept; spaces at its
// ends are removed. Even an empty text gives one line. The text must not contain newlines: use
// OneSpace first. Text between backticks counts as one word, so that a reader can copy it from one
// line. A number with its unit also counts as one word.
func Fold(text string, width int, first, rest string) []string {
	text = kept.ReplaceAllStringFunc(text, func(s string) string { return strings.ReplaceAll(s, " ", held) })
	lines := fold(text, width, first, rest)
	for i, l := range lines {
		lines[i] = strings.ReplaceAll(l, held, " ")
	}
	return lines
}

// The pattern kept finds texts that must not be broken. Fold replaces the spaces in them by a
// no-break space and puts the spaces back once all lines are broken.
var kept = pattern.New("`[^`]*`|[0-9] (?:[%×]|[GTM]B/s|[KMGT]iB|[µmn]s)")

const held = "\u00a0"

func fold(text string, width int, first, rest string) []string {
	var lines []string
	var line strings.Builder
	line.WriteString(first)
	used, empty, gap := displaywidth.String(first), true, 0
	for word := range strings.SplitSeq(text, " ") {
		if word == "" {
			gap++
			continue
		}
		columns := displaywidth.String(word)
		if !empty && used+gap+columns > width {
			lines = append(lines, line.String())
			line.Reset()
			line.WriteString(rest)
			used, empty = displaywidth.String(rest), true
		}
		if !empty {
			line.WriteString(strings.Repeat(" ", gap))
			used += gap
		}
		line.WriteString(word)
		used, empty, gap = used+columns, false, 1
	}
	return append(lines, strings.TrimRight(line.String(), " "))
}

// OneSpace returns the text with every run of white space replaced by one space.
func OneSpace(text string) string { return strings.Join(strings.Fields(text), " ") }
