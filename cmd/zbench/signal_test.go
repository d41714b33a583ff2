package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/bench/run/record"
	"zbench/test/longtest"
)

// signalling sends a signal when the third case has been reported.
type signalling struct {
	bytes.Buffer
	signals chan<- string
}

func (w *signalling) Write(p []byte) (int, error) {
	if strings.HasPrefix(string(p), "[3/") {
		w.signals <- "interrupt"
		// The receiver cancels before the sweep, which is short, continues.
		time.Sleep(100 * time.Millisecond)
	}
	return w.Buffer.Write(p)
}

func testState(t *testing.T, args ...string) (State, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	return hosts[0].plant(State{
		Program: []string{""}, // no process can be started
		Args:    args, Getenv: func(string) string { return "" }, Environ: func() []string { return nil }, Stdin: strings.NewReader(""),
		Stdout: Stream{Writer: &out}, Stderr: Stream{Writer: &bytes.Buffer{}},
		Now: time.Now, FS: osFS{}, Hostname: func() string { return "test" },
		Exit: func(code int) { t.Errorf("exit %d", code) },
	}), &out
}

// The first signal ends the sweep; what was finished is saved, the rest says
// interrupted, and the exit code is 130.
func TestLongSignalSavesWhatIsFinished(t *testing.T) {
	longtest.OnlyOrDetected(t)
	dir := filepath.Join(t.TempDir(), "out")
	s, _ := testState(t, "collectives", "--progress", "--nodes", "4", "--out", dir)
	signals := make(chan string, 2)
	stderr := &signalling{signals: signals}
	s.Signals, s.Stderr = signals, Stream{Writer: stderr}
	require.Equal(t, exit.Interrupted, Main(context.Background(), s))
	require.Contains(t, stderr.String(), "interrupted")
	text, err := s.FS.ReadFile(filepath.Join(dir, "results.json"))
	require.NoError(t, err)
	rec, err := record.Decode(bytes.NewReader(text))
	require.NoError(t, err)
	require.Len(t, rec.Results, 144)
	count := map[record.Status]int{}
	for _, r := range rec.Results {
		count[r.Status]++
	}
	require.GreaterOrEqual(t, count[record.OK], 1)
	require.Greater(t, count[record.Interrupted], 100)
	html, err := s.FS.ReadFile(filepath.Join(dir, "report.html"))
	require.NoError(t, err)
	require.Contains(t, strings.ToLower(string(html)), "interrupted")
}

// The second signal ends the process at once.
func TestSecondSignalExits(t *testing.T) {
	s, _ := testState(t)
	signals := make(chan string, 2)
	code := make(chan int, 1)
	s.Signals, s.Exit = signals, func(c int) { code <- c }
	done := make(chan struct{})
	defer close(done)
	ctx, cancel := context.WithCancelCause(context.Background())
	go watch(s, &subprocesses{}, cancel, done)
	signals <- "interrupt"
	<-ctx.Done()
	require.ErrorIs(t, context.Cause(ctx), context.Canceled)
	signals <- "interrupt"
	require.Equal(t, exit.Interrupted, <-code)
}
