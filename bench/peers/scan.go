package peers

import (
	"fmt"
	"strings"
)

// Bounds on what a hostile input can make the importer keep.
const (
	maxRows  = 1 << 20
	maxTests = 1 << 14
	// maxWorlds is the number of device lists kept of one test; two are already
	// too many for its rows to be told apart.
	maxWorlds = 64
)

// phase is how far a test's output has come.
type phase int

const (
	preamble phase = iota
	devices
	table
	footer
)

// test is one run of one program, as far as it can be told from the next.
type test struct {
	stream string
	phase  phase
	// name is the collective as the log names it, command the line that
	// started the program.
	name, command string
	// iters and agg are the log's "iters:" and "agg iters:"; perProc its
	// nThread × nGpus; 0 where not said.
	iters, agg, perProc int
	// launches, headers and footers count beginnings and ends: more than one of
	// any in a test means that several programs wrote at once.
	launches, headers, footers int
	// before is the test that this one interrupted inside its table, nil where
	// that had ended.
	before *test
	// after is the test after whose footer this one's rows began without a header.
	after *test
	// cycles is true once a line marked repeats of the table.
	cycles bool
	// failed is true once a line said that the program gave up.
	failed bool
	worlds []*world
	banner string
	layout *layout
	rows   []row
	skips  skips
	// emptyBus are the busbw of rows of size 0, which the average includes.
	emptyBus []number
	average  *number
	// outOfBounds is the footer's number of failed checks, nil where not said.
	outOfBounds *int64
	asterisk    bool
	// continued is true where a repeated header cut the test in two and the
	// footer is in the second part, continues where this is the second part.
	continued, continues bool
}

// row is a table row before it is believed.
type row struct {
	line int
	cells
	bytes, elements int64
}

// mixed reports that several programs wrote into this test at once.
func (t *test) mixed() bool {
	return len(t.worlds) > 1 || t.launches > 1 || t.headers > 1 || t.footers > 1
}

// scan sorts lines into tests.
type scan struct {
	tests []*test
	cur   map[string]*test
	// pending is the last command seen, which names the next test of a stream.
	pending command
	used    map[string]int
	facts
	seen int
	rows int
}

type command struct {
	name, text string
	seq        int
}

func newScan() *scan {
	return &scan{cur: map[string]*test{}, used: map[string]int{}}
}

// at returns the running test of a stream.
func (s *scan) at(stream string) *test {
	if t := s.cur[stream]; t != nil {
		return t
	}
	return s.next(stream)
}

// next begins a test.
func (s *scan) next(stream string) *test {
	t := &test{stream: stream}
	switch old := s.cur[stream]; {
	case old == nil || old.failed || old.phase == footer:
	case old.phase == table:
		t.before = old
	default:
		// A program that began and neither failed nor printed a table is still
		// running: its table is to come.
		t.launches = old.launches
	}
	s.cur[stream] = t
	s.tests = append(s.tests, t)
	return t
}

// follow begins a test that a repeated header announces. Before the last test's
// footer it is the same program's, or one that writes at the same time.
func (s *scan) follow(t *test) *test {
	n := s.next(t.stream)
	n.before = nil
	if t.phase != footer {
		n.name, n.command, n.iters, n.agg, n.perProc = t.name, t.command, t.iters, t.agg, t.perProc
		n.launches, n.worlds, n.banner = t.launches, t.worlds, t.banner
		t.continued, n.continues = true, true
	}
	return n
}

// line takes one line. It fails only where the input is beyond its bounds.
func (s *scan) line(l line) error {
	s.seen++
	if s.rows > maxRows || len(s.tests) > maxTests {
		return fmt.Errorf("%w: more than %d rows or %d tests at line %d; split the file", ErrTooLarge, maxRows, maxTests, l.no)
	}
	if strings.TrimSpace(l.text) == "" || s.note(l) {
		return nil
	}
	t := s.at(l.stream)
	switch {
	case s.preamble(t, l), s.device(t, l), s.end(t, l), s.head(t, l):
	case s.row(t, l):
	default:
		s.commandLine(l)
	}
	return nil
}

// device takes a line of a device list.
func (s *scan) device(t *test, l line) bool {
	if !strings.Contains(l.text, "Rank") && !strings.Contains(l.text, "Device") {
		return false
	}
	found := false
	// Two processes' lines can end up on one.
	for part := range strings.SplitSeq(l.text, "#") {
		d, ok := parseDevice(part)
		if !ok {
			continue
		}
		found = true
		if t.phase >= table {
			t = s.next(t.stream)
		}
		t.phase = devices
		t.place(d)
	}
	return found
}

// place puts a device into the list of its process, else into the last list
// that lacks its rank, else into a new one.
func (t *test) place(d device) {
	for _, w := range t.worlds {
		if w.procs[d.process()] && w.add(d) {
			return
		}
	}
	if n := len(t.worlds); n > 0 && t.worlds[n-1].add(d) {
		return
	}
	if len(t.worlds) == maxWorlds {
		return
	}
	w := newWorld()
	w.add(d)
	t.worlds = append(t.worlds, w)
}

// head takes the lines above a table: the banner, the names, the units.
func (s *scan) head(t *test, l line) bool {
	if unit, ok := parseUnits(l.text); ok && !strings.Contains(l.text, "busbw") {
		if t.layout != nil && len(t.rows) == 0 && unit != 0 {
			t.layout.unit = unit
		}
		return true
	}
	h := parseHeader(l.text, t.banner)
	if h == nil {
		if strings.Contains(l.text, "in-place") || strings.Contains(l.text, "out-of-place") {
			t.banner = l.text
			return true
		}
		return false
	}
	if t.phase >= table && (len(t.rows) > 0 || t.skips.count() > 0 || t.phase == footer) {
		banner := t.banner
		t = s.follow(t)
		h = parseHeader(l.text, banner)
	}
	s.begin(t, h)
	return true
}

// begin starts a test's table and names it after the command that was waiting.
func (s *scan) begin(t *test, h *layout) {
	t.layout, t.phase = h, table
	t.headers++
	if t.command == "" && s.pending.seq > s.used[t.stream] {
		t.command = s.pending.text
		if t.name == "" {
			t.name = s.pending.name
		}
		s.used[t.stream] = s.pending.seq
	}
}

// row takes a table row, or counts why it is not taken.
func (s *scan) row(t *test, l line) bool {
	text := l.text
	// Some versions and people comment rows out; the digits after # stay rows.
	if strings.HasPrefix(strings.TrimLeft(text, " "), "#") {
		text = strings.Replace(text, "#", " ", 1)
	}
	toks := tokenize(text)
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
	if t.layout == nil {
		h := inferLayout(splitGlued(toks))
		if h == nil {
			if containsRow(toks, 0) {
				t.skips.add("there is no line of column names, and the row is of no known layout", l.no)
			}
			return false
		}
		s.begin(t, h)
	}
	// A lone number is what is left of a row only where the size would stand.
	lone := len(toks) == 1 && !l.cut && abs(toks[0].end-t.layout.cols[0].end) > 2
	if t.phase == footer || lone || !rowLike(toks) {
		return false
	}
	s.rows++
	t.take(toks, l)
	return true
}

// take reads a row of the running table.
func (t *test) take(toks []token, l line) {
	c, reason := t.layout.read(toks)
	r := row{line: l.no, cells: c}
	if reason == "" {
		reason = r.problem()
	}
	switch {
	case l.cut:
		reason = "last line of a file that ends without a line end: it may be cut (if it is whole, add a line end)"
	case reason == "" && t.layout.cpuTime:
		reason = "the table gives the CPU's launch time (-C 1), not the collective's"
	}
	if reason == "" {
		t.rows = append(t.rows, r)
		return
	}
	t.skips.add(reason, l.no)
	if reason == sizeZero {
		t.emptyBus = append(t.emptyBus, r.printedBus()...)
	}
}
