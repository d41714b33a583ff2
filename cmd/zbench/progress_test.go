package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
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
		r := record.Result{Case: record.Case{Key: fmt.Sprint(i), Status: record.OK}, Collective: "all_reduce", BytesRequested: 1 << (10 + i), Bytes: 1 << (10 + i), Ranks: 8}
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

// Off a terminal, and where one cannot be redrawn, a line follows every ten seconds; where that is asked for
// each row is a line.
func TestProgressElsewhere(t *testing.T) {
	for _, row := range []struct {
		tty, each, quiet bool
		term             string
		lines            int
	}{{lines: 2}, {each: true, lines: 9}, {each: true, quiet: true}, {tty: true, term: "dumb", lines: 2}, {tty: true, quiet: true}} {
		var out bytes.Buffer
		s, _ := testState(t)
		now := time.Unix(0, 0)
		s.Now = func() time.Time { now = now.Add(4 * time.Second); return now }
		s.Stderr = Stream{Writer: &out, IsTTY: row.tty}
		s.Getenv = func(name string) string { return map[string]string{"TERM": row.term}[name] }
		p := newProgress(s, 3, 0, row.quiet, row.each)
		passes(3, func(planned record.Result, part record.Part) {
			p.begins(planned.Key)
			p.Pass(planned, part)
		})
		passes(3, func(planned record.Result, _ record.Part) { p.Done(planned) })
		require.Equal(t, row.lines, strings.Count(out.String(), "\n"), "%+v: %s", row, out.String())
		require.NotContains(t, out.String(), "\x1b")
	}
}

// The time that is left is told within a factor of two from the second case on: the first has what is done
// once, only first passes verify, and cases of more bytes take longer.
func TestProgressTimeLeft(t *testing.T) {
	for _, run := range []struct {
		opening, verify float64
		cases           []float64
	}{
		{0, 0, []float64{1, 1, 1, 1}},
		{26, 2, []float64{1, 1.5, 1, 1.5, 2, 2, 2, 2, 3, 3, 3, 3, 2, 2}},
		{10, 0, []float64{2, 1, 2, 3, 2, 1, 1, 4}},
	} {
		var took []float64 // first passes up, second ones down
		for i, s := range run.cases {
			took = append(took, s+run.verify)
			if i == 0 {
				took[0] += run.opening
			}
		}
		for i := range run.cases {
			took = append(took, run.cases[len(run.cases)-1-i])
		}
		left := 0.0
		for _, s := range took {
			left += s
		}
		var out bytes.Buffer
		s, _ := testState(t)
		now := time.Unix(0, 0)
		s.Now = func() time.Time { return now }
		s.Stderr = Stream{Writer: &out}
		p := newProgress(s, len(run.cases), 0, false, true)
		for i, seconds := range took {
			now = now.Add(time.Duration(seconds * float64(time.Second)))
			left -= seconds
			if part := (record.Part{Key: "a", Status: record.OK}); i < len(run.cases) {
				p.First(part)
			} else {
				p.Last(part)
			}
			told := p.left().Seconds()
			if i > 0 {
				require.LessOrEqual(t, told, 2*left+1, "%+v: pass %d", run, i)
				require.GreaterOrEqual(t, told, left/2-1, "%+v: pass %d", run, i)
			}
		}
		require.Regexp(t, `^\[first pass 1/\d+\] a: ok\n\[first pass 2/\d+, about .*s left\] a: ok\n`, out.String())
		require.Regexp(t, `\n\[(\d+)/\d+\] a: ok\n$`, out.String())
	}
}

// A run that is resumed in its second passes goes by these.
func TestProgressResumed(t *testing.T) {
	s, _ := testState(t)
	now := time.Unix(0, 0)
	s.Now = func() time.Time { return now }
	p := newProgress(s, 10, 4, true, false)
	now = now.Add(3 * time.Second)
	p.Last(record.Part{Key: "a"})
	require.Equal(t, 15*time.Second, p.left())
}
