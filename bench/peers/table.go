package peers

import (
	"math"
	"strconv"
	"strings"

	"zbench/bench/collective"
)

const sizeZero = "size 0: the size rounded down to nothing, so nothing was sent"

// No collective takes longer than a day, or less than a nanosecond, or moves
// 1e9 GB/s.
const (
	maxSeconds = 86400
	minSeconds = 1e-9
	maxGBs     = 1e9
)

// rowLike reports whether a line inside a table is a row, whole or damaged. A
// damaged one is counted, so the test is generous.
func rowLike(toks []token) bool {
	if len(toks) == 0 {
		return false
	}
	if stampRE.MatchString(toks[0].s) {
		toks = toks[1:]
	}
	values := 0
	for _, t := range toks {
		if numeric(t.s) || t.s == "N/A" {
			values++
		}
	}
	if len(toks) > 0 && digits(toks[0].s) {
		return len(toks) == 1 || values == len(toks) || digits(toks[1].s) || len(toks) >= 6 && 2*values >= len(toks)
	}
	return values >= 3 && values == len(toks) || containsRow(toks, 1)
}

// containsRow reports whether a row begins at the given word or a later one, as
// behind another program's text.
func containsRow(toks []token, from int) bool {
	for i := from; i+6 <= len(toks); i++ {
		if _, err := collective.DtypeByName(toks[i+2].s); err != nil || !digits(toks[i].s) || !digits(toks[i+1].s) {
			continue
		}
		values := 0
		for _, t := range toks[i+3:] {
			if numeric(t.s) {
				values++
			}
		}
		if values >= 3 {
			return true
		}
	}
	return false
}

// problem says why no number can be made of a row's cells; empty where one can.
// It fills the integers.
func (r *row) problem() string {
	var err error
	if r.bytes, err = strconv.ParseInt(r.size, 10, 64); err != nil || r.bytes > 1<<60 {
		return "the size is too large to be one"
	}
	if r.count != "" {
		if r.elements, err = strconv.ParseInt(r.count, 10, 64); err != nil {
			return "the count is too large to be one"
		}
	}
	if r.bytes == 0 {
		return sizeZero
	}
	for _, s := range r.sides[:r.n] {
		t, ok := parseNumber(s.time)
		switch {
		case !ok:
			return "the time is not a finite positive number"
		case t.v == 0:
			return "the time is 0 although the size is not"
		}
		for _, c := range []string{s.alg, s.bus} {
			if n, ok := parseNumber(c); !ok || n.v >= maxGBs {
				return "a bandwidth is not a finite positive number"
			}
		}
		if s.wrong != "" && s.wrong != "N/A" {
			if n, ok := parseNumber(strings.TrimSuffix(s.wrong, "*")); !ok || n.v > math.MaxInt64/2 {
				return "the number of errors is not a count"
			}
		}
	}
	return ""
}

// printedBus returns the busbw of a row's sides, as far as they are numbers.
func (r *row) printedBus() []number {
	var out []number
	for _, s := range r.sides[:r.n] {
		if n, ok := parseNumber(s.bus); ok {
			out = append(out, n)
		}
	}
	return out
}

// settled is what a table's rows say together.
type settled struct {
	unit float64
	// unitFrom says how the unit is known: printed, rows, or assumed.
	unitFrom string
	// scale is algbw over size/time: 1, or the bus factor in logs before
	// June 2020, which put it into algbw.
	scale float64
}

// settle finds the time unit of a table and moves the rows that contradict it,
// or that nothing confirms, to the skips.
func (t *test) settle(ranks int) settled {
	out := settled{unit: t.layout.unit, unitFrom: "printed", scale: 1}
	if out.unit == 0 {
		out.unit, out.unitFrom = t.findUnit()
	}
	good, bad := t.tally(out.unit, 1)
	if bad > 0 {
		if scale, ok := t.oldScale(out.unit, ranks); ok {
			out.scale = scale
			good, bad = t.tally(out.unit, scale)
		}
	}
	rows := t.rows
	t.rows = nil
	for _, r := range rows {
		reason := ""
		switch {
		case t.layout.inferred && (good == 0 || bad > 0):
			reason = "there is no line of column names, and size/time does not confirm the columns"
		case bad > 0 && bad >= good:
			reason = "size/time contradicts algbw in most rows, so the columns cannot be trusted"
		case r.verdict(out.unit, out.scale) == contradicts:
			reason = "size/time contradicts algbw"
		case !r.believable(out.unit):
			reason = "the time is longer than a day or shorter than a nanosecond"
		}
		if reason != "" {
			t.skips.add(reason, r.line)
			continue
		}
		t.rows = append(t.rows, r)
	}
	return out
}

// believable reports whether the times of a row are ones a collective can take.
func (r *row) believable(unit float64) bool {
	for _, s := range r.sides[:r.n] {
		if t := scaled(s.time, unit); t > maxSeconds || t < minSeconds {
			return false
		}
	}
	return true
}

// verdict is contradicts where any side does, else agrees where every side does.
func (r *row) verdict(unit, scale float64) verdict {
	out := agrees
	for _, s := range r.sides[:r.n] {
		switch s.check(r.size, unit, scale) {
		case contradicts:
			return contradicts
		case unsure:
			out = unsure
		case agrees:
		}
	}
	return out
}

// tally counts the rows in which size/time confirms and contradicts algbw.
func (t *test) tally(unit, scale float64) (good, bad int) {
	for i := range t.rows {
		switch t.rows[i].verdict(unit, scale) {
		case agrees:
			good++
		case contradicts:
			bad++
		case unsure:
		}
	}
	return good, bad
}

// findUnit finds the unit that the rows confirm, where no line prints it.
func (t *test) findUnit() (unit float64, from string) {
	best := 0
	for _, u := range t.layout.units() {
		if good, bad := t.tally(u, 1); bad == 0 && good > best {
			unit, best = u, good
		}
	}
	switch {
	case best > 0:
		return unit, "rows"
	case t.layout.millis:
		return 1e-3, "assumed"
	}
	return 1e-6, "assumed"
}

// oldScale recognises all-gather and reduce-scatter tables printed before June
// 2020, whose algbw was the busbw: size/time times (n−1)/n.
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
