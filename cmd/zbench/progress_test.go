package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/record"
)

// terminal is as much of one as progress needs: lines, the cursor upwards, and
// clearing to the end.
type terminal struct {
	t     *testing.T
	lines []string
	row   int
}

func (x *terminal) Write(text []byte) (int, error) {
	for rest := string(text); rest != ""; {
		if x.row == len(x.lines) {
			x.lines = append(x.lines, "")
		}
		var up int
		switch {
		case strings.HasPrefix(rest, "\x1b[J"):
			x.lines, rest = append(x.lines[:x.row:x.row], ""), rest[3:]
		case strings.HasPrefix(rest, "\x1b["):
			_, err := fmt.Sscanf(rest, "\x1b[%dA", &up)
			require.NoError(x.t, err, "%q", rest)
			x.row -= up
			require.GreaterOrEqual(x.t, x.row, 0)
			rest = rest[strings.IndexByte(rest, 'A')+1:]
		case rest[0] == '\r':
			rest = rest[1:]
		case rest[0] == '\n':
			x.row, rest = x.row+1, rest[1:]
		default:
			n := strings.IndexAny(rest, "\r\n\x1b")
			if n < 0 {
				n = len(rest)
			}
			x.lines[x.row] += rest[:n]
			rest = rest[n:]
		}
	}
	return len(text), nil
}

// passes are what a sweep of so many sizes tells its progress.
func passes(n int, each func(planned record.Result, part record.Part)) {
	for i := range n {
		r := record.Result{Key: fmt.Sprint(i), Collective: "all_reduce", BytesRequested: 1 << (10 + i), Bytes: 1 << (10 + i), Ranks: 8, Status: record.OK}
		part := record.Part{Key: r.Key, Status: record.OK, Burst: &record.BurstSamples{Mean: []float64{1e-4, 1e-4}, Max: []float64{1e-4, 1e-4}}}
		each(r, part)
	}
}

// On a terminal the last rows stand while they are measured, in the first pass too,
// none wider than it, and nothing is left of them at the end.
func TestProgressOnATerminal(t *testing.T) {
	screen := &terminal{t: t}
	s, _ := testState(t)
	s.Stderr = Stream{Writer: screen, IsTTY: true, Width: 40}
	p := newProgress(s, 20, 0, false, false)
	shown := 0
	passes(20, func(planned record.Result, part record.Part) {
		p.Pass(planned, part)
		shown++
		require.Len(t, screen.lines, min(shown, liveRows)+1)
		require.Contains(t, screen.lines[len(screen.lines)-2], ": 100 µs")
		require.Contains(t, screen.lines[len(screen.lines)-1], fmt.Sprintf("[first pass %d/20]", shown))
		for _, line := range screen.lines {
			require.Less(t, len([]rune(line)), 40)
		}
	})
	passes(20, func(planned record.Result, _ record.Part) { p.Done(planned) })
	require.Equal(t, []string{""}, screen.lines)
}

// Off a terminal nothing is shown unless that is asked for; then, and where a
// terminal cannot be redrawn, each row is a line.
func TestProgressElsewhere(t *testing.T) {
	for _, row := range []struct {
		tty, always, quiet bool
		term               string
		lines              int
	}{{}, {always: true, lines: 6}, {always: true, quiet: true}, {tty: true, term: "dumb", lines: 6}, {tty: true, quiet: true}} {
		var out bytes.Buffer
		s, _ := testState(t)
		s.Stderr = Stream{Writer: &out, IsTTY: row.tty}
		s.Getenv = func(name string) string { return map[string]string{"TERM": row.term}[name] }
		p := newProgress(s, 3, 0, row.quiet, row.always)
		passes(3, p.Pass)
		passes(3, func(planned record.Result, _ record.Part) { p.Done(planned) })
		require.Equal(t, row.lines, strings.Count(out.String(), "\n"), "%+v: %s", row, out.String())
		require.NotContains(t, out.String(), "\x1b")
	}
}

// The time that is left is that of the passes that are left.
func TestProgressTimeLeft(t *testing.T) {
	s, _ := testState(t)
	now := time.Unix(0, 0)
	s.Now = func() time.Time { return now }
	s.Stderr = Stream{Writer: io.Discard, IsTTY: true}
	p := newProgress(s, 4, 0, false, false)
	passes(2, func(planned record.Result, part record.Part) {
		now = now.Add(time.Second)
		p.Pass(planned, part)
	})
	require.Equal(t, 6*time.Second, p.left())
}

// Where each row of a kernel is a line, it says how long the rest takes; the last one does not.
func TestKernelRowsSayTheTimeLeft(t *testing.T) {
	var out bytes.Buffer
	s, _ := testState(t)
	now := time.Unix(0, 0)
	s.Now = func() time.Time { return now }
	s.Stderr = Stream{Writer: &out}
	p := newProgress(s, 2, 0, false, true)
	for pass := range 2 {
		for _, key := range []string{"a", "b"} {
			now = now.Add(time.Minute)
			part := record.Part{Key: key, Pass: pass, Status: record.OK}
			if pass == 0 {
				p.First(part)
			} else {
				p.Last(part)
			}
		}
	}
	require.Equal(t, "[first pass 1/2, about 3m0s left] a: ok\n[first pass 2/2, about 2m0s left] b: ok\n[1/2, about 1m0s left] a: ok\n[2/2] b: ok\n", out.String())
}
