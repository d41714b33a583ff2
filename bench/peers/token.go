package peers

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// token is a word of a line and the column after its last character.
type token struct {
	s   string
	end int
}

var (
	dateRE  = regexp.MustCompile(`^\d{4}-\d\d-\d\d$`)
	clockRE = regexp.MustCompile(`^\d\d:\d\d:\d\d(\.\d+)?$`)
	stampRE = regexp.MustCompile(`^\d{4}-\d\d-\d\d[-T_ ]\d\d[-:]\d\d[-:]\d\d`)
	numRE   = regexp.MustCompile(`^\d+(\.\d+)?([eE][+-]?\d+)?$`)
	wordRE  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_/+-]*$`)
)

// tokenize splits at spaces. A date and the time of day after it are one token,
// because the timestamp column has one name for the two.
func tokenize(text string) []token {
	var toks []token
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
		if n := len(toks); n > 0 && clockRE.MatchString(t.s) && dateRE.MatchString(toks[n-1].s) {
			toks[n-1] = token{toks[n-1].s + " " + t.s, end}
		} else {
			toks = append(toks, t)
		}
		i = end
	}
	return toks
}

// number is a printed decimal: its text, its value, and half a unit of its last
// digit.
type number struct {
	s       string
	v, half float64
}

func (n number) lo() float64 { return max(n.v-n.half, 0) }
func (n number) hi() float64 { return n.v + n.half }

// parseNumber reads an unsigned decimal with an optional exponent, as printf
// writes it. Anything else, hexadecimal and inf included, is not one.
func parseNumber(s string) (number, bool) {
	if !numRE.MatchString(s) {
		return number{}, false
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(v, 0) {
		return number{}, false
	}
	mantissa, exp, _ := strings.Cut(strings.ToLower(s), "e")
	decimals := 0
	if i := strings.IndexByte(mantissa, '.'); i >= 0 {
		decimals = len(mantissa) - i - 1
	}
	// An exponent that does not fit an int made ParseFloat fail or v zero.
	e, _ := strconv.Atoi(exp)
	return number{s, v, 0.5 * math.Pow10(e-decimals)}, true
}

// scaled is a printed decimal times a power of ten, rounded once: 34.73 µs is
// the float64 that 3.473e-05 denotes, which 34.73*1e-6 is not.
func scaled(s string, unit float64) float64 {
	mantissa, exp, _ := strings.Cut(strings.ToLower(s), "e")
	e, _ := strconv.Atoi(exp)
	e += int(math.Round(math.Log10(unit)))
	v, _ := strconv.ParseFloat(mantissa+"e"+strconv.Itoa(e), 64)
	return v
}

// digits reports whether s is a non-empty run of decimal digits.
func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// numeric reports whether a cell of measured values may read so: a decimal, or
// what printf makes of a value that is none.
func numeric(s string) bool {
	switch strings.ToLower(strings.TrimPrefix(s, "-")) {
	case "inf", "nan":
		return true
	}
	_, ok := parseNumber(strings.TrimPrefix(s, "-"))
	return ok
}
