package peers

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// maxLine is the longest line read, in bytes. NCCL_DEBUG topology dumps reach
// tens of kilobytes.
const maxLine = 1 << 20

// line is one cleaned line.
type line struct {
	// no counts from 1.
	no   int
	text string
	// stream is the launcher's label ("1,0", "3"), by which interleaved
	// processes can be told apart; empty without one.
	stream string
	// cut is true for a last line without a line end.
	cut bool
}

// summary describes the bytes that were read.
type summary struct {
	sha256 string
	lines  int
}

// eachLine hands every cleaned line to f and stops at f's first error.
func eachLine(r io.Reader, f func(line) error) (summary, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	// Peek's error is met again by the scanner below.
	head, _ := br.Peek(4096)
	if err := checkFormat(head); err != nil {
		return summary{}, err
	}
	hash, tail := sha256.New(), &lastByte{}
	sc := bufio.NewScanner(io.TeeReader(br, io.MultiWriter(hash, tail)))
	sc.Buffer(make([]byte, 0, 64<<10), maxLine)
	n, have := 0, false
	var prev line
	for sc.Scan() {
		n++
		if have {
			if err := f(prev); err != nil {
				return summary{}, err
			}
		}
		prev, have = clean(sc.Text()), true
		prev.no = n
	}
	if err := sc.Err(); errors.Is(err, bufio.ErrTooLong) {
		return summary{}, fmt.Errorf("%w: line %d is longer than %d bytes; remove it and import again", ErrTooLarge, n+1, maxLine)
	} else if err != nil {
		return summary{}, fmt.Errorf("reading line %d: %w", n+1, err)
	}
	if have {
		prev.cut = tail.b != '\n'
		if err := f(prev); err != nil {
			return summary{}, err
		}
	}
	return summary{sha256: hex.EncodeToString(hash.Sum(nil)), lines: n}, nil
}

// lastByte remembers the last byte written to it.
type lastByte struct{ b byte }

func (l *lastByte) Write(p []byte) (int, error) {
	if len(p) > 0 {
		l.b = p[len(p)-1]
	}
	return len(p), nil
}

var (
	jsonStart = regexp.MustCompile(`^(\{\s*["}]|\[\s*[{\]"])`)
	csvStart  = regexp.MustCompile(`(?i)^[^\n]*size[^\n]*,[^\n]*time[^\n]*,[^\n]*bw`)
)

// checkFormat recognises inputs that are not text logs.
func checkFormat(head []byte) error {
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return fmt.Errorf("%w: the file is compressed; gunzip it first", ErrFormat)
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}) || bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return fmt.Errorf("%w: the file is UTF-16; convert it with iconv -f UTF-16 -t UTF-8", ErrFormat)
	}
	text := bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\ufeff")))
	switch {
	case jsonStart.Match(text):
		return fmt.Errorf("%w: this is JSON, whose import is not supported yet; use the text output of the same run", ErrFormat)
	case csvStart.Match(text):
		return fmt.Errorf("%w: this is CSV, whose import is not supported yet; use the text output of the same run", ErrFormat)
	}
	return nil
}

var (
	ansi = regexp.MustCompile(`\x1b(\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(\x07|\x1b\\))`)
	// labels are the prefixes of mpirun --tag-output (with --timestamp-output
	// before it) and srun --label; the
	// submatch is the process.
	labels = []*regexp.Regexp{
		regexp.MustCompile(`^(?:[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4})?\[(?:[^\[\]@]*@)?(\d+,\d+)\]<std(?:out|err|diag)>:?`),
		regexp.MustCompile(`^\s*(\d+): `),
		regexp.MustCompile(`^\s*(\d+):$`),
	}
	// loose are prefixes that are removed only in front of what this tool
	// prints: another program's line may begin the same way.
	loose = []*regexp.Regexp{
		regexp.MustCompile(`^\[[^\[\]\s]{1,64}\]:? ?`),
		regexp.MustCompile(`^[A-Za-z][\w.-]{0,63}(?::| +\|) `),
		regexp.MustCompile(`^\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]? ?`),
		regexp.MustCompile(`^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d ?`),
	}
)

// clean removes what terminals and launchers add to a line.
func clean(raw string) line {
	t := strings.TrimPrefix(raw, "\ufeff")
	t = strings.TrimRight(t, "\r")
	// A progress display overwrites its line; what it left last is the text.
	if i := strings.LastIndexByte(t, '\r'); i >= 0 {
		t = t[i+1:]
	}
	if strings.ContainsAny(t, "\x1b\x00") {
		t = strings.ReplaceAll(ansi.ReplaceAllString(t, ""), "\x00", "")
	}
	t = expandTabs(t)
	l := line{}
	for range 3 {
		before := t
		for _, re := range labels {
			if m := re.FindStringSubmatchIndex(t); m != nil {
				l.stream, t = t[m[2]:m[3]], t[m[1]:]
				break
			}
		}
		for _, re := range loose {
			if m := re.FindString(t); m != "" && toolText(t[len(m):]) {
				t = t[len(m):]
				break
			}
		}
		if t == before {
			break
		}
	}
	l.text = t
	return l
}

// toolText reports whether a line begins like one of the tool's: a comment, or
// a right-aligned number.
func toolText(t string) bool {
	if t == "" || t[0] == '#' {
		return true
	}
	t = strings.TrimLeft(t, " ")
	return t != "" && (t[0] == '#' || t[0] >= '0' && t[0] <= '9')
}

// expandTabs puts every tab on the next multiple of eight columns.
func expandTabs(t string) string {
	if !strings.Contains(t, "\t") {
		return t
	}
	var b strings.Builder
	for i := range len(t) {
		if t[i] != '\t' {
			b.WriteByte(t[i])
			continue
		}
		b.WriteString("        "[b.Len()%8:])
	}
	return b.String()
}
