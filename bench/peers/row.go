package peers

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// cells is a row of a table under the names of its columns, as printed.
type cells struct {
	size, count, dtype, op, root string
	sides                        [2]cellSide
	n                            int // sides present
}

// cellSide is what a row says of one of out-of-place and in-place.
type cellSide struct {
	inPlace               bool
	time, alg, bus, wrong string
}

var (
	rootRE  = regexp.MustCompile(`^-?\d+$`)
	gluedRE = regexp.MustCompile(`^(\d+|N/A)([A-Z][A-Za-z_]{2,})$`)
)

// fits reports whether a printed cell can stand in a column of this kind.
func (k kind) fits(s string) bool {
	switch k {
	case kSize, kCount:
		return digits(s)
	case kType:
		return wordRE.MatchString(s)
	case kRedop:
		return wordRE.MatchString(s) && !numeric(s)
	case kRoot:
		return rootRE.MatchString(s)
	case kTime, kAlg, kBus:
		return numeric(s)
	case kWrong:
		return s == "N/A" || numeric(strings.TrimSuffix(s, "*"))
	case kStamp:
		return stampRE.MatchString(s)
	case kOther:
	}
	return true
}

// candidate is one way to put a row's words under the column names; off is how
// far the words stand from the names, in characters.
type candidate struct {
	cells cells
	off   int
	// drop is the side that is left out, -1 for none.
	drop int
}

// read puts the words of a row under the column names. It tries every way that
// leaves out columns that may be blank, keeps those in which each word suits
// its column and size/time does not contradict algbw, and lets the character
// positions decide among the rest. The reason is empty on success.
func (l *layout) read(toks []token) (cells, string) {
	toks = splitGlued(toks)
	found := l.candidates(toks)
	if len(found) == 0 {
		return cells{}, "the cells do not fit the column names"
	}
	if len(found) > 1 {
		var agree []candidate
		for _, c := range found {
			if !l.refutes(c.cells) {
				agree = append(agree, c)
			}
		}
		if len(agree) > 0 {
			found = agree
		}
	}
	best, tie := found[0], false
	for _, c := range found[1:] {
		if c.off < best.off {
			best, tie = c, false
		} else if c.off == best.off {
			tie = true
		}
	}
	switch {
	case tie || len(found) > 1 && best.off > 2*len(l.cols):
		return cells{}, "it is not clear which columns are blank"
	case best.drop == 1:
		return cells{}, "the row ends before its second group of values"
	}
	return best.cells, ""
}

// candidates lists the distinct readings of a row.
func (l *layout) candidates(toks []token) []candidate {
	var optional []int
	for i, c := range l.cols {
		if (c.kind == kRedop || c.kind == kRoot || c.kind == kStamp) && len(optional) < 4 {
			optional = append(optional, i)
		}
	}
	var found []candidate
	for mask := range 1 << len(optional) {
		blank := map[int]bool{}
		for b, i := range optional {
			blank[i] = mask>>b&1 == 1
		}
		for drop := -1; drop < l.sides && (drop < 0 || l.sides == 2); drop++ {
			c, ok := l.match(toks, blank, drop)
			if !ok {
				continue
			}
			known := false
			for i, f := range found {
				if f.cells == c.cells {
					known = true
					found[i].off = min(f.off, c.off)
				}
			}
			if !known {
				found = append(found, c)
			}
		}
	}
	return found
}

// match reads the row with the columns in blank and those of side drop empty.
func (l *layout) match(toks []token, blank map[int]bool, drop int) (candidate, bool) {
	c := candidate{drop: drop}
	at, shift, cur := 0, 0, -2
	for i, col := range l.cols {
		if blank[i] || drop >= 0 && col.side == drop && col.kind != kStamp {
			continue
		}
		if at == len(toks) || !col.kind.fits(toks[at].s) {
			return c, false
		}
		t := toks[at]
		if at == 0 {
			shift = t.end - col.end
		}
		c.off += abs(t.end - col.end - shift)
		at++
		if col.kind == kTime && col.side != cur {
			cur = col.side
			c.cells.sides[c.cells.n].inPlace = l.inPlace[col.side]
			c.cells.n++
		}
		c.cells.set(col.kind, t.s)
	}
	return c, c.cells.n > 0 && knownTail(toks[at:])
}

func abs(x int) int { return max(x, -x) }

func (c *cells) set(k kind, s string) {
	sd := &c.sides[max(c.n-1, 0)]
	switch k {
	case kSize:
		c.size = s
	case kCount:
		c.count = s
	case kType:
		c.dtype = s
	case kRedop:
		c.op = s
	case kRoot:
		c.root = s
	case kTime:
		sd.time = s
	case kAlg:
		sd.alg = s
	case kBus:
		sd.bus = s
	case kWrong:
		sd.wrong = s
	case kStamp, kOther: // nothing is taken from these
	}
}

// knownTail reports whether words after the last named column are ones that a
// version appends without a name: a timestamp, or algorithm, protocol and
// number of channels.
func knownTail(toks []token) bool { return len(dropTail(toks)) == 0 }

func dropTail(toks []token) []token {
	for len(toks) > 0 {
		n := len(toks)
		switch {
		case stampRE.MatchString(toks[n-1].s):
			toks = toks[:n-1]
		case n >= 3 && digits(toks[n-1].s) && wordRE.MatchString(toks[n-2].s) && wordRE.MatchString(toks[n-3].s):
			toks = toks[:n-3]
		default:
			return toks
		}
	}
	return toks
}

// splitGlued separates a number of wrong elements from the name of an algorithm
// that fills its field and so touches it.
func splitGlued(toks []token) []token {
	out := make([]token, 0, len(toks))
	for i, t := range toks {
		m := gluedRE.FindStringSubmatch(t.s)
		if m == nil || i < 3 {
			out = append(out, t)
			continue
		}
		out = append(out, token{m[1], t.end - len(m[2])}, token{m[2], t.end})
	}
	return out
}

// verdict is what size/time says of a printed algbw.
type verdict int

const (
	// unsure: they agree, but so few digits are printed that others would too.
	unsure verdict = iota
	agrees
	contradicts
)

// telling is the relative precision above which agreement says something.
const telling = 0.05

// slack is the relative difference that is still agreement, beside the rounding
// of the printed digits.
const slack = 0.01

// check compares size/time with the printed algbw, times being in units of unit
// seconds and algbw being scale times size/time.
func (s cellSide) check(size string, unit, scale float64) verdict {
	t, okT := parseNumber(s.time)
	a, okA := parseNumber(s.alg)
	bytes, err := strconv.ParseFloat(size, 64)
	if !okT || !okA || err != nil || t.v == 0 {
		return unsure
	}
	gb := bytes * scale / unit / 1e9
	lo, hi := gb/t.hi()*(1-slack), math.Inf(1)
	if t.lo() > 0 {
		hi = gb / t.lo() * (1 + slack)
	}
	switch {
	case lo > a.hi() || hi < a.lo():
		return contradicts
	case a.v > 0 && a.half/a.v <= telling && t.half/t.v <= telling:
		return agrees
	}
	return unsure
}

// refutes reports whether size/time contradicts algbw in every time unit that
// the table may have.
func (l *layout) refutes(c cells) bool {
	for _, u := range l.units() {
		bad := false
		for _, s := range c.sides[:c.n] {
			bad = bad || s.check(c.size, u, 1) == contradicts
		}
		if !bad {
			return false
		}
	}
	return true
}

// units lists the time units that the table may have.
func (l *layout) units() []float64 {
	if l.unit != 0 {
		return []float64{l.unit}
	}
	return []float64{1e-6, 1e-3, 1}
}
