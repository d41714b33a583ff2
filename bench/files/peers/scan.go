package peers

import (
	"fmt"
	"strings"

	"zbench/bench/base/envelope"
)

// Limits that bound the memory.
const (
	maxTests = 1 << 14
	maxRows  = 1 << 20
)

// phase says how far the output of a test has been read.
type phase int

const (
	preamble phase = iota
	devices
	table
	footer
)

// test is one run of one program, as far as the log separates runs.
type test struct {
	stream string
	phase  phase
	// name is the collective according to the log. command is the line that started the program.
	name, command string
	// header holds the settings on the line that begins with "# nThread".
	header header
	// launches, headers and footers count beginnings and ends. If any of them is above 1, several
	// programs wrote at the same time.
	launches, headers, footers int
	// Field `before` is the earlier test whose table this test interrupted; nil if that table had
	// ended.
	before *test
	// cycles is true if a line marked repeats of the table.
	cycles bool
	// failed is true if a line said that the program gave up.
	failed bool
	worlds []*world
	banner string
	layout *layout
	rows   []*row
	skips  skips
	// claim is the world that the rows of a CSV state.
	claim claim
	// Field `under` is the section of the log that contains the table.
	under *section
	// emptyBus has the busbw of rows of size 0, which the average includes.
	emptyBus []decimal
	average  *decimal
	// outOfBounds is the number of failed checks in the footer; nil if there is no such line.
	outOfBounds *int64
	asterisk    bool
	// continued is true if a repeated header divided the test and the second part has the footer.
	// continues is true for that second part.
	continued, continues bool
}

// mixed reports whether several programs wrote into this test at the same time.
func (t *test) mixed() bool {
	return len(t.worlds) > 1 || t.launches > 1 || t.headers > 1 || t.footers > 1
}

// scan sorts lines into tests.
type scan struct {
	tests []*test
	cur   map[string]*test
	// pending is the last command, which names the next test.
	pending command
	used    map[string]int
	facts
	seen int
	rows int
	// sections has all sections of settings, and the field `under` is the current section.
	sections []*section
	under    *section
	// csv is the CSV table to which rows may belong.
	csv *csvTable
	// last is the test with the latest table in any stream.
	last *test
	toks []token
	// most is the largest number of results: maxResults.
	most int
}

type command struct {
	name, text string
	seq        int
}

func newScan() *scan {
	return &scan{cur: map[string]*test{}, used: map[string]int{}, most: maxResults}
}

// Method `at` returns the current test of a stream.
func (s *scan) at(stream string) *test {
	if t := s.cur[stream]; t != nil {
		return t
	}
	return s.next(stream)
}

// next starts a new test in a stream.
func (s *scan) next(stream string) *test {
	t := &test{stream: stream}
	switch old := s.cur[stream]; {
	case old == nil || old.failed || old.phase == footer:
	case old.phase == table:
		t.before = old
	default:
		// A program that began, and neither failed nor printed a table, is still running. Its table
		// will follow.
		t.launches = old.launches
	}
	s.cur[stream] = t
	s.tests = append(s.tests, t)
	return t
}

// follow starts a new test at a repeated header. If no footer precedes the header, it may belong to
// the same program, to another program that runs at the same time, or to the next program. So the
// test inherits the devices, but not the name.
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

// line processes one line. It only fails if the input exceeds its limits.
func (s *scan) line(l line) error {
	s.seen++
	switch {
	case s.rows > maxRows:
		return fmt.Errorf("%w: more than %d rows at line %d; split the file", ErrTooLarge, maxRows, l.no)
	case len(s.tests) > maxTests:
		return fmt.Errorf("%w: more than %d tests at line %d; split the file", ErrTooLarge, maxTests, l.no)
	}
	if strings.TrimSpace(l.Text) == "" {
		if containsRow(tokenize(l.Whole), 0) { // a row whose words were taken for the prefix of other rows
			s.at(l.Stream).skips.add(unlikeHeader, l.no)
		}
		return nil
	}
	t := s.at(l.Stream)
	for i := range grammar {
		if found := grammar[i].recognise(s, t, l); found != nil {
			grammar[i].take(s, t, l, found)
			return nil
		}
	}
	return nil
}

// deviceLine finds the devices in a line of a device list. The lines of two processes may be
// joined.
func deviceLine(_ *scan, _ *test, l line) (parts []string) {
	if !strings.Contains(l.Text, "Rank") && !strings.Contains(l.Text, "Device") {
		return nil
	}
	for part := range strings.SplitSeq(l.Text, "#") {
		if _, ok := parseDevice(part); ok {
			parts = append(parts, part)
		}
	}
	return parts
}

func (s *scan) device(t *test, _ line, parts []string) {
	for _, part := range parts {
		d, _ := parseDevice(part)
		if t.phase >= table {
			t = s.next(t.stream)
		}
		t.phase = devices
		t.place(d)
	}
}

// place adds a device to the last list. If this list already has the device's rank, place begins a
// new list. More than two lists are not kept: with two, the rows cannot be separated any more.
func (t *test) place(d device) {
	n := len(t.worlds)
	if n > 0 && t.worlds[n-1].add(d) || n > 1 {
		return
	}
	w := newWorld()
	w.add(d)
	t.worlds = append(t.worlds, w)
}

// unitLine recognises the line of units below the column names.
func unitLine(_ *scan, _ *test, l line) []string {
	if _, ok := parseUnits(l.Text); ok && !strings.Contains(l.Text, "busbw") {
		return matched
	}
	return nil
}

func (s *scan) units(t *test, l line, _ []string) {
	if unit, _ := parseUnits(l.Text); t.layout != nil && len(t.rows) == 0 && unit != 0 {
		t.layout.unit = unit
	}
}

func headLine(_ *scan, t *test, l line) []string {
	if parseHeader(l.Text, t.banner) == nil {
		return nil
	}
	return matched
}

func (s *scan) head(t *test, l line, _ []string) {
	banner := t.banner
	if t.phase >= table && (len(t.rows) > 0 || t.skips.count() > 0 || t.phase == footer) {
		t = s.follow(t)
	}
	s.begin(t, parseHeader(l.Text, banner))
}

// begin starts the table of a test and names the test after the pending command.
func (s *scan) begin(t *test, h *layout) {
	t.layout, t.phase, s.csv = h, table, nil
	t.headers++
	if t.under = s.under; s.under != nil {
		s.under.tables = true
	}
	s.last = t
	if t.command == "" && s.pending.seq > s.used[t.stream] {
		t.command = s.pending.text
		if t.name == "" {
			t.name = s.pending.name
		}
		s.used[t.stream] = s.pending.seq
	}
}

// Reasons why a row is left out.
const (
	misfit       = "the cells do not fit the column names"
	halfRow      = "the row ends before its second group of values"
	noHeader     = "no line of column names precedes the row"
	mixedOutput  = "other output is mixed into the row: write NCCL_DEBUG's elsewhere (NCCL_DEBUG_FILE), and each process's to a file of its own (mpirun --output-filename, srun --output with %t)"
	unlikeHeader = "what stands before the row does not stand before the column names: give both the same, or neither"
	cutLine      = "last line of a file that ends without a line end: it may be cut (if it is whole, add a line end)"
)

// rowLine recognises a row, whole or damaged. A note about a run may precede the row on the same
// line.
func rowLine(s *scan, t *test, l line) []string {
	s.toks = tokenizeInto(s.toks, uncommented(l.Text))
	switch {
	case len(s.toks) == 0:
		return nil
	case t.layout == nil || t.phase == footer:
		if !containsRow(s.toks, 0) && !damagedRow(s.toks) {
			return nil
		}
	// A single number is the rest of a row only if it is in the column of the size.
	case len(s.toks) == 1 && !l.cut && abs(s.toks[0].end-t.layout.cols[0].end) > 2 || !rowLike(s.toks):
		return nil
	}
	if !isDigit(s.toks[0].s[0]) && signLine(s, t, l) != nil { // tested last, because few lines are signs
		return nil
	}
	return matched
}

// uncommented replaces the number sign of a line by a space. Some versions and users comment rows
// out.
func uncommented(text string) string {
	if strings.HasPrefix(strings.TrimLeft(text, " "), "#") {
		return strings.Replace(text, "#", " ", 1)
	}
	return text
}

// row reads a row of a table, or counts the reason why it is left out.
func (s *scan) row(t *test, l line, _ []string) {
	if t.layout == nil && t.before != nil {
		// The previous test has not ended after all: two programs write at the same time.
		t.launches, t.before.launches = 2, 2
	}
	if ended := t.phase == footer && t.layout != nil && t.layout.inferred; ended || t.layout == nil && t.launches < 2 {
		if h := headless(s.toks); h != nil {
			if ended {
				t = s.next(t.stream)
			}
			s.begin(t, h)
		}
	}
	if t.layout == nil || t.phase == footer {
		t.skips.add(noHeader, l.no)
		return
	}
	s.rows++
	c, off, reason := t.layout.read(s.toks)
	if reason == misfit && l.Whole != "" { // the first words of the row look like the envelope
		c, off, reason = t.layout.read(tokenize(l.Whole))
	}
	var r row
	if half := reason == halfRow; reason == "" || half {
		r, reason = c.row(l.no)
		r.half, r.off = half, off
	}
	if reason == misfit && (strings.Contains(l.Text, " NCCL ") || envelope.Labelled(l.Text)) {
		reason = mixedOutput
	}
	if reason == misfit && l.Whole == "" && containsRow(s.toks, 1) {
		reason = unlikeHeader
	}
	t.take(r, reason, l)
}

// take adds a row to the table. If there is a reason, it counts the row as left out.
func (t *test) take(r row, reason string, l line) {
	switch {
	case l.cut:
		reason = cutLine
	case reason == "" && t.layout.cpuTime:
		reason = "the table gives the CPU's launch time (-C 1), not the collective's"
	}
	if reason == "" {
		t.rows = append(t.rows, &r)
		return
	}
	t.skips.add(reason, l.no)
	for _, s := range r.sides[:r.n] {
		if reason == sizeZero && s.bus&present != 0 {
			t.emptyBus = append(t.emptyBus, s.bus)
		}
	}
}
