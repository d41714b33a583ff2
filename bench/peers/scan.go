package peers

import (
	"fmt"
	"strings"
)

// Bounds on what an input can make the importer keep.
const (
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
	// header is the log's line that begins # nThread.
	header header
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
	rows   rowList
	skips  skips
	// log is common to this and the other tests, open the row that is not complete yet.
	log  *common
	open *fragment
	// claim is the world that the rows of a CSV name.
	claim claim
	// adopts is true if the rows are of another stream, adopted: either the header has no launcher's label
	// and the rows have one, or the reverse.
	adopts  bool
	adopted string
	// under is the section of the log in which the table stands.
	under *section
	// hosts are the names in the device list.
	hosts map[string]bool
	// emptyBus are the busbw of rows of size 0, which the average includes.
	emptyBus []decimal
	average  *decimal
	// outOfBounds is the footer's number of failed checks, nil where not said.
	outOfBounds *int64
	asterisk    bool
	// continued is true where a repeated header cut the test in two and the
	// footer is in the second part, continues where this is the second part.
	continued, continues bool
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
	log  *common
	// sections are the lines that name settings, under is the one that holds.
	sections []*section
	under    *section
	// csv is the CSV whose rows may come.
	csv *csvTable
	// last is the test whose table came last, in whatever stream.
	last *test
	toks []token
	stop func() error
}

type command struct {
	name, text string
	seq        int
}

func newScan() *scan {
	log := &common{caseTable: caseTable{index: map[printedCase]int32{}}}
	return &scan{cur: map[string]*test{}, used: map[string]int{}, log: log}
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
	t := &test{stream: stream, log: s.log}
	old := s.cur[stream]
	if old != nil {
		old.giveUp()
	}
	switch {
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

// follow begins a test at a repeated header. Without a footer before it, the header is of the same
// program, of one that writes at the same time, or of the next one: the test takes over the devices, but
// not the name.
func (s *scan) follow(t *test) *test {
	n := s.next(t.stream)
	n.before = nil
	if t.phase != footer {
		n.header = t.header
		n.launches, n.worlds, n.banner = t.launches, t.worlds, t.banner
		t.continued, n.continues = true, true
	}
	return n
}

// stopEvery is the number of lines after which the caller may end the reading.
const stopEvery = 1 << 12

// line takes one line. It fails only where the input is beyond its bounds, or
// where the caller ends it.
func (s *scan) line(l line) error {
	s.seen++
	if err := s.log.full(s.rows, l.no); err != nil {
		return err
	}
	if len(s.tests) > maxTests {
		return fmt.Errorf("%w: more than %d tests at line %d; split the file", ErrTooLarge, maxTests, l.no)
	}
	if s.stop != nil && s.seen%stopEvery == 0 {
		if err := s.stop(); err != nil {
			return err
		}
	}
	if strings.TrimSpace(l.text) == "" {
		return nil
	}
	if s.csvLine(l) {
		return nil
	}
	s.adopt(&l)
	t := s.cur[l.stream]
	if t == nil || t.phase != table {
		s.sort(l)
		return nil
	}
	s.inTable(t, l)
	return nil
}

// adopt gives a row to the last header without rows, if only one of the two has a launcher's label.
func (s *scan) adopt(l *line) {
	t := s.last
	if t == nil || t.stream == l.stream || t.phase != table || t.stream != "" && l.stream != "" || !plainRow(l.text) {
		return
	}
	if own := s.cur[l.stream]; own != nil && (own.layout != nil || len(own.worlds) > 0) {
		return
	}
	if !t.adopts && t.rows.n == 0 && t.open == nil && t.skips.count() == 0 {
		t.adopts, t.adopted = true, l.stream
	}
	if t.adopts && t.adopted == l.stream {
		l.stream = t.stream
	}
}

// inTable takes a line below a header. Output of NCCL_DEBUG may stand within rows.
func (s *scan) inTable(t *test, l line) {
	if plainRow(l.text) && s.row(t, l) {
		return
	}
	open := t.open
	before := fragment{}
	if open != nil {
		before = *open
	}
	own, message, known := t.cutDebug(l.text)
	debug := message != "" || !known || debugAt(l.text) >= 0
	s.log.debug = s.log.debug || debug
	if message != "" && own != "" && strings.TrimSpace(own) != "" && rowStart(own) {
		s.sort(line{no: l.no, text: message, stream: l.stream})
		l.text, l.broken = own, true
	}
	s.sort(l)
	if open != nil && open == t.open && *open == before {
		open.between, open.apart = open.between || debug, open.apart || !debug
	}
}

// rowStart reports whether a text begins with a number, as rows and what is left
// of them do.
func rowStart(text string) bool {
	text = strings.TrimLeft(text, " ")
	return text != "" && (isDigit(text[0]) || text[0] == '-')
}

// sort gives a line to the first that knows it.
func (s *scan) sort(l line) {
	if s.note(l) {
		return
	}
	t := s.at(l.stream)
	switch {
	case s.preamble(t, l), s.device(t, l), s.end(t, l), s.head(t, l), s.sectionLine(t, l):
	case s.row(t, l):
	default:
		s.commandLine(l)
	}
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
		if t.layout != nil && t.rows.n == 0 && unit != 0 {
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
	if t.phase >= table && (t.rows.n > 0 || t.open != nil || t.skips.count() > 0 || t.phase == footer) {
		banner := t.banner
		t = s.follow(t)
		h = parseHeader(l.text, banner)
	}
	s.begin(t, h)
	return true
}

// begin starts a test's table and names it after the command that was waiting.
func (s *scan) begin(t *test, h *layout) {
	t.layout, t.phase, s.csv = h, table, nil
	t.headers++
	if t.under = s.under; s.under != nil {
		s.under.tables = true
	}
	s.last = t
	t.hosts = map[string]bool{}
	for _, w := range t.worlds {
		for _, d := range w.devices {
			t.hosts[d.host] = d.host != ""
		}
	}
	if t.command == "" && s.pending.seq > s.used[t.stream] {
		t.command = s.pending.text
		if t.name == "" {
			t.name = s.pending.name
		}
		s.used[t.stream] = s.pending.seq
	}
}

// plainRow reports whether a line is certainly a row, as almost all lines of a table: it begins with a
// number, ends with one or with N/A, and has no colon, number sign or other capital letter, of which all
// other lines of the tools and libraries have one.
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

// table finds the table of a row. It begins one if the row has no header and tells its columns itself.
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

// take adds a row to the table; with a reason it counts the row as skipped.
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
	for _, s := range r.sides[:r.n] {
		if reason == sizeZero && s.bus&present != 0 {
			t.emptyBus = append(t.emptyBus, s.bus)
		}
	}
}
