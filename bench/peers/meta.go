package peers

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/collective"
	"zbench/bench/record"
)

// facts is what a log says beside its tables.
type facts struct {
	tool, version string
	libraries     []record.Library
	notes         []note
	warnings      []record.Warning
}

// note is a kind of line worth a warning; repeats of it are counted.
type note struct {
	code, text, hint string
	line, count      int
}

// telltale is a text and what its line means.
type telltale struct{ has, code, hint string }

// fatal reports whether the program that printed the line gave up.
func (t telltale) fatal() bool {
	switch t.code {
	case "test_timeout", "test_failure", "crash", "cancelled":
		return true
	}
	return false
}

// telltales are the lines that qualify the numbers of a log. The first that a
// line contains decides.
var telltales = []telltale{
	{"Test timeout", "test_timeout", "a collective hung; the sweep is incomplete: find the host that the line names"},
	{"Test NCCL failure", "test_failure", "the sweep is incomplete: read the log around this line"},
	{"Test CUDA failure", "test_failure", "the sweep is incomplete: read the log around this line"},
	{"Test HIP failure", "test_failure", "the sweep is incomplete: read the log around this line"},
	{"Test failure", "test_failure", "the sweep is incomplete: read the log around this line"},
	{"test failure", "test_failure", "the sweep is incomplete: read the log around this line"},
	{"# error:", "test_failure", "the sweep is incomplete: read the log around this line"},
	{"Segmentation fault", "crash", "the sweep is incomplete: read the log around this line"},
	{"exited on signal", "crash", "the sweep is incomplete: read the log around this line"},
	{"DUE TO TIME LIMIT", "cancelled", "the sweep is incomplete: ask for more time"},
	{"CANCELLED AT", "cancelled", "the sweep is incomplete: run it again"},
	{"# Reducing maxBytes", "max_bytes_reduced", "the sweep ends below the size that was asked for: free device memory, or run with -c 0"},
	{"# Blocking Enabled", "blocking", "these times include a wait after each step: compare them only with other blocking runs"},
	{"NCCL WARN", "library_warning", "read the library's warnings before trusting the numbers"},
}

// maxLibraries is the number of library versions that are kept.
const maxLibraries = 64

// maxNote is the number of bytes of a line that a warning repeats.
const maxNote = 200

// note takes a line that qualifies the numbers.
func (s *scan) note(l line) bool {
	for _, t := range telltales {
		if strings.Contains(l.text, t.has) {
			s.addNote(t.code, strings.TrimSpace(l.text), t.hint, l.no)
			if old := s.cur[l.stream]; old != nil && t.fatal() {
				old.failed = true
			}
			return true
		}
	}
	return false
}

func (f *facts) addNote(code, text, hint string, line int) {
	for i := range f.notes {
		if f.notes[i].code == code {
			f.notes[i].count++
			return
		}
	}
	text = redact(text) // first: a name that is cut short is still a name
	if len(text) > maxNote {
		text = strings.ToValidUTF8(text[:maxNote], "") + "…"
	}
	f.notes = append(f.notes, note{code, text, hint, line, 1})
}

// warn adds a warning once.
func (f *facts) warn(code, hint, format string, args ...any) {
	w := record.Warning{Code: code, Message: fmt.Sprintf(format, args...), Hint: hint}
	if !slices.Contains(f.warnings, w) {
		f.warnings = append(f.warnings, w)
	}
}

// noteWarnings turns the notes into warnings.
func (f *facts) noteWarnings() {
	for _, n := range f.notes {
		more := ""
		if n.count > 1 {
			more = fmt.Sprintf(" (and %d more such lines)", n.count-1)
		}
		f.warn(n.code, n.hint, "line %d: %s%s", n.line, n.text, more)
	}
}

var (
	paramRE    = regexp.MustCompile(`nThread (\d{1,6}) +nGpus (\d{1,6})\b`)
	itersRE    = regexp.MustCompile(`warmup iters: *\d+ +iters: *(\d{1,9})\b(?: +agg iters: *(\d{1,9})\b)?`)
	testsRE    = regexp.MustCompile(`# *(nccl|rccl)-tests version (\S+)`)
	rcclTestRE = regexp.MustCompile(`rccl-tests: Version (\S+)`)
	libCodeRE  = regexp.MustCompile(`(nccl|rccl)-library=(\d{4,6})\b`)
	libRE      = regexp.MustCompile(`\b(NCCL|RCCL|HIP|ROCm) version *:? *(\d\S*)`)
	libPathRE  = regexp.MustCompile(`^ *Librccl path *: *(\S+)`)
	startRE    = regexp.MustCompile(`# *Collective test starting: *(\S+)`)
	endRE      = regexp.MustCompile(`# *Collective test concluded: *(\S+)`)
)

// preamble takes a line that stands before a device list.
func (s *scan) preamble(t *test, l line) bool {
	if s.library(l) {
		return true
	}
	fresh := func() *test {
		if t.phase != preamble {
			t = s.next(t.stream)
		}
		return t
	}
	if m := startRE.FindStringSubmatch(l.text); m != nil {
		fresh().name = program(m[1])
		return true
	}
	if m := testsRE.FindStringSubmatch(l.text); m != nil {
		fresh()
		s.tool, s.version = m[1]+"-tests", m[2]
		if c := libCodeRE.FindStringSubmatch(l.text); c != nil {
			s.addLibrary(c[1], decodeVersion(c[2]))
		}
		return true
	}
	if m := rcclTestRE.FindStringSubmatch(l.text); m != nil {
		fresh()
		s.tool, s.version = "rccl-tests", m[1]
		return true
	}
	m := paramRE.FindStringSubmatch(l.text)
	if m == nil {
		return false
	}
	t = fresh()
	t.launches++
	threads, _ := strconv.Atoi(m[1])
	gpus, _ := strconv.Atoi(m[2])
	t.perProc = threads * gpus
	if m := itersRE.FindStringSubmatch(l.text); m != nil {
		t.iters, _ = strconv.Atoi(m[1])
		t.agg, _ = strconv.Atoi(m[2])
	}
	return true
}

// library takes a line that names a library's version or path.
func (s *scan) library(l line) bool {
	if m := libPathRE.FindStringSubmatch(l.text); m != nil {
		for i := range s.libraries {
			if s.libraries[i].Name == "rccl" && s.libraries[i].Path == "" {
				s.libraries[i].Path = redact(m[1])
			}
		}
		return true
	}
	m := libRE.FindStringSubmatch(l.text)
	if m == nil {
		return false
	}
	s.addLibrary(strings.ToLower(m[1]), m[2])
	return true
}

func (f *facts) addLibrary(name, version string) {
	for i, l := range f.libraries {
		// The same version may be printed with and without its build.
		if l.Name == name && (strings.HasPrefix(l.Version, version) || strings.HasPrefix(version, l.Version)) {
			f.libraries[i].Version = max(l.Version, version)
			return
		}
	}
	if len(f.libraries) == maxLibraries {
		return
	}
	f.libraries = append(f.libraries, record.Library{Name: name, Version: version})
}

// decodeVersion reads NCCL_VERSION_CODE: major·10000 + minor·100 + patch since
// 2.9, major·1000 before.
func decodeVersion(code string) string {
	n, _ := strconv.Atoi(code)
	if n < 10000 {
		return fmt.Sprintf("%d.%d.%d", n/1000, n%1000/100, n%100)
	}
	return fmt.Sprintf("%d.%d.%d", n/10000, n%10000/100, n%100)
}

var (
	boundsRE  = regexp.MustCompile(`# *Out of bounds values *: *(\d{1,18})\b`)
	averageRE = regexp.MustCompile(`# *Avg bus bandwidth *: *(\S+)`)
)

// end takes a line of a test's footer.
func (s *scan) end(t *test, l line) bool {
	if !strings.HasPrefix(strings.TrimSpace(l.text), "#") {
		return false
	}
	if m := boundsRE.FindStringSubmatch(l.text); m != nil {
		n, _ := strconv.ParseInt(m[1], 10, 64)
		t.outOfBounds = &n
		return true
	}
	if m := averageRE.FindStringSubmatch(l.text); m != nil {
		t.phase = footer
		t.footers++
		if t.after != nil {
			// These rows had a footer of their own: they were of a program that
			// wrote at the same time as the one before.
			t.launches, t.after.launches = 2, 2
		}
		// A number that the end of the file cut is not the average.
		if n, ok := parseNumber(m[1]); ok && !l.cut && t.average == nil && n.v < maxGBs {
			t.average = &n
		}
		return true
	}
	if m := endRE.FindStringSubmatch(l.text); m != nil {
		if t.name == "" {
			t.name = program(m[1])
		}
		return true
	}
	switch {
	case strings.Contains(l.text, "Errors with asterisks"):
		t.asterisk = true
		return true
	case strings.Contains(l.text, "# Testing"):
		t.cycles = true
		return true
	}
	return false
}

// programs are the names under which rccl-tests and nccl-tests ship programs,
// each before those it contains. Those that collective.ByName does not know are
// recognised so that their rows are not taken for another collective's.
var programs = []string{
	"all_reduce_bias", "all_reduce", "all_gather", "reduce_scatter", "alltoallv", "alltoall",
	"broadcast", "sendrecv", "hypercube", "gather", "scatter", "reduce",
}

var commandRE = regexp.MustCompile(`\b(` + strings.Join(append(slices.Clone(programs), collective.Names()...), "|") + `)_(?:perf|test)(?:_mpi)?\b`)

// commandLine remembers the program that a line runs, for the test after it.
// A line that names two programs names none.
func (s *scan) commandLine(l line) {
	if strings.Contains(l.text, "NCCL INFO") || !strings.Contains(l.text, "_perf") && !strings.Contains(l.text, "_test") {
		return
	}
	name := ""
	for _, m := range commandRE.FindAllStringSubmatch(l.text, -1) {
		if name != "" && name != m[1] {
			return
		}
		name = m[1]
	}
	if name != "" {
		s.pending = command{name, l.text, s.pending.seq + 1}
	}
}

// program strips what builds add to a program's name.
func program(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, "_mpi"), "_perf")
}
