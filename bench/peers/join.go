package peers

import (
	"strings"

	"zbench/bench/pattern"
)

const (
	// The reasons why a row is not taken that other output cut.
	debugInTable = "NCCL_DEBUG output is mixed into the table: write it elsewhere with NCCL_DEBUG_FILE"
	textInTable  = "other output is mixed into the row: write each process's output to a file of its own (mpirun --output-filename, srun --output with %t)"
)

// common is shared by all tests of a log.
type common struct {
	caseTable
	// debug is true once a line of NCCL_DEBUG was found below a table's header.
	debug bool
}

// mixture is the reason why a row is not taken that other output cut.
func (s *common) mixture() string {
	if s.debug {
		return debugInTable
	}
	return textInTable
}

// fragment is the beginning of a row whose rest may follow.
type fragment struct {
	line int
	text string
	// reason is why it is no row without its rest.
	reason string
	// cut is true if other output followed it in its line.
	cut bool
	// between is true if lines of NCCL_DEBUG came since, apart if other text did.
	between, apart bool
	// half is the row without its second side, if it has the first.
	half row
}

// debugRE is what stands between a row and the words NCCL INFO that another
// thread wrote behind it: host:pid:thread [device], perhaps with a source line.
var debugRE = pattern.New(`:\d{1,9}:\d{1,9} \[-?\d{1,4}\](?: \S+)?$`)

// debugStampRE is the time that newer versions put in front of it.
var debugStampRE = pattern.New(`\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})?\] $`)

// debugWords are the words that mark a line of NCCL_DEBUG.
var debugWords = []string{" NCCL INFO", " NCCL WARN", " NCCL TRACE", " NCCL CALL", " NCCL ABORT"}

// debugAt is where the words that mark a line of NCCL_DEBUG begin, -1 for none.
func debugAt(text string) int {
	if !strings.Contains(text, " NCCL ") {
		return -1
	}
	for _, w := range debugWords {
		if i := strings.Index(text, w); i >= 0 {
			return i
		}
	}
	return -1
}

// cutDebug divides a line where a message of NCCL_DEBUG was written behind an unfinished row. The message
// begins with the name of a host in the device list; without the list, a name that begins with a digit
// could not be told from the row. known is false if there is a message without such a name.
func (t *test) cutDebug(text string) (own, message string, known bool) {
	at := debugAt(text)
	if at < 0 {
		return text, "", true
	}
	m := debugRE.FindStringIndex(text[:at])
	if m == nil {
		return text, "", false
	}
	const longest = 64 // of a host name's first part
	from := -1
	for i := m[0] - 1; i >= max(0, m[0]-longest); i-- {
		if !t.hosts[text[i:m[0]]] {
			continue
		}
		if from >= 0 {
			return text, "", false // either of two names
		}
		from = i
	}
	if from < 0 {
		return text, "", false
	}
	if s := debugStampRE.FindStringIndex(text[:from]); s != nil {
		from = s[0]
	}
	return text[:from], text[from:], true
}

// headLike reports whether the words begin as a row does.
func headLike(toks []token) bool {
	if len(toks) > 0 && isStamp(toks[0].s) {
		toks = toks[1:]
	}
	return len(toks) >= 3 && digits(toks[0].s) && digits(toks[1].s) && isWord(toks[2].s)
}

// valuesOnly reports whether the words can be the rest of a row.
func valuesOnly(toks []token) bool {
	values := 0
	for _, t := range dropTail(toks) {
		if !kWrong.fits(t.s) {
			return false
		}
		values++
	}
	return values > 0
}

// piece takes a row or a part of one.
func (t *test) piece(toks []token, l line) {
	if t.open != nil && !headLike(toks) {
		t.extend(toks, l)
		return
	}
	t.giveUp()
	c, reason := t.layout.read(toks)
	if reason == "" {
		r, reason := t.row(&c.cells, l.no)
		r.joined = l.rejoined || l.broken
		if reason == "" && r.joined && (l.split || !t.proven(&r, c, true)) {
			reason = t.log.mixture()
		}
		t.take(r, reason, l)
		return
	}
	if headLike(toks) && !t.layout.inferred && !l.cut && !l.split && len(toks) < len(t.layout.cols) {
		t.open = &fragment{line: l.no, text: l.text, reason: reason, cut: l.broken}
		if reason == halfRow {
			t.open.half, t.open.reason = t.row(&c.cells, l.no)
			t.open.half.half = true
		}
		return
	}
	if l.broken || l.rejoined || debugAt(l.text) >= 0 || t.log.debug && valuesOnly(toks) && !headLike(toks) {
		reason = t.log.mixture()
	}
	t.take(row{}, reason, l)
}

// extend appends the rest of a row to its beginning, if it can be the rest.
func (t *test) extend(toks []token, l line) {
	f := t.open
	whole := f.text == "" || f.text[len(f.text)-1] == ' ' || strings.HasPrefix(l.text, " ")
	// Without other output the next line is no rest: a row was cut before it.
	alone := !f.cut && !f.between
	if alone || !whole || l.cut || l.split || !valuesOnly(toks) {
		reason := misfit
		if f.cut || l.broken || whole && f.between {
			reason = t.log.mixture()
		}
		t.giveUp()
		t.take(row{}, reason, l)
		return
	}
	f.text += l.text
	f.cut = f.cut || l.broken
	all := tokenize(f.text)
	c, reason := t.layout.read(all)
	if reason != "" {
		f.reason = reason
		if len(all) >= len(t.layout.cols) {
			f.cut = true
			t.giveUp()
		}
		return
	}
	t.open = nil
	r, reason := t.row(&c.cells, f.line)
	r.joined = true
	if reason == "" && !t.proven(&r, c, !f.apart) {
		reason = t.log.mixture()
	}
	l.no = f.line
	t.take(r, reason, l)
}

// proven reports whether a row that was put together is one: it has both groups of values under their
// names, and size/time gives algbw. If too few digits are printed to tell, the pieces must be adjacent:
// nothing but lines of NCCL_DEBUG came between them.
func (t *test) proven(r *row, c candidate, adjacent bool) bool {
	if t.layout.inferred || int(r.n) != t.layout.sides || c.off > len(t.layout.cols) {
		return false
	}
	best := contradicts
	for _, u := range t.layout.units() {
		switch t.verdict(r, u, 1) {
		case agrees:
			return true
		case unsure:
			best = unsure
		case contradicts:
		}
	}
	return best == unsure && adjacent
}

// giveUp takes the beginning of a row whose rest did not come: as a row of one side, or as a skipped one.
func (t *test) giveUp() {
	f := t.open
	if f == nil {
		return
	}
	t.open = nil
	if f.cut {
		f.reason = t.log.mixture()
	}
	t.take(f.half, f.reason, line{no: f.line})
}

// settleHalves leaves out rows of one side from a table that has rows of two: they were cut. all is true
// if no row has two: the program printed one placement.
func (t *test) settleHalves() (all bool) {
	half := 0
	for r := range t.rows.all() {
		if r.half {
			half++
		}
	}
	if half == t.rows.n {
		return half > 0
	}
	t.refuse(func(r *row) string {
		if r.half {
			return halfRow
		}
		return ""
	})
	return false
}
