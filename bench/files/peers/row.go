package peers

import (
	"strings"

	"zbench/bench/hardware/collective"
)

// cells holds the cells of a printed row by column.
type cells struct {
	of    [kRoot + 1]string // by kind
	sides [2]cellSide
	n     int // number of sides that are present
}

// cellSide has the cells of one placement.
type cellSide struct {
	inPlace bool
	of      [kWrong + 1]string // by kind
}

// side parses the cells. A cell without a number stays zero.
func (c cellSide) side() side {
	var s side
	s.time, _ = parseDecimal(c.of[kTime])
	s.alg, _ = parseDecimal(c.of[kAlg])
	s.bus, _ = parseDecimal(c.of[kBus])
	s.wrong, _ = parseCell(c.of[kWrong])
	return s
}

// fits reports whether a printed cell can belong to a column of this kind.
func (k kind) fits(s string) bool {
	switch k {
	case kSize, kCount:
		return digits(s)
	case kType:
		return isWord(s)
	case kRedop:
		_, err := collective.OpByName(s)
		return err == nil || reduction(s) == "" || s == "mulsum" // nccl-tests also prints the operator mulsum
	case kRoot:
		return isRoot(s)
	case kTime, kAlg, kBus:
		return numeric(s)
	case kWrong:
		if n := len(s); n > 0 && s[n-1] == '*' {
			s = s[:n-1]
		}
		return s == "N/A" || numeric(s)
	case kStamp:
		return isStamp(s)
	case kOther, kCollective, kPlace, kRanks, kPerRank, kNodes, kPerNode, kCycle:
	}
	return true
}

// way is one set of columns that a row leaves blank.
type way struct {
	// blank has one bit per omitted column.
	blank uint64
	// drop is the omitted side; -1 if none.
	drop int
	// need is the number of columns that remain.
	need int
}

// setWays lists the sets of columns that a row may leave blank. The empty set comes first.
func (l *layout) setWays() {
	var optional []int
	for i, c := range l.cols {
		if (c.kind == kRedop || c.kind == kRoot || c.kind == kStamp) && len(optional) < 4 {
			optional = append(optional, i)
		}
	}
	for mask := range 1 << len(optional) {
		for drop := -1; drop < l.sides && (drop < 0 || l.sides == 2); drop++ {
			w := way{drop: drop}
			for b, i := range optional {
				w.blank |= uint64(mask>>b&1) << i
			}
			for i, c := range l.cols {
				if drop >= 0 && c.side == drop && c.kind != kStamp {
					w.blank |= 1 << i
				}
				if w.blank>>i&1 == 0 {
					w.need++
				}
			}
			l.ways = append(l.ways, w)
		}
	}
}

// read assigns the words of a row to the columns. It tries every set of columns that may be blank,
// keeps the sets with which every word suits its column, and chooses among these sets by the
// positions of the words. off is the sum of the distances between words and column names, in
// characters. reason is empty on success. A row without its second side is read, with the reason
// [halfRow].
func (l *layout) read(toks []token) (best cells, off int, reason string) {
	toks = splitGlued(toks)
	found, least, tie, drop := 0, 0, false, -1
	for _, w := range l.ways {
		if w.need > len(toks) || len(dropTail(toks[w.need:])) > 0 {
			continue
		}
		c, off, ok := l.match(toks, w)
		switch {
		case !ok:
			continue
		case found > 0 && c == best:
			least = min(least, off)
			continue
		case found == 0 || off < least:
			tie = false
			best, least, drop = c, off, w.drop
		case off == least:
			tie = true
		}
		found++
	}
	switch {
	case found == 0:
		return cells{}, 0, misfit
	case tie || found > 1 && least > 2*len(l.cols):
		return cells{}, 0, "it is not clear which columns are blank"
	case drop == 1:
		return best, least, halfRow
	}
	return best, least, ""
}

// match reads a row whose omitted columns are given by w. off is the sum of the distances between
// words and column names, in characters.
func (l *layout) match(toks []token, w way) (c cells, off int, ok bool) {
	shift, cur := toks[0].end, -2
	for i, col := range l.cols {
		if w.blank>>i&1 == 1 {
			continue
		}
		t := toks[0]
		if !col.kind.fits(t.s) {
			return c, 0, false
		}
		if cur == -2 {
			shift, cur = t.end-col.end, -1
		}
		off += abs(t.end - col.end - shift)
		toks = toks[1:]
		if col.kind == kTime && col.side != cur {
			cur = col.side
			c.sides[c.n].inPlace = l.inPlace[col.side]
			c.n++
		}
		c.setSide(col.kind, t.s, max(c.n-1, 0))
	}
	return c, off, c.n > 0
}

func abs(x int) int { return max(x, -x) }

// setSide stores the cell of a column. side only matters for values.
func (c *cells) setSide(k kind, s string, side int) {
	switch {
	case k >= kSize && k <= kRoot:
		c.of[k] = s
	case k >= kTime && k <= kWrong:
		c.sides[side].of[k] = s
	}
}

// dropTail omits words at the end of a row for which some versions print no column name: a
// timestamp, or the algorithm, protocol and number of channels.
func dropTail(toks []token) []token {
	for len(toks) > 0 {
		n := len(toks)
		switch {
		case isStamp(toks[n-1].s):
			toks = toks[:n-1]
		case n >= 3 && digits(toks[n-1].s) && isWord(toks[n-2].s) && isWord(toks[n-3].s):
			toks = toks[:n-3]
		default:
			return toks
		}
	}
	return toks
}

// splitGlued separates the number of wrong elements from the name of an algorithm. The two touch if
// the name fills its field.
func splitGlued(toks []token) []token {
	out := toks
	copied := false
	for i, t := range toks {
		at := glue(t.s)
		if at == 0 || i < 3 {
			if copied {
				out = append(out, t)
			}
			continue
		}
		if !copied {
			out, copied = append(make([]token, 0, len(toks)+2), toks[:i]...), true
		}
		out = append(out, token{t.s[:at], t.end - len(t.s) + at}, token{t.s[at:], t.end})
	}
	return out
}

// glue returns the position at which a number or N/A touches a capitalised word of at least three
// letters, or 0 if s has another form.
func glue(s string) int {
	at := run(s, 0)
	if len(s) >= 3 && s[:3] == "N/A" {
		at = 3
	}
	if at == 0 || len(s)-at < 3 || s[at] < 'A' || s[at] > 'Z' {
		return 0
	}
	if strings.ContainsFunc(s[at:], func(r rune) bool { return r > 'z' || !isLetter(byte(r)) && r != '_' }) {
		return 0
	}
	return at
}
