package main

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clipperhouse/displaywidth"
	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/bench/run/record"
	"zbench/test/golden"
	"zbench/test/longtest"
)

// surroundings are where text for people is printed.
type surroundings struct {
	name  string
	as    string // whose golden it has, where that is another's
	width int
	tty   bool
	env   map[string]string
}

var terminals = []surroundings{
	{name: "60", width: 60, tty: true, env: map[string]string{"NO_COLOR": "1"}},
	{name: "80", width: 80, tty: true, env: map[string]string{"NO_COLOR": "1"}},
	{name: "120", width: 120, tty: true, env: map[string]string{"NO_COLOR": "1"}},
	{name: "200", width: 200, tty: true, env: map[string]string{"NO_COLOR": "1"}},
	{name: "piped", as: "80"},
	{name: "dumb", as: "80", width: 80, tty: true, env: map[string]string{"TERM": "dumb"}},
	{name: "colour", width: 80, tty: true, env: map[string]string{"TERM": "xterm-256color"}},
}

// printedOn is what people see of a sweep there.
func printedOn(t *testing.T, on surroundings, r shownRecord) string {
	t.Helper()
	s, out := testState(t)
	s.Stdout = Stream{Writer: out, IsTTY: on.tty, Width: on.width}
	s.Getenv = func(name string) string { return on.env[name] }
	s.Stdout = s.Stdout.escaping(func() {})
	require.NoError(t, s.show(r.document(s.Stdout.columns()), output{format: "table"}))
	return out.String()
}

// sweptAs runs a sweep and returns what it left.
func sweptAs(t *testing.T, code int, line string) (r shownRecord, stdout string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	s, out := testState(t, append(strings.Fields(line), "-q", "--out", dir)...)
	var talk bytes.Buffer
	s.Stderr = Stream{Writer: &talk}
	require.Equal(t, code, Main(context.Background(), s), "%s: %s", line, talk.String())
	f, err := os.Open(filepath.Join(dir, "results.json"))
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	rec, err := record.Decode(f)
	require.NoError(t, err)
	return shownRecord{Record: rec, advice: readAdvice(s, dir, rec), folder: "zbench-collectives-20261120-093000"}, out.String()
}

// lastLines are the last n lines of a text.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// The bare command on 128 nodes fits on a screen of 80 columns with the
// recommendation at its end, and on no terminal is a line wrapped.
func TestLongScreenOfTheDefaultSweep(t *testing.T) {
	longtest.Only(t)
	besideScripts(t)
	r, _ := sweptAs(t, exit.OK, "collectives --nodes 128")
	for _, on := range terminals {
		golden.Equal(t, "screen/"+cmp.Or(on.as, on.name)+".txt", printedOn(t, on, r))
	}
	fitsScreens(t, r, "keep --ddp-bucket-size at its default, 1.02 G elements", "A size gains 1 % or more", "AMD's target")
}

// So does a sweep of two nodes.
func TestLongScreenOfASmallSweep(t *testing.T) {
	longtest.Only(t)
	r, _ := sweptAs(t, exit.OK, "collectives --nodes 2 -b 64K -e 4G -f 8 --place in")
	fitsScreens(t, r, "--ddp-bucket-size")
}

// fitsScreens looks at a sweep on every terminal and at every width: its end says the
// recommendation and these phrases of it.
func fitsScreens(t *testing.T, r shownRecord, phrases ...string) {
	t.Helper()
	for _, on := range terminals {
		got := printedOn(t, on, r)
		last := lastLines(got, 12*max(80, on.width)/max(60, on.width))
		if on.width == 0 {
			last = lastLines(got, 12)
		}
		require.Contains(t, last, "Bucket size, assuming Llama", on.name)
		for _, says := range append(phrases, "Low confidence", "SIMULATED", "Next, for your model: zbench recommend ") {
			require.Contains(t, unfolded(last), says, on.name)
		}
		require.Equal(t, on.name == "colour", strings.Contains(got, "\x1b"), on.name)
		if on.width == 80 || on.width == 0 {
			require.LessOrEqual(t, strings.Count(got, "\n"), tallest, on.name)
		}
	}
	for width := minWidth; width <= 220; width += 7 {
		keepsTo(t, width, r)
	}
}

// keepsTo checks that no line is wider than the terminal.
func keepsTo(t *testing.T, width int, r shownRecord) {
	t.Helper()
	for line := range strings.Lines(printedOn(t, surroundings{width: width, tty: true, env: map[string]string{"NO_COLOR": "1"}}, r)) {
		require.LessOrEqual(t, displaywidth.String(strings.TrimSuffix(line, "\n")), width, line)
	}
}

// Splits, several element types and more collectives than fit keep to the width, too.
func TestLongScreenKeepsToTheWidth(t *testing.T) {
	longtest.Only(t)
	besideScripts(t)
	for line, code := range map[string]int{
		"collectives --nodes 4 -b 64K -e 64M -f 32 --groups 2,4,8 --strides 2,8 --scale 1,2":                                                  exit.OK,
		"collectives all_reduce reduce_scatter all_gather broadcast reduce all_to_all send_recv gather scatter --nodes 2 -b 64K -e 64M -f 32": exit.OK,
		"collectives all_reduce -b 64K -e 64M -f 32":                                                                                          exit.OK,
		"collectives all_reduce -b 64K -e 64M -f 32 --nodes 2 --fault flaky_link:node=1,part=0.1,times=4":                                     exit.Regression,
	} {
		r, _ := sweptAs(t, code, line)
		for _, width := range []int{60, 80, 120, 200} {
			keepsTo(t, width, r)
		}
	}
}
