package peers

import (
	"slices"
	"strings"
)

// envelope is the text that a logger puts in front of each line, as it stood before the column names of one
// table. Another line has the same shape: its times, numbers and names differ, its signs do not.
type envelope string

// maxEnvelopes bounds the shapes that are kept. A log has one, or one for each kind of host name.
const maxEnvelopes = 16

// learn keeps the envelope of a line of column names.
func (c *cleaner) learn(text string) {
	e := envelopeOf(text)
	if strings.Count(text, "|") > 4 {
		return // a table of Markdown
	}
	for i := range e { // a launcher's label behind it tells processes apart
		if m := labels[1].FindString(string(e[i:])); (i == 0 || strings.IndexByte(" \"'", e[i-1]) >= 0) && m == string(e[i:]) {
			e = e[:i]
			break
		}
	}
	if e != "" && len(c.envelopes) < maxEnvelopes && !slices.Contains(c.envelopes, e) {
		c.envelopes = append(c.envelopes, e)
	}
}

// preview learns from the first column names of a log, so that the lines above them are clean, too. Of a log
// without column names it learns from the first row.
func (c *cleaner) preview(head string) {
	header := strings.Contains(head, "algbw")
	for text := range strings.Lines(head) {
		l := line{text: shown(strings.TrimSuffix(text, "\n"))}
		switch l.unmark(); {
		case header && strings.Contains(text, "busbw"):
			c.learn(l.text)
		case !header && !plain(l.text):
			c.learn(l.text[:rowAt(l.text)] + today)
		}
		if len(c.envelopes) > 0 {
			return
		}
	}
}

// rowAt returns where in a line a row begins; 0 if none does. The spaces that align it belong to it, but for one
// behind a word.
func rowAt(text string) int {
	toks := tokenize(text)
	for i := len(toks) - 1; i > 0; i-- {
		if containsRow(toks, i) {
			return min(toks[i-1].end+1, toks[i].end-len(toks[i].s))
		}
	}
	return 0
}

// envelopeOf returns what stands before the size, the first of the column names; empty if nothing does. The
// spaces behind a number sign align the names.
func envelopeOf(text string) envelope {
	toks := tokenize(text)
	name := func(t token) kind { return names[strings.ToLower(t.s[strings.LastIndexByte(t.s, '#')+1:])] }
	last := slices.IndexFunc(toks, func(t token) bool { return name(t) == kAlg })
	for i := last; i >= 0; i-- {
		if name(toks[i]) != kSize {
			continue
		}
		for i > 0 && name(toks[i-1]) != kOther {
			i--
		}
		glued := strings.LastIndexByte(toks[i].s, '#') + 1
		before := text[:toks[i].end-len(toks[i].s)+glued]
		if bare := strings.TrimRight(before, " "); strings.HasSuffix(bare, "#") {
			before = strings.TrimRight(bare, "#")
		} else if bare != "" && strings.ContainsFunc(bare, func(r rune) bool { return !isLetter(byte(r)) && r != ' ' }) {
			before = before[:min(len(bare)+1, len(before))]
		} else {
			return "" // columns of another tool
		}
		if strings.TrimSpace(before) == "" {
			return ""
		}
		return envelope(before)
	}
	return ""
}

// class is what a word of an envelope is made of. Only such a word is expected in its place.
type class int

const (
	sign class = iota
	number
	letters
	mixed
)

// word returns where the word that begins at a place of a text ends, and what it is made of. A time of day is
// three words, the fraction of its seconds a part of the last.
func word(text string, from int) (end int, c class) {
	var digit, other bool
	for end = from; end < len(text); end++ {
		switch b := text[end]; {
		case isDigit(b):
			digit = true
		case isLetter(b), b == '_', b >= 0x80:
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

// open returns what stands behind the envelope of a line, without the closing quotation mark of one that the
// envelope opens; false if the line has none of this shape.
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
		case n > 0 && i+n == len(e): // more spaces align the row; they end a line that has nothing else
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

// blanks returns the number of spaces at the beginning of a text.
func blanks(text string) int { return len(text) - len(strings.TrimLeft(text, " ")) }
