package peers

import (
	"fmt"
	"strconv"
	"strings"

	"zbench/bench/base/pattern"
)

// header holds the settings on the line that begins with "# nThread", except the sizes. Runs with
// different headers are not repeats.
type header struct {
	// known is false if the log lacks that line.
	known                              bool
	threads, gpus                      int
	warmup, iters, agg, graph, unalign int
	// blocking is the line that says that the program waits after each step, or empty.
	blocking string
}

// perProcess returns the number of GPUs per process, or 0 if the line does not state it.
func (h header) perProcess() int { return h.threads * h.gpus }

var (
	paramRE    = pattern.New(`nThread (\d{1,6}) +nGpus (\d{1,6})\b`)
	itersRE    = pattern.New(`warmup iters: *(\d{1,9}) +iters: *(\d{1,9})\b(?: +agg iters: *(\d{1,9})\b)?`)
	graphRE    = pattern.New(`\bgraph: *(\d{1,9})\b`)
	unalignRE  = pattern.New(`\bunalign: *(\d{1,9})\b`)
	testsRE    = pattern.New(`# *(nccl|rccl)-tests version (\S+)`)
	rcclTestRE = pattern.New(`rccl-tests: Version (\S+)`)
	libCodeRE  = pattern.New(`(nccl|rccl)-library=(\d{4,6})\b`)
	libRE      = pattern.New(`\b(NCCL|RCCL|HIP|ROCm) version *:? *(\d\S*)`)
	libPathRE  = pattern.New(`^ *Librccl path *: *(\S+)`)
	startRE    = pattern.New(`Collective test starting: *(\S+)`)
	endRE      = pattern.New(`Collective test concluded: *(\S+)`)
	boundsRE   = pattern.New(`Out of bounds values *: *(\d{1,18})\b`)
	averageRE  = pattern.New(`Avg bus bandwidth *: *(\S+)`)
)

// find calls FindStringSubmatch for lines that contain a word, and returns nil for other lines.
// Looking for the word first is faster, because most lines are rows without it.
func find(re *pattern.Pattern, text, word string) []string {
	if !strings.Contains(text, word) {
		return nil
	}
	return re.FindStringSubmatch(text)
}

// fresh returns the test to which a line above a device list belongs. If the current test already
// has its device list, it starts a new test.
func (s *scan) fresh(t *test) *test {
	if t.phase != preamble {
		return s.next(t.stream)
	}
	return t
}

func (s *scan) start(t *test, _ line, m []string) { s.fresh(t).name = program(m[1]) }

func (s *scan) toolVersion(t *test, l line, m []string) {
	s.fresh(t)
	if s.tool, s.version = "rccl-tests", m[len(m)-1]; len(m) > 2 {
		s.tool = m[1] + "-tests"
	}
	if c := libCodeRE.FindStringSubmatch(l.Text); c != nil && len(m) > 2 {
		s.addLibrary(c[1], decodeVersion(c[2]))
	}
}

func (s *scan) parameters(t *test, l line, m []string) {
	t = s.fresh(t)
	t.launches++
	t.header = parseParameters(m, l.Text)
}

// parseParameters reads the line that begins with "# nThread".
func parseParameters(m []string, text string) header {
	h := header{known: true}
	numbers := func(m []string, into ...*int) {
		for i, to := range into[:min(len(into), max(0, len(m)-1))] {
			*to, _ = strconv.Atoi(m[i+1])
		}
	}
	numbers(m, &h.threads, &h.gpus)
	numbers(itersRE.FindStringSubmatch(text), &h.warmup, &h.iters, &h.agg)
	numbers(graphRE.FindStringSubmatch(text), &h.graph)
	numbers(unalignRE.FindStringSubmatch(text), &h.unalign)
	return h
}

func (s *scan) libraryPath(_ *test, _ line, m []string) {
	for i := range s.libraries {
		if s.libraries[i].Name == "rccl" && s.libraries[i].Path == "" {
			s.libraries[i].Path = redact(m[1])
		}
	}
}

func (s *scan) library(_ *test, _ line, m []string) { s.addLibrary(strings.ToLower(m[1]), m[2]) }

// decodeVersion decodes NCCL_VERSION_CODE. The code is major·10000 + minor·100 + patch since 2.9.
// In earlier versions it begins with major·1000.
func decodeVersion(code string) string {
	n, _ := strconv.Atoi(code)
	if n < 10000 {
		return fmt.Sprintf("%d.%d.%d", n/1000, n%1000/100, n%100)
	}
	return fmt.Sprintf("%d.%d.%d", n/10000, n%10000/100, n%100)
}

// footed returns the test to which a line of a footer belongs. The line may lack its launcher's
// label.
func (s *scan) footed(t *test) *test {
	if t.layout == nil && t.before != nil && t.launches > 1 {
		t = t.before
	}
	if t.layout == nil && s.last != nil && s.last.stream != t.stream {
		return s.last
	}
	return t
}

// outOfBounds stores the number of failed checks in the footer. If there are several numbers, the
// largest counts.
func (s *scan) outOfBounds(t *test, _ line, m []string) {
	n, _ := strconv.ParseInt(m[1], 10, 64)
	if t = s.footed(t); t.outOfBounds == nil || *t.outOfBounds < n {
		t.outOfBounds = &n
	}
}

func (s *scan) concluded(t *test, _ line, m []string) {
	if t = s.footed(t); t.name == "" {
		t.name = program(m[1])
	}
}

// average stores the average in the footer, which ends the table. Later averages are ignored.
func (s *scan) average(t *test, l line, m []string) {
	t = s.footed(t)
	t.phase = footer
	t.footers++
	// A number that is cut by the end of the file is not the average.
	if n, ok := parseDecimal(m[1]); ok && !l.cut && t.average == nil && n.value() < maxGBs {
		t.average = &n
	}
}
