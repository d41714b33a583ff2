package peers

import (
	"slices"
	"strings"

	"zbench/bench/base/pattern"
)

// kind says what a column holds.
type kind int

const (
	kOther kind = iota
	kSize
	kCount
	kType
	kRedop
	kRoot
	kTime
	kAlg
	kBus
	kWrong
	kStamp
)

// names maps a column name to its kind. The name is in lower case and has no number sign and no
// unit. The first two rows are today's names, the third row is from 2016-2019.
var names = map[string]kind{
	"size": kSize, "count": kCount, "type": kType, "redop": kRedop, "root": kRoot,
	"time": kTime, "cputime": kTime, "algbw": kAlg, "busbw": kBus, "wrong": kWrong, "timestamp": kStamp,
	"bytes": kSize, "n": kCount, "op": kRedop, "res": kWrong, "error": kWrong, "errors": kWrong,
}

// column is a name in the header line. end is the position after its last character.
type column struct {
	kind kind
	end  int
	// side is 0 in the first group of values, 1 in the second, and -1 before both.
	side int
}

// layout has the positions of the columns of a table.
type layout struct {
	cols  []column
	sides int
	// inPlace says for each side whether it is in place.
	inPlace [2]bool
	// unit is the printed time unit in seconds; 0 if no line states it.
	unit float64
	// maxError is true if the last column of a side is the largest error, not a number of wrong
	// elements.
	maxError bool
	// cpuTime is true if the CPU that launches the work measured the time (-C 1).
	cpuTime bool
	// millis is true for the column names of NCCL 1, which printed milliseconds without a unit.
	millis bool
	// inferred is true if there was no header line. noPlace is true if nothing distinguishes in
	// place from out of place.
	inferred, noPlace bool
	// csv is true if commas separate the cells.
	csv bool
	// ways are the sets of columns that a row may leave blank.
	ways []way
}

// Method `has` reports whether the table has a column of a kind.
func (l *layout) has(k kind) bool {
	return slices.ContainsFunc(l.cols, func(c column) bool { return c.kind == k })
}

// maxColumns bounds the work on a malicious header. Real headers have at most 24 columns.
const maxColumns = 48

var unitSuffix = pattern.New(`\(([A-Za-z/]+)\)$`)

// parseHeader recognises the line of column names. banner is the earlier line with the words
// out-of-place and in-place, or empty.
func parseHeader(text, banner string) *layout {
	if !strings.Contains(text, "busbw") || !strings.Contains(text, "algbw") {
		return nil
	}
	toks := tokenize(strings.Replace(text, "#", " ", 1))
	if len(toks) > maxColumns {
		return nil
	}
	l, seen, side := &layout{}, map[kind]int{}, -1
	for _, t := range toks {
		name := strings.TrimLeft(strings.ToLower(t.s), "#")
		if m := unitSuffix.FindStringSubmatch(name); m != nil {
			name = strings.TrimSuffix(name, m[0])
			if u, ok := timeUnits[m[1]]; ok {
				l.unit = u
			}
		}
		k := names[name]
		if k == kTime {
			side++
		}
		seen[k]++
		l.cols = append(l.cols, column{k, t.end, side})
		l.cpuTime = l.cpuTime || name == "cputime"
		l.millis = l.millis || name == "bytes"
		l.maxError = l.maxError || k == kWrong && name != "wrong"
	}
	l.sides = side + 1
	if seen[kSize] != 1 || seen[kType] > 1 || l.sides < 1 || l.sides > 2 || seen[kAlg] != l.sides || seen[kBus] != l.sides {
		return nil
	}
	l.setPlaces(banner)
	l.setWays()
	return l
}

// today are the column names of rccl-tests and nccl-tests since 2022.
const today = "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong"

// headless returns the layout for rows that follow no line of column names. It returns nil unless
// the rows have as many cells as today's tables.
func headless(toks []token) *layout {
	l := parseHeader(today, "")
	if len(toks) != len(l.cols) || !containsRow(toks, 0) {
		return nil
	}
	l.inferred = true
	return l
}

// beforeRow returns the text in front of a row, or empty text if the line has no row. The spaces
// that align the row belong to the row, except for one space after a word.
func beforeRow(text string) string {
	toks := tokenize(text)
	for i := len(toks) - 1; i > 0; i-- {
		if containsRow(toks, i) {
			return text[:min(toks[i-1].end+1, toks[i].end-len(toks[i].s))]
		}
	}
	return ""
}

// beforeNames returns the text in front of the column names, which begin with the size. It is empty
// if the line has no column names. The spaces after a number sign belong to the names, because
// these spaces align the names.
func beforeNames(text string) string {
	if !strings.Contains(text, "busbw") {
		return ""
	}
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
		return before
	}
	return ""
}

// setPlaces finds out from the banner which side is in place.
func (l *layout) setPlaces(banner string) {
	out := strings.Index(banner, "out-of-place")
	in := strings.Index(strings.ReplaceAll(banner, "out-of-place", "############"), "in-place")
	switch {
	case l.sides == 2:
		// The first side has always been out of place; only a banner can say the opposite.
		l.inPlace = [2]bool{false, true}
		if in >= 0 && in < out {
			l.inPlace = [2]bool{true, false}
		}
	case in >= 0 && out < 0:
		l.inPlace[0] = true
	case out >= 0 && in < 0:
	default:
		l.noPlace = true
	}
}

var timeUnits = map[string]float64{"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1}

// parseUnits reads the line of units below the column names. It returns the time unit in seconds,
// and false for any other line.
func parseUnits(text string) (float64, bool) {
	if !strings.Contains(text, "(GB/s)") {
		return 0, false
	}
	for _, t := range tokenize(text) {
		if u, ok := timeUnits[strings.Trim(t.s, "()#")]; ok && strings.HasPrefix(t.s, "(") {
			return u, true
		}
	}
	return 0, true
}
