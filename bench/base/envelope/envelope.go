package envelope

import (
	"slices"
	"strings"
)

// envelope is the text that a logger puts in front of each line. It is learned from the line with a
// table's column names. Prefixes of other lines have the same punctuation; their times, numbers and
// names differ.
type envelope string

// maxEnvelopes bounds the number of prefix shapes that a Cleaner keeps. A log has one shape, or one
// per kind of host name.
const maxEnvelopes = 16

// learn stores the text in front of the column names. It cuts off a launcher's label at the end of
// that text, because the label identifies the process.
func (c *Cleaner) learn(before string) {
	e := envelope(before)
	for i := range e { // cut off a launcher's label at the end
		if m := labels[1].FindString(string(e[i:])); (i == 0 || strings.IndexByte(" \"'", e[i-1]) >= 0) && m == string(e[i:]) {
			e = e[:i]
			break
		}
	}
	if strings.TrimSpace(string(e)) != "" && len(c.envelopes) < maxEnvelopes && !slices.Contains(c.envelopes, e) {
		c.envelopes = append(c.envelopes, e)
	}
}

// Preview learns from the first line with an envelope at the beginning of a log, so that the lines
// above it become clean, too. The function `before` returns the text in front of a line's column
// names or, if the log has no column names, in front of a row.
func (c *Cleaner) Preview(head string, before func(text string) string) {
	c.numbers.of(head)
	numbers := c.numbers
	for text := range strings.Lines(head) {
		l := Line{Text: numbers.without(shown(strings.TrimSuffix(text, "\n")))}
		if l.unmark(); !isMarkdown(l.Text) {
			c.learn(before(l.Text))
		}
		if len(c.envelopes) > 0 {
			return
		}
	}
}

// class is the kind of a word in an envelope. In other lines the same place must hold a word of the
// same kind.
type class int

const (
	sign class = iota
	number
	letters
	mixed
)

// word returns the end and the class of the word at a position. A time of day counts as three
// words: hours, minutes, and seconds with their fraction.
func word(text string, from int) (end int, c class) {
	var digit, other bool
	for end = from; end < len(text); end++ {
		switch b := text[end]; {
		case b >= '0' && b <= '9':
			digit = true
		case b >= 'A' && b <= 'Z', b >= 'a' && b <= 'z', b == '_', b >= 0x80:
			other = true
		case end > from && (b == '.' || b == ','):
		default:
			goto done
		}
	}
done:
	switch {
	case digit && other:
		return end, mixed
	case digit:
		return end, number
	case other:
		return end, letters
	}
	return end, sign
}

// open returns the text behind a line's envelope, and false if the line does not have this shape.
// If the envelope opens a quotation mark, open also removes the closing one.
func (e envelope) open(text string) (rest string, ok bool) {
	rest, ok = e.cut(text)
	for _, quote := range []string{`"`, "'"} {
		if end := strings.LastIndex(rest, quote); end >= 0 && strings.Count(string(e), quote)%2 == 1 {
			rest = strings.TrimSuffix(strings.TrimSuffix(rest[:end], `\n`), `\r`)
		}
	}
	return rest, ok
}

func (e envelope) cut(text string) (rest string, ok bool) {
	for i := 0; i < len(e); {
		end, want := word(string(e), i)
		n, have := blanks(string(e[i:])), blanks(text)
		switch {
		case want != sign:
			stop, got := word(text, 0)
			if got == sign || got != want && got != mixed && want != mixed {
				return "", false
			}
			i, text = end, text[stop:]
		case n > 0 && i+n == len(e): // the row may have more spaces here to align its columns, and an empty line may have fewer
			return text[min(n, len(text)):], have >= n || have == len(text)
		case n > 0:
			if have == 0 && i > 0 && e[i-1] != '[' {
				return "", false
			}
			i, text = i+n, text[have:]
		case text == "" || text[0] != e[i]:
			return "", false
		default:
			i, text = i+1, text[1:]
		}
	}
	return text, true
}

func blanks(text string) int { return len(text) - len(strings.TrimLeft(text, " ")) }
