// Package mutate damages texts in ways that happen by accident: a copy that breaks off, a lost
// cell, a changed byte. The same seed makes the same texts on every host.
package mutate

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each calls the function read for every seed, and then for n texts that are made from the seeds by
// changes.
func Each(t *testing.T, seed uint64, n int, seeds []string, read func(t *testing.T, text string)) {
	t.Helper()
	for _, text := range seeds {
		read(t, text)
	}
	r := New(seed)
	for range n {
		text := Bytes(r, seeds[r.IntN(len(seeds))])
		read(t, text)
		if t.Failed() {
			t.Fatalf("the text was %q", text)
		}
	}
}

// New returns the random source for a seed.
func New(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 63)) } //nolint:gosec // the sequence must be reproducible, not secret

// odd are texts that readers often handle badly.
var odd = []string{"", "-1", "0", "1e999", "nan", "99999999999999999999", "\x00", "\xff", "\ufeff", "\n", "\r\n", ",", "\"", "{", "]", "=", "\t", "é", "null"}

// Bytes changes a text in one to four places, where it removes, repeats, replaces or moves bytes.
func Bytes(r *rand.Rand, text string) string {
	b := []byte(text)
	for range 1 + r.IntN(4) {
		from := r.IntN(len(b) + 1)
		to := min(from+r.IntN(1<<r.IntN(7)), len(b))
		part := bytes.Clone(b[from:to])
		switch r.IntN(6) {
		case 0:
			b = slices.Delete(b, from, to)
		case 1:
			b = slices.Insert(b, to, part...)
		case 2:
			b = slices.Replace(b, from, to, []byte(odd[r.IntN(len(odd))])...)
		case 3:
			b = slices.Insert(b, r.IntN(len(b)+1), part...)
		case 4:
			if from < len(b) {
				b[from] ^= 1 << r.IntN(8)
			}
		default:
			if from < len(b) {
				b[from] = "0123456789.-,x \n"[r.IntN(16)]
			}
		}
	}
	return string(b)
}

// Wound is a kind of damage to a row. A damaged row is not a valid row any more, and a reader can
// notice that.
type Wound string

// The kinds of damage.
const (
	// Shorter removes the last cells. Empty removes the text of one cell.
	Shorter Wound = "cells are missing"
	Empty   Wound = "a cell is empty"
	// Longer adds a cell.
	Longer Wound = "a cell too many"
	// Letters, Points, Signed, NotFinite and Huge replace a number by one that is invalid or cannot
	// have been measured.
	Letters   Wound = "letters in a number"
	Points    Wound = "two decimal points"
	Signed    Wound = "a negative number"
	NotFinite Wound = "not a number"
	Huge      Wound = "a number out of range"
	// Mixed inserts words of another program.
	Mixed Wound = "another line within it"
	// Glued removes the newline, so that the next row follows on the same line.
	Glued Wound = "no line end"
)

// Wounds lists all kinds of damage.
func Wounds() []Wound {
	return []Wound{Shorter, Empty, Longer, Letters, Points, Signed, NotFinite, Huge, Mixed, Glued}
}

// number matches a number between separators, quotes or brackets.
var number = regexp.MustCompile(`(?:^|[\s,;:"\[=])(\d+(?:\.\d+)?)(?:$|[\s,;"\]}])`) //nolint:forbidigo // only tests import it

// Row damages one of the rows of a text. The rows are the lines that match the pattern rows. figure
// matches a number as its group; nil means any number between separators. ok is false if no row can
// be damaged in this way.
func Row(r *rand.Rand, text string, rows, figure *regexp.Regexp, how Wound) (wounded string, ok bool) {
	lines := strings.SplitAfter(text, "\n")
	var which []int
	for i, l := range lines {
		if rows.MatchString(l) {
			which = append(which, i)
		}
	}
	if len(which) == 0 {
		return text, false
	}
	at := which[r.IntN(len(which))]
	line := strings.TrimRight(lines[at], "\r\n")
	end := lines[at][len(line):]
	if figure == nil {
		figure = number
	}
	line, ok = wound(r, line, figure, how)
	if how == Glued {
		ok, end = end != "" && slices.Contains(which, at+1), ""
	}
	lines[at] = line + end
	return strings.Join(lines, ""), ok
}

func wound(r *rand.Rand, line string, figure *regexp.Regexp, how Wound) (string, bool) {
	separator := separatorOf(line)
	switch how {
	case Shorter:
		cells := ends(line, separator)
		if len(cells) < 3 {
			return line, false
		}
		return line[:cells[1+r.IntN(len(cells)-2)]], true
	case Longer:
		return line + separator + "7", true
	case Mixed:
		at := r.IntN(len(line) + 1)
		return line[:at] + "node7:812:812 [1] NCCL WARN Call to connect failed" + line[at:], true
	case Glued:
		return line, true
	case Empty, Letters, Points, Signed, NotFinite, Huge:
	}
	all := figure.FindAllStringSubmatchIndex(line, -1)
	if len(all) == 0 {
		return line, false
	}
	at := all[r.IntN(len(all))]
	was, is := line[at[2]:at[3]], ""
	middle := (len(was) + 1) / 2
	switch how {
	case Empty:
		if separator == " " {
			return line, false // columns separated by spaces cannot have an empty cell
		}
	case Letters:
		is = was[:middle] + "x" + was[middle:]
	case Points:
		is = was + ".5.5"
	case Signed:
		if strings.Trim(was, "0.") == "" {
			return line, false
		}
		is = "-" + was
	case NotFinite:
		is = "nan"
	case Huge:
		is = "1e999"
	case Shorter, Longer, Mixed, Glued:
	}
	return line[:at[2]] + is + line[at[3]:], true
}

func separatorOf(line string) string {
	for _, s := range []string{",", ";", "\t"} {
		if strings.Contains(line, s) {
			return s
		}
	}
	return " "
}

// ends returns the positions at which the cells of a line end.
func ends(line, separator string) (all []int) {
	for i := range len(line) {
		if line[i:i+1] == separator && i > 0 && line[i-1:i] != separator {
			all = append(all, i)
		}
	}
	return append(all, len(line))
}
