package rails

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"zbench/bench/base/pattern"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
)

// ErrFormat is wrapped by errors of files that cannot be read with certainty.
var ErrFormat = errors.New("not a table that zbench rails reads")

// Bounds of an input: lines, characters of a line and of a name, ends and values. No host's name
// has more than 253 characters.
const (
	mostName   = 255
	mostWords  = 4
	mostSource = 1000
	mostLines  = 5_000_000
	mostLine   = 1 << 20
	mostEnds   = 20_000
	mostValues = 1 << 20 // all pairs of 1,024 ends: 0.8 GB and ten seconds
	mostCells  = 20_000_000
)

// line is a line of a table with its number, counted from 1.
type line struct {
	number int
	cells  []string
}

// lines reads a table. Cells are separated by commas, semicolons or tabs, or by spaces if the first
// line has none of these. Empty lines and comments with # are left out.
func lines(r io.Reader) ([]line, error) {
	s := bufio.NewScanner(r)
	s.Buffer(nil, mostLine)
	var out []line
	separator := ""
	cells, number := 0, 0
	for s.Scan() {
		number++
		text := strings.TrimPrefix(s.Text(), "\ufeff")
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return nil, fmt.Errorf("%w: line %d is not text in UTF-8", ErrFormat, number)
		}
		if trimmed := strings.TrimSpace(text); trimmed == "" || strings.HasPrefix(trimmed, "#") {
			continue
		}
		if len(out) == 0 {
			separator = separatorOf(text)
		}
		if separator != "" && strings.Count(text, `"`)%2 == 1 {
			return nil, fmt.Errorf("%w: line %d has a quotation mark without its end", ErrFormat, number)
		}
		one := line{number, split(text, separator)}
		if cells += len(one.cells); number > mostLines || cells > mostCells {
			return nil, fmt.Errorf("%w: line %d is beyond %d lines or %d cells", ErrFormat, number, mostLines, mostCells)
		}
		out = append(out, one)
	}
	if err := s.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			return nil, fmt.Errorf("%w: line %d has more than %d characters", ErrFormat, number+1, mostLine)
		}
		return nil, err
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: there are no lines with values", ErrFormat)
	}
	return out, nil
}

// separatorOf returns the separator of a table, by its first line; empty for spaces.
func separatorOf(text string) string {
	for _, s := range []string{"\t", ";", ","} {
		if strings.Contains(text, s) {
			return s
		}
	}
	return ""
}

// split cuts a line. Cells may be quoted, with separators in them.
func split(text, separator string) []string {
	if separator == "" {
		return strings.Fields(text)
	}
	cells := strings.Split(text, separator)
	if strings.Contains(text, `"`) {
		r := csv.NewReader(strings.NewReader(text))
		r.Comma, r.LazyQuotes, r.TrimLeadingSpace = rune(separator[0]), true, separator != "\t"
		if quoted, err := r.Read(); err == nil {
			cells = quoted
		}
	}
	return slice.Map(cells, strings.TrimSpace)
}

// number reads a finite number. gap is true for an empty cell and for a word that means no value or a
// failed test.
func number(cell string) (v float64, gap bool, err error) {
	switch strings.ToLower(cell) {
	case "", "-", "--", "–", "—", "x", "?", "n/a", "#n/a", "na", "nan", "nil", "null", "none", "fail", "failed", "err", "error", "timeout", "timed out":
		return 0, true, nil
	}
	plainly, err := pointed(cell)
	if err != nil {
		return 0, false, err
	}
	v, err = strconv.ParseFloat(plainly, 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, false, fmt.Errorf("%q is not a number", plain.Line(short(cell)))
	}
	return v, false, nil
}

// `pointed` rewrites a number with a decimal point: 45,5 becomes 45.5, and 1,234.5 becomes 1234.5.
func pointed(cell string) (string, error) {
	whole, rest, comma := strings.Cut(cell, ",")
	switch {
	case !comma:
		return cell, nil
	case strings.Contains(rest, "."):
		return strings.ReplaceAll(cell, ",", ""), nil
	case len(rest) == 3 && len(whole) <= 3 && strings.TrimLeft(whole, "0") != "":
		return "", fmt.Errorf("%q is %s%s or %s.%s: write it without a comma", plain.Line(short(cell)), whole, rest, whole, rest)
	}
	return whole + "." + rest, nil
}

// value reads a number that may be followed by a unit.
func value(cell string, scale float64) (v float64, gap bool, err error) {
	digits := strings.TrimRight(cell, unitLetters)
	if own, named := unitOf([]string{strings.TrimSpace(cell[len(digits):])}); named && digits != "" {
		cell, scale = strings.TrimSpace(digits), own
	}
	v, gap, err = number(cell)
	return v * scale, gap, err
}

// unitLetters are the letters of units.
const unitLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/ "

// `short` shortens a text for a message.
func short(text string) string {
	if r := []rune(text); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return text
}

// units are spellings of rates, the longer spellings first.
var units = []struct {
	spelled *pattern.Pattern
	bytes   float64
}{
	{pattern.New(`(?i)gib/?s`), 1 << 30},
	{pattern.New(`(?i)mib/?s`), 1 << 20},
	{pattern.New(`(?i)gbit|gbps|\bGb/s`), 1e9 / 8},
	{pattern.New(`GB(/|_per_|p)?[sS]|gb/s|gb_s`), 1e9},
	{pattern.New(`(?i)mbit|\bmbps`), 1e6 / 8},
	{pattern.New(`MB(/|_per_|p)?[sS]|mb/s|mb_s`), 1e6},
}

// unitOf returns the unit in a header, in bytes per second; GB/s if the header has none.
func unitOf(cells []string) (scale float64, named bool) {
	for _, c := range cells {
		for _, u := range units {
			if u.spelled.MatchString(strings.TrimSpace(c)) && (u.bytes != 1e9/8 || !strings.Contains(c, "GB")) {
				return u.bytes, true
			}
		}
	}
	return 1e9, false
}

// nameError refuses an invalid name.
func nameError(name string) error {
	switch {
	case name == "":
		return errors.New("a name is empty")
	case len(name) > mostName:
		return fmt.Errorf("a name has %d characters, at most %d: %s", len(name), mostName, plain.Line(short(name)))
	case len(strings.Fields(name)) > mostWords:
		return fmt.Errorf("a name has at most %d words: is another line mixed into %s?", mostWords, plain.Line(short(name)))
	}
	return nil
}
