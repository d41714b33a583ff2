package peers

import (
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/hardware/collective"
)

const sizeZero = "size 0: the size rounded down to nothing, so nothing was sent"

// No collective takes longer than a day, or less than a nanosecond, or moves
// 1e9 GB/s.
const (
	maxSeconds = 86400
	minSeconds = 1e-9
	maxGBs     = 1e9
)

// rowLike reports whether a line inside a table is a row, whole or damaged. The test accepts too
// much rather than too little, because a damaged row must be counted.
func rowLike(toks []token) bool {
	if len(toks) == 0 {
		return false
	}
	if isStamp(toks[0].s) {
		toks = toks[1:]
	}
	values := slice.Count(toks, func(t token) bool { return numeric(t.s) || t.s == "N/A" })
	if len(toks) > 0 && digits(toks[0].s) {
		return len(toks) == 1 || values == len(toks) || digits(toks[1].s) || len(toks) >= 6 && 2*values >= len(toks)
	}
	return values >= 3 && values == len(toks) || containsRow(toks, 1) || damagedRow(toks)
}

// damagedRow reports whether the line is a row that lacks its size or its count. The element type
// must be in its place, and most words must be values.
func damagedRow(toks []token) bool {
	if len(toks) < 6 || 2*slice.Count(toks, func(t token) bool { return numeric(t.s) }) < len(toks) {
		return false
	}
	_, err := collective.DtypeByName(toks[2].s)
	return err == nil || toks[2].s == "char" // int8 in old tables
}

// containsRow reports whether a row begins at the word with index from, or later. Text of another
// program may precede it.
func containsRow(toks []token, from int) bool {
	for i := from; i+6 <= len(toks); i++ {
		if !digits(toks[i].s) || !digits(toks[i+1].s) {
			continue
		}
		if _, err := collective.DtypeByName(toks[i+2].s); err != nil {
			continue
		}
		if len(slices.DeleteFunc(slices.Clone(toks[i+3:]), func(t token) bool { return !numeric(t.s) })) >= 3 {
			return true
		}
	}
	return false
}

// printedCase has the cells of a row that identify its case.
type printedCase struct {
	bytes, elements int64
	dtype, op, root string
}

// row is a row of a table.
type row struct {
	printedCase
	line    int
	n       int // number of sides that are present
	sides   [2]side
	inPlace [2]bool
	// half is true if the row ends before its second side.
	half bool
	// off is the distance between the row's words and the column names, in characters.
	off int
}

// side has the values of one placement.
type side struct{ time, alg, bus, wrong decimal }

// row parses the cells into numbers. reason says why they cannot be parsed, or is empty.
func (c *cells) row(line int) (r row, reason string) {
	bytes, err := strconv.ParseInt(c.of[kSize], 10, 64)
	if err != nil || bytes > 1<<60 {
		return r, "the size is too large to be one"
	}
	elements := int64(0)
	if c.of[kCount] != "" {
		if elements, err = strconv.ParseInt(c.of[kCount], 10, 64); err != nil {
			return r, "the count is too large to be one"
		}
	}
	r.line, r.n = line, c.n
	for i, cell := range c.sides[:c.n] {
		r.sides[i], r.inPlace[i] = cell.side(), cell.inPlace
	}
	if bytes == 0 {
		return r, sizeZero
	}
	for i, cell := range c.sides[:c.n] {
		if reason := r.sides[i].problem(cell.of[kWrong]); reason != "" {
			return r, reason
		}
	}
	// A substring would keep the whole line in memory.
	r.printedCase = printedCase{bytes, elements, strings.Clone(c.of[kType]), strings.Clone(c.of[kRedop]), strings.Clone(c.of[kRoot])}
	return r, ""
}

// problem returns why the values of a side are invalid, or empty text if they are valid.
func (s *side) problem(wrong string) string {
	switch {
	case s.time&present == 0:
		return "the time is not a finite positive number"
	case s.time.value() == 0:
		return "the time is 0 although the size is not"
	}
	for _, bw := range []decimal{s.alg, s.bus} {
		if bw&present == 0 || bw.value() >= maxGBs {
			return "a bandwidth is not a finite positive number"
		}
	}
	if _, ok := parseCell(wrong); !ok {
		return "the number of errors is not a count"
	}
	return ""
}

// timeUnit is the unit of a table's times, and the scale of its algbw.
type timeUnit struct {
	unit float64
	// assumed is true if neither a line nor a row states the unit.
	assumed bool
	// scale is algbw over size/time. It is 1, or the bus factor in logs from before June 2020.
	scale float64
}

// findTimeUnit finds the time unit of a table. It rejects rows that contradict the unit, and rows
// that nothing confirms.
func (t *test) findTimeUnit(ranks int) timeUnit {
	out := timeUnit{unit: t.layout.unit, scale: 1}
	if out.unit == 0 {
		out.unit, out.assumed = 1e-6, !t.layout.millis
	}
	if t.layout.millis {
		out.unit = 1e-3
	}
	good, bad := t.tally(out.unit, 1)
	if bad > 0 {
		if scale, ok := t.oldScale(out.unit, ranks); ok {
			out.scale = scale
			good, bad = t.tally(out.unit, scale)
		}
	}
	out.assumed = out.assumed && good == 0
	off, aligned := t.alignment()
	t.refuse(func(r *row) string {
		switch {
		case t.layout.inferred && (good == 0 || bad > 0):
			return "there is no line of column names, and size/time does not confirm the columns"
		case bad > 0 && bad >= good:
			return "size/time contradicts algbw in most rows, so the columns cannot be trusted"
		case t.verdict(r, out.unit, out.scale) == contradicts:
			return "size/time contradicts algbw"
		case aligned && r.off != off && t.verdict(r, out.unit, out.scale) == unsure:
			return "the cells do not stand where those of the other rows do, and too few digits are printed to confirm them"
		case !r.believable(out.unit):
			return "the time is longer than a day or shorter than a nanosecond"
		}
		return ""
	})
	return out
}

// refuse moves a row to the skips if the function `why` returns a reason for it.
func (t *test) refuse(why func(*row) string) {
	t.rows = slices.DeleteFunc(t.rows, func(r *row) bool {
		reason := why(r)
		if reason != "" {
			t.skips.add(reason, r.line)
		}
		return reason != ""
	})
}

// alignment returns the distance between words and column names that most rows have. It returns
// false if there is no such distance.
func (t *test) alignment() (off int, aligned bool) {
	rows := map[int]int{}
	for _, r := range t.rows {
		if rows[r.off]++; 2*rows[r.off] > len(t.rows) {
			return r.off, true
		}
	}
	return 0, false
}

// refuseCounts rejects rows whose ratio of size to count differs from the ratio of most rows.
func (t *test) refuseCounts() {
	rows := map[int64]int{}
	for _, r := range t.rows {
		rows[r.share()]++
	}
	most := len(t.rows) / 2
	t.refuse(func(r *row) string {
		share := r.share()
		for other, n := range rows {
			if share < 0 || share == 0 && other > 0 || n > most && share != other {
				return "the count is not that of the size and the type"
			}
		}
		return ""
	})
}

// believable reports whether a collective can take the times of a row.
func (r *row) believable(unit float64) bool {
	return !slices.ContainsFunc(r.sides[:r.n], func(s side) bool {
		t := scaled(s.time, unit)
		return t > maxSeconds || t < minSeconds
	})
}

// oldScale recognises tables of all-gather and reduce-scatter from before June 2020. Their algbw
// was the busbw: size/time times (n−1)/n.
func (t *test) oldScale(unit float64, ranks int) (float64, bool) {
	if ranks < 2 {
		return 0, false
	}
	scale := float64(ranks-1) / float64(ranks)
	for _, r := range t.rows {
		for _, s := range r.sides[:r.n] {
			if s.alg != s.bus {
				return 0, false
			}
		}
	}
	good, bad := t.tally(unit, scale)
	return scale, good > 0 && bad == 0
}

// settleHalves rejects rows with one side if other rows have two, because they were cut. The
// result is true if no row has two sides: the program then printed only one placement.
func (t *test) settleHalves() (all bool) {
	all = len(t.rows) > 0 && !slices.ContainsFunc(t.rows, func(r *row) bool { return !r.half })
	t.refuse(func(r *row) string {
		if r.half && !all {
			return halfRow
		}
		return ""
	})
	return all
}
