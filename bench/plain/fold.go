package plain

import (
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// Fold breaks a text at spaces into lines of at most width columns of a terminal.
// The first line begins with first, the others with rest. A word that is wider than
// a line has a line of its own and is not broken. Spaces between two words of a line
// are kept, those at its ends are not. There is always one line, for an empty text
// too. A newline is no space: make one line of the text first, as with OneSpace.
func Fold(text string, width int, first, rest string) []string {
	var lines []string
	line, used, empty := first, displaywidth.String(first), true
	gap := ""
	for word := range strings.SplitSeq(text, " ") {
		if word == "" {
			gap += " "
			continue
		}
		columns := displaywidth.String(word)
		if !empty && used+len(gap)+columns > width {
			lines = append(lines, line)
			line, used, empty = rest, displaywidth.String(rest), true
		}
		if !empty {
			line, used = line+gap, used+len(gap)
		}
		line, used, empty, gap = line+word, used+columns, false, " "
	}
	return append(lines, strings.TrimRight(line, " "))
}

// OneSpace is the text with every run of white space made one space.
func OneSpace(text string) string { return strings.Join(strings.Fields(text), " ") }
