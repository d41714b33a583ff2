package peers

import (
	"fmt"
	"strconv"
	"strings"

	"zbench/bench/pattern"
)

// header is what the line that begins # nThread says of how a program ran,
// apart from its sizes. Runs with other headers are no repeats.
type header struct {
	// known is false where the log lacks the line.
	known                              bool
	threads, gpus                      int
	warmup, iters, agg, graph, unalign int
	// blocking is the line that says that the program waits after each step.
	blocking string
}

// perProcess is the number of GPUs of one process; 0 where not said.
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

// find is FindStringSubmatch for a line that contains the word. Most lines are rows, and a word is found
// faster than an expression.
func find(re *pattern.Pattern, text, word string) []string {
	if !strings.Contains(text, word) {
		return nil
	}
	return re.FindStringSubmatch(text)
}

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
	if m := find(startRE, l.text, "test starting"); m != nil {
		fresh().name = program(m[1])
		return true
	}
	if m := find(testsRE, l.text, "-tests version"); m != nil {
		fresh()
		s.tool, s.version = m[1]+"-tests", m[2]
		if c := libCodeRE.FindStringSubmatch(l.text); c != nil {
			s.addLibrary(c[1], decodeVersion(c[2]))
		}
		return true
	}
	if m := find(rcclTestRE, l.text, "rccl-tests: Version"); m != nil {
		fresh()
		s.tool, s.version = "rccl-tests", m[1]
		return true
	}
	m := find(paramRE, l.text, "nThread")
	if m == nil {
		return false
	}
	t = fresh()
	t.launches++
	t.header = parseParameters(m, l.text)
	return true
}

// parseParameters reads the line that begins # nThread.
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

// library takes a line that names a library's version or path.
func (s *scan) library(l line) bool {
	if m := find(libPathRE, l.text, "Librccl path"); m != nil {
		for i := range s.libraries {
			if s.libraries[i].Name == "rccl" && s.libraries[i].Path == "" {
				s.libraries[i].Path = redact(m[1])
			}
		}
		return true
	}
	m := find(libRE, l.text, " version")
	if m == nil {
		return false
	}
	s.addLibrary(strings.ToLower(m[1]), m[2])
	return true
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

// end takes a line of a test's footer. Its number sign may have been lost, and
// other text may stand in front of it.
func (s *scan) end(t *test, l line) bool {
	commented := strings.HasPrefix(strings.TrimSpace(l.text), "#")
	if t.layout == nil && t.before != nil && t.launches > 1 {
		t = t.before
	}
	if t.layout == nil && s.last != nil && s.last.stream != t.stream {
		t = s.last // a footer without its launcher's label
	}
	if m := find(boundsRE, l.text, "Out of bounds values"); m != nil && (commented || t.phase >= table) {
		n, _ := strconv.ParseInt(m[1], 10, 64)
		t.failedChecks(n)
		return true
	}
	// Without its sign a second one is a person's: programs that write at once
	// keep theirs.
	if m := find(averageRE, l.text, "Avg bus bandwidth"); m != nil && (commented || t.phase == table) {
		t.endTable(m[1], l)
		return true
	}
	if m := find(endRE, l.text, "test concluded"); m != nil {
		if t.name == "" {
			t.name = program(m[1])
		}
		return true
	}
	switch {
	case !commented:
	case strings.Contains(l.text, "Errors with asterisks"):
		t.asterisk = true
		return true
	case strings.Contains(l.text, "# Testing"):
		t.cycles = true
		return true
	}
	return false
}

// failedChecks notes the footer's number of failed checks. Of several the
// largest counts.
func (t *test) failedChecks(n int64) {
	if t.outOfBounds == nil || *t.outOfBounds < n {
		t.outOfBounds = &n
	}
}

// endTable notes the footer's average, which ends the table.
func (t *test) endTable(average string, l line) {
	t.phase = footer
	t.footers++
	// A number that the end of the file cut is not the average.
	if n, ok := parseDecimal(average); ok && !l.cut && t.average == nil && n.value() < maxGBs {
		t.average = &n
	}
}
