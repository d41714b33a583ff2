package peers

import (
	"strings"

	"zbench/bench/base/pattern"
)

// token is a word of a line. end is the position after its last character.
type token struct {
	s   string
	end int
}

var (
	stampRE = pattern.New(`^\d{4}-\d\d-\d\d[-T_ ]\d\d[-:]\d\d[-:]\d\d`)
	dateRE  = pattern.New(`^\d{4}-\d\d-\d\d$`)
	clockRE = pattern.New(`^\d\d:\d\d:\d\d(\.\d+)?$`)
)

// tokenize splits a line at spaces. A date and the time of day behind it are one token, because the
// column for timestamps has one name.
func tokenize(text string) []token { return tokenizeInto(nil, text) }

// tokenizeInto splits a line like tokenize and reuses the array of an earlier call.
func tokenizeInto(toks []token, text string) []token {
	toks = toks[:0]
	for i := 0; i < len(text); {
		if text[i] == ' ' {
			i++
			continue
		}
		end := i
		for end < len(text) && text[end] != ' ' {
			end++
		}
		t := token{text[i:end], end}
		if n := len(toks); n > 0 && isClock(t.s) && isDate(toks[n-1].s) {
			toks[n-1] = token{toks[n-1].s + " " + t.s, end}
		} else {
			toks = append(toks, t)
		}
		i = end
	}
	return toks
}

func isDate(s string) bool { return dateRE.MatchString(s) }

// isClock reports whether s is a time of day, with or without a fraction. It first looks for the
// colon, because a regular expression is slower and most words have no colon at this place.
func isClock(s string) bool { return len(s) > 2 && s[2] == ':' && clockRE.MatchString(s) }

// isStamp reports whether s begins with a date and a time of day.
func isStamp(s string) bool { return len(s) >= len("0000-00-00 00:00:00") && stampRE.MatchString(s) }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool { return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' }

// digits reports whether s consists of decimal digits.
func digits(s string) bool { return s != "" && run(s, 0) == len(s) }

// isWord reports whether s may name an element type, an operator or an algorithm.
func isWord(s string) bool {
	foreign := func(r rune) bool {
		return r > 'z' || !isDigit(byte(r)) && !isLetter(byte(r)) && !strings.ContainsRune("_/+-", r)
	}
	return s != "" && isLetter(s[0]) && !strings.ContainsFunc(s, foreign)
}

// isRoot reports whether s is a rank, or -1 for no root.
func isRoot(s string) bool {
	return digits(strings.TrimPrefix(s, "-"))
}

// numeric reports whether a cell may hold a measured value: a decimal, or the form in which printf
// writes an invalid number.
func numeric(s string) bool {
	switch s = strings.TrimPrefix(s, "-"); s {
	case "inf", "nan", "INF", "NAN", "Inf", "NaN":
		return true
	}
	return isDecimal(s)
}
