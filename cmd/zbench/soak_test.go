package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/bench/engine"
)

// soakFor is how long `make soak-sweeps` runs; else there are a few sweeps.
var (
	soakFor  = flag.Duration("soak", 0, "run random sweeps for so long (make soak-sweeps)")
	soakSeed = flag.Uint64("soak-seed", 1, "the first sweep of the soak")
)

const soakFew = 8

// epoch is the time that every record of the soak carries.
const epoch = "SOURCE_DATE_EPOCH=1795219200"

// TestSoak runs random sweeps with random faults, cuts them off in every way
// that there is, as often as it likes, continues with them and holds the folder to
// that of the sweep that was left alone. Nothing may grow with the number of
// sweeps. A sweep that fails is named by its seed: -soak-seed runs it first.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector takes minutes; the commands' own tests run under it")
	}
	check, began := newSchemaCheck(t), time.Now()
	tally := map[string]int{}
	var first, half, last processUse
	n := uint64(0)
	for ; n < soakFew || time.Since(began) < *soakFor; n++ {
		seed := *soakSeed + n
		ok := t.Run(fmt.Sprint(seed), func(t *testing.T) { soakOnce(t, seed, check, tally) })
		if !ok {
			t.Fatalf("after %d sweeps; again with -soak-seed %d", n, seed)
		}
		last = last.now(t)
		if n < soakFew {
			first = last
		}
		if time.Since(began) < *soakFor/2 {
			half = last
		}
	}
	if *soakFor == 0 {
		return
	}
	t.Logf("%d sweeps in %s: %v\nafter %d sweeps %+v\nafter half %+v\nat the end %+v", n, time.Since(began).Round(time.Second), tally, soakFew, first, half, last)
	require.LessOrEqual(t, last.goroutines, first.goroutines)
	require.LessOrEqual(t, last.files, first.files)
	const some = 16 << 20
	require.Less(t, last.heap, half.heap+some)
	require.Less(t, last.resident, half.resident+some)
	require.Less(t, last.address, half.address+64*some)
}

// soakOnce runs one random sweep to its end, and once more with cuts.
func soakOnce(t *testing.T, seed uint64, check schemaCheck, tally map[string]int) {
	rng := rand.New(rand.NewPCG(seed, 3)) //nolint:gosec // reproducible is what it is for
	s := drawSweep(rng)
	defer func() {
		if t.Failed() {
			t.Logf("zbench %s", strings.Join(s.args, " "))
		}
	}()
	root := t.TempDir()
	whole, cut := filepath.Join(root, "whole"), filepath.Join(root, "cut")
	code, stderr := zbench(t, osFS{}, slices.Concat(s.args, []string{"--out", whole, "-q"})...)
	tally["sweeps"]++
	if s.usage {
		tally["refused"]++
		require.Equal(t, exit.Usage, code, stderr)
		require.NoDirExists(t, whole)
		return
	}
	check.soaked(t, s, whole, code)
	tally["cases"] += s.cases
	tally[fmt.Sprintf("exit %d", code)]++
	redraw(t, whole)
	args, cuts := slices.Concat(s.args, []string{"--out", cut}), 0
	for ; cuts < 6 && rng.IntN(3) > 0; cuts++ {
		how := pick(rng, cutters...)
		if !how.run(t, rng, args, cut) {
			break // it came to its end first
		}
		tally["cut by "+how.name]++
		args = []string{"collectives", "--resume", cut}
		if rng.IntN(2) == 0 {
			got, stderr := zbench(t, osFS{}, "report", cut) // what was left can be read
			require.Zero(t, got, stderr)
		}
	}
	if s.stuck || cuts == 0 {
		return // what a hang ended may go on: it is another sweep
	}
	got, stderr := zbench(t, osFS{}, "collectives", "--resume", cut, "-q")
	require.Equal(t, code, got, stderr)
	check.soaked(t, s, cut, got)
	sameFolder(t, whole, cut)
	tally["compared after cuts"]++
}

// redraw draws a folder again and expects the same.
func redraw(t *testing.T, dir string) {
	t.Helper()
	before := readBytes(t, dir, "report.html")
	code, stderr := zbench(t, osFS{}, "report", dir)
	require.Zero(t, code, stderr)
	require.True(t, before == readBytes(t, dir, "report.html"), "the page differs when it is drawn again") //nolint:testifylint // it would be printed
	code, stderr = zbench(t, osFS{}, "recommend", dir)
	require.Equal(t, exit.Want, code, stderr)
}

// cutters are the ways in which a sweep does not come to its end. run is true
// when it left something to resume.
var cutters = []struct {
	name string
	run  func(t *testing.T, rng *rand.Rand, args []string, dir string) bool
}{
	{"a signal", cutBySignal},
	{"a full disk", cutByFullDisk},
	{"SIGKILL", func(t *testing.T, rng *rand.Rand, args []string, dir string) bool {
		return cutByKill(t, rng, args, dir, syscall.SIGKILL)
	}},
	{"SIGTERM", func(t *testing.T, rng *rand.Rand, args []string, dir string) bool {
		return cutByKill(t, rng, args, dir, syscall.SIGTERM)
	}},
}

// tripwire does something when so many lines of progress were written.
type tripwire struct {
	bytes.Buffer
	left int
	do   func()
}

func (w *tripwire) Write(p []byte) (int, error) {
	if strings.HasPrefix(string(p), "[") {
		if w.left--; w.left == 0 {
			w.do()
		}
	}
	return w.Buffer.Write(p)
}

func cutBySignal(t *testing.T, rng *rand.Rand, args []string, dir string) bool {
	t.Helper()
	s, _ := testState(t, args...)
	signals := make(chan string, 1)
	stderr := &tripwire{left: 1 + rng.IntN(20), do: func() { signals <- "interrupt" }}
	s.Signals, s.Stderr = signals, Stream{Writer: stderr}
	s.Getenv = func(name string) string {
		return map[string]string{"SOURCE_DATE_EPOCH": epoch[len("SOURCE_DATE_EPOCH="):]}[name]
	}
	code := Main(context.Background(), s)
	require.Contains(t, []int{exit.OK, exit.Run, exit.Regression, exit.WrongData, exit.Want, exit.Interrupted}, code, stderr.String())
	require.FileExists(t, filepath.Join(dir, "results.json"))
	return true
}

func cutByFullDisk(t *testing.T, rng *rand.Rand, args []string, _ string) bool {
	t.Helper()
	left := rng.IntN(60)
	code, stderr := zbench(t, fullDisk{osFS{}, &left}, args...)
	if left < 0 {
		require.Equal(t, exit.Run, code, stderr)
		require.Contains(t, stderr, "no space left on device")
	}
	return true
}

// cutByKill runs the sweep in a process of its own and sends it a signal at some
// moment.
func cutByKill(t *testing.T, rng *rand.Rand, args []string, dir string, signal syscall.Signal) bool {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Args = append([]string{"zbench"}, args...)
	cmd.Env = append(os.Environ(), epoch)
	journal := filepath.Join(dir, engine.JournalFile)
	_, err = os.Stat(journal)
	fresh := err != nil
	require.NoError(t, cmd.Start())
	lines, deadline := rng.IntN(40), time.Now().Add(time.Duration(rng.IntN(400))*time.Millisecond)
	for time.Now().Before(deadline) {
		text, _ := os.ReadFile(journal)
		if bytes.Count(text, []byte("\n")) > lines {
			break
		}
		time.Sleep(time.Millisecond)
	}
	_ = cmd.Process.Signal(signal) // it may be over
	_ = cmd.Wait()                 // the exit code says more
	_, missing := os.Stat(journal)
	// Before zbench asks for signals, SIGTERM ends it as it ends any process.
	if code := cmd.ProcessState.ExitCode(); signal == syscall.SIGTERM && (code >= 0 || fresh && missing == nil) {
		require.Contains(t, []int{exit.OK, exit.Run, exit.Regression, exit.WrongData, exit.Want, exit.Interrupted}, code)
	}
	return missing == nil
}
