package peers

import "strings"

// plainRow reports whether a line is a row for certain, as almost all lines of a
// table: it begins with a number, ends with one or with N/A, and has none of the
// signs and capital letters without which no other line of the tool's, nor any
// library's, can do.
func plainRow(text string) bool {
	text = strings.TrimLeft(text, " ")
	if text == "" || !isDigit(text[0]) {
		return false
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c == ':' || c == '#':
			return false
		case c >= 'A' && c <= 'Z' && (i+2 >= len(text) || text[i:i+3] != "N/A") && (i < 2 || text[i-2:i+1] != "N/A"):
			return false
		}
	}
	last := text[len(text)-1]
	return isDigit(last) || last == 'A'
}

// row takes a table row, or counts why it is not taken.
func (s *scan) row(t *test, l line) bool {
	// Some versions and people comment rows out; the digits after # stay rows.
	if strings.HasPrefix(strings.TrimLeft(l.text, " "), "#") {
		l.text = strings.Replace(l.text, "#", " ", 1)
	}
	if t.layout != nil && t.layout.prefix != "" {
		// The rows may have the header's prefix; its place stays blank.
		if rest, ok := strings.CutPrefix(strings.TrimLeft(l.text, " "), t.layout.prefix+" "); ok {
			l.text = strings.Repeat(" ", len(l.text)-len(rest)) + rest
		}
	}
	toks := tokenizeInto(s.toks, l.text)
	s.toks = toks
	t, ok := s.table(t, toks, l)
	// A lone number is what is left of a row only where the size would stand.
	if !ok || t.phase == footer || len(toks) == 1 && !l.cut && abs(toks[0].end-t.layout.cols[0].end) > 2 || !rowLike(toks) {
		return false
	}
	s.rows++
	t.piece(toks, l)
	return true
}

// table finds the table that a row is of. It begins one where the row tells its
// columns itself.
func (s *scan) table(t *test, toks []token, l line) (*test, bool) {
	if t.phase == footer && containsRow(toks, 0) {
		// The table has ended: this row is of one that lost its header.
		ended := t
		t = s.next(t.stream)
		t.after = ended
	}
	if t.layout == nil && t.before != nil && containsRow(toks, 0) {
		// The test before has not ended after all: two programs write at once.
		t.launches, t.before.launches = 2, 2
		t = t.before
	}
	if t.layout != nil {
		return t, true
	}
	h := inferLayout(splitGlued(toks))
	if h == nil {
		if containsRow(toks, 0) {
			t.skips.add("there is no line of column names, and the row is of no known layout", l.no)
		}
		return t, false
	}
	s.begin(t, h)
	return t, true
}

// take adds a row to the running table, or counts it under the reason.
func (t *test) take(r row, reason string, l line) {
	switch {
	case l.cut:
		reason = "last line of a file that ends without a line end: it may be cut (if it is whole, add a line end)"
	case reason == "" && t.layout.cpuTime:
		reason = "the table gives the CPU's launch time (-C 1), not the collective's"
	}
	if reason == "" {
		t.rows.add(r)
		return
	}
	t.skips.add(reason, l.no)
	if reason == sizeZero {
		t.emptyBus = append(t.emptyBus, r.printedBus()...)
	}
}

// printedBus returns the busbw of a row's sides, as far as they are numbers.
func (r *row) printedBus() []decimal {
	var out []decimal
	for _, s := range r.sides[:r.n] {
		if s.bus&present != 0 {
			out = append(out, s.bus)
		}
	}
	return out
}
