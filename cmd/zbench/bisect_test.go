package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/bisect"
	"zbench/bench/base/exit"
	"zbench/bench/base/stat"
	"zbench/bench/engine"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/test/longtest"
)

// inProcess is a child that has ended.
type inProcess struct {
	code int
	how  string
}

func (inProcess) Interrupt()            {}
func (inProcess) Ask(string)            {}
func (inProcess) Kill()                 {}
func (c inProcess) Wait() (int, string) { return c.code, c.how }

// bisectState runs zbench bisect with children that are planted. broken may return another
// child for a command, the n-th.
func bisectState(t *testing.T, broken func(c Command, n int) Child, args ...string) (s State, stdout, stderr *bytes.Buffer, commands *[]Command) {
	t.Helper()
	s, stdout = testState(t, append([]string{"bisect"}, args...)...)
	stderr, commands = &bytes.Buffer{}, &[]Command{}
	s.Stderr, s.Program = Stream{Writer: stderr}, []string{"zbench"}
	s.Start = func(c Command) (Child, error) {
		*commands = append(*commands, c)
		if broken != nil {
			if child := broken(c, len(*commands)); child != nil {
				return child, nil
			}
		}
		measured(t, c)
		return inProcess{how: "exit status 0"}, nil
	}
	return s, stdout, stderr, commands
}

// measured writes the record of a child that measured: 1 ms in each case, 5 % more at 1 MiB
// with a fault.
func measured(t *testing.T, c Command) {
	t.Helper()
	measuredBy(t, c, "")
}

// measuredBy is that with the backend of the record.
func measuredBy(t *testing.T, c Command, backend string) {
	t.Helper()
	text, err := os.ReadFile(c.Argv[3])
	require.NoError(t, err)
	want, err := spec.Read(text)
	require.NoError(t, err)
	rec := &record.Record{
		Schema: record.Schema, Simulated: true, Source: record.Source{Kind: record.Simulated, Backend: backend}, Spec: want,
		World: record.World{World: want.World, Ranks: 2},
	}
	for _, size := range want.Sweep.Sizes {
		seconds := 1e-3 * (1 + 1e-5*float64(want.Seed))
		if size == 1<<20 && slices.Contains(c.Argv, "--fault") {
			seconds *= 1.05
		}
		rec.Results = append(rec.Results, record.Result{
			Case: record.Case{Key: record.Key("all_reduce", "float", "sum", size, 2, 1, false), Status: record.OK}, Collective: "all_reduce", Dtype: "float", Op: "sum", Bytes: size,
			Burst: &record.Timing{MeanOfRanks: stat.Summarize([]float64{seconds, seconds, seconds})},
		})
	}
	dir := c.Argv[slices.Index(c.Argv, "--out")+1]
	require.NoError(t, os.MkdirAll(dir, 0o700))
	var b bytes.Buffer
	require.NoError(t, rec.WriteJSON(&b))
	require.NoError(t, os.WriteFile(filepath.Join(dir, engine.ResultsFile), b.Bytes(), 0o600))
}

// bisected are the arguments of a small search: c and d are slower in one case of two.
func bisected(out string, more ...string) []string {
	const slow = "--fault dip:from=1e6,to=1.5e6,times=1.05"
	return append([]string{
		"all_reduce", "--backend", "loopback", "--gpus-per-node", "2", "--sizes", "256K,1M", "--place", "out", "-c", "0", "--max-time", "0.002", "--out", out,
		"--variant", "a=", "--variant", "b=NCCL_X=1", "--variant", "c=" + slow, "--variant", "d=NCCL_Y=2 " + slow,
	}, more...)
}

func TestBisectNamesTheFirstSlowVariant(t *testing.T) {
	longtest.OneGoroutine(t)
	dir := filepath.Join(t.TempDir(), "out")
	s, stdout, stderr, commands := bisectState(t, nil, bisected(dir, "--fail-on", "slower")...)
	require.Equal(t, exit.Regression, Main(context.Background(), s), stderr)
	require.Contains(t, unfolded(stdout.String()), "SIMULATED: FIRST SLOW VARIANT: c. It is slower than b in 1 of 2 cases.")
	require.Contains(t, unfolded(stdout.String()), "1 MiB: +5.0 %")
	for _, c := range *commands {
		require.Equal(t, []string{"zbench", "collectives", "--spec", filepath.Join(dir, "child.json")}, c.Argv[:4])
		require.True(t, c.Control)
		require.NotNil(t, c.Output)
		slow := slices.Contains(c.Argv, "--fault")
		require.Equal(t, slow, strings.HasSuffix(c.Argv[len(c.Argv)-3], "-c") || strings.HasSuffix(c.Argv[len(c.Argv)-3], "-d"), c.Argv)
		require.Equal(t, strings.HasSuffix(c.Argv[len(c.Argv)-3], "-d"), slices.Contains(c.Environ, "NCCL_Y=2"), c.Argv)
	}
	for _, name := range []string{"bisect.json", "bisect.jsonl", "bisect.csv", "report.html", "drift.svg", "junit.xml", "run.json"} {
		require.FileExists(t, filepath.Join(dir, name))
	}

	// Once decided it is not measured again.
	before := readBytes(t, dir, bisectJournalFile)
	s, stdout, _, commands = bisectState(t, nil, "--resume", dir, "--format", "json")
	require.Equal(t, exit.OK, Main(context.Background(), s))
	require.Empty(t, *commands)
	require.Contains(t, stdout.String(), `"verdict": "slower"`)
	require.Equal(t, before, readBytes(t, dir, bisectJournalFile))
}

// Where the loopback ran, variants that differ by a variable of the libraries are not called the same: each is
// NOT CHECKED, with the variable's name.
func TestBisectOfVariablesOnTheLoopback(t *testing.T) {
	longtest.OneGoroutine(t)
	loopback := "loopback"
	start := func(c Command, _ int) Child {
		measuredBy(t, c, loopback)
		return inProcess{how: "exit status 0"}
	}
	search := func(out string) []string {
		return []string{"all_reduce", "--backend", "loopback", "--gpus-per-node", "2", "--sizes", "1M", "--place", "out", "-c", "0", "--out", out, "--vary", "NCCL_ALGO=Ring,Bogus"}
	}
	s, stdout, stderr, commands := bisectState(t, start, search(filepath.Join(t.TempDir(), "out"))...)
	require.Equal(t, exit.Want, Main(context.Background(), s), stderr)
	require.Len(t, *commands, 2)
	for _, name := range []string{"Ring", "Bogus"} {
		require.Contains(t, unfolded(stdout.String()), name+" is left out: NOT CHECKED: the loopback does not model NCCL_ALGO.")
	}
	require.NotContains(t, stdout.String(), "SAME")

	s, stdout, stderr, _ = bisectState(t, start, "all_reduce", "--backend", "loopback", "--gpus-per-node", "2", "--sizes", "1M", "--place", "out", "-c", "0",
		"--out", filepath.Join(t.TempDir(), "out"), "--fail-on", "slower", "--variant", "a=", "--variant", "b=", "--variant", "c=NCCL_ALGO=Ring")
	require.Equal(t, exit.Want, Main(context.Background(), s), "two are the same, the third is not checked: %s", stderr)
	require.Contains(t, unfolded(stdout.String()), "c is left out: NOT CHECKED")

	loopback = "rocm"
	s, stdout, stderr, _ = bisectState(t, start, search(filepath.Join(t.TempDir(), "out"))...)
	require.Equal(t, exit.OK, Main(context.Background(), s), stderr)
	require.NotContains(t, stdout.String(), "NOT CHECKED")

	require.Empty(t, unmodelled(&record.Record{Source: record.Source{Backend: "loopback"}}, []string{"NCCL_CUMEM_ENABLE=1", "PATH=/bin", "X=1"}))
}

// What was measured before an interruption is kept, and the search that continues ends as
// the one that was not interrupted.
func TestBisectContinues(t *testing.T) {
	longtest.OneGoroutine(t)
	whole, dir := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "out")
	s, _, stderr, _ := bisectState(t, nil, bisected(whole)...)
	require.Equal(t, exit.OK, Main(context.Background(), s), stderr)

	signals := make(chan string)
	gone := make(chan struct{})
	s, stdout, stderr, commands := bisectState(t, func(_ Command, n int) Child {
		if n == 4 { // the signal comes while it runs
			return &hanging{asked: gone, onWait: func() { signals <- "interrupt" }}
		}
		return nil
	}, bisected(dir)...)
	s.Signals = signals
	require.Equal(t, exit.Interrupted, Main(context.Background(), s), stderr)
	require.Len(t, *commands, 4)
	require.Contains(t, stderr.String(), "`zbench bisect --resume "+dir+"` continues")
	require.Contains(t, unfolded(stdout.String()), "UNCLEAR: 2 of 2 cases are not decided after 1 round.")
	require.Contains(t, readBytes(t, dir, "bisect.json"), `"complete": false`)

	s, _, stderr, _ = bisectState(t, nil, "--resume", dir)
	require.Equal(t, exit.OK, Main(context.Background(), s), stderr)
	variants := func(at string) (out []string) {
		_, entries, err := bisect.ReadJournal([]byte(readBytes(t, at, bisectJournalFile)))
		require.NoError(t, err)
		for _, e := range entries {
			out = append(out, fmt.Sprint(e.Round, e.Variant, e.Times))
		}
		return out
	}
	require.Equal(t, variants(whole), variants(dir))

	// A line that was being written does not count; a damaged one is named.
	text := readBytes(t, dir, bisectJournalFile)
	require.NoError(t, os.WriteFile(filepath.Join(dir, bisectJournalFile), []byte(text[:len(text)-9]), 0o600))
	s, _, stderr, commands = bisectState(t, nil, "--resume", dir)
	require.Equal(t, exit.OK, Main(context.Background(), s), stderr)
	require.Len(t, *commands, 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, bisectJournalFile), []byte(strings.Replace(text, `"round":0`, `"round":1`, 1)), 0o600))
	s, _, stderr, _ = bisectState(t, nil, "--resume", dir)
	require.Equal(t, exit.Run, Main(context.Background(), s))
	require.Contains(t, stderr.String(), "line 2: the line is damaged")
	require.Contains(t, stderr.String(), "sed -i '2,$d' "+filepath.Join(dir, bisectJournalFile)+" keeps only those")
}

// hanging is a child that does nothing until it is asked, or killed.
type hanging struct {
	asked  chan struct{}
	killed chan struct{}
	onWait func()
}

func (h *hanging) Interrupt() {}

func (h *hanging) Ask(string) {
	if h.asked != nil {
		close(h.asked)
	}
}

func (h *hanging) Kill() { close(h.killed) }

func (h *hanging) Wait() (int, string) {
	if h.onWait != nil {
		go h.onWait()
	}
	select {
	case <-h.asked:
		return exit.Interrupted, "exit status 130"
	case <-h.killed:
		return -1, "signal: killed"
	}
}

// A variant that crashes, fails, has wrong data or hangs is left out with what its child
// printed; the others are searched.
func TestBisectLeavesOutWhatBreaks(t *testing.T) {
	longtest.OneGoroutine(t)
	for _, x := range []struct {
		child Child
		says  string
	}{
		{inProcess{-1, "signal: aborted (core dumped)"}, "its child run ended early: signal: aborted (core dumped)"},
		{inProcess{exit.Run, "exit status 1"}, "its child run failed (exit code 1)"},
		{inProcess{exit.WrongData, "exit status 4"}, "its results were wrong (exit code 4)"},
		{inProcess{exit.Unavailable, "exit status 5"}, "its libraries or devices could not be used (exit code 5)"},
		{inProcess{exit.OK, "exit status 0"}, "its record cannot be read: "},
	} {
		dir := filepath.Join(t.TempDir(), "out")
		s, stdout, stderr, commands := bisectState(t, func(c Command, _ int) Child {
			if !slices.Contains(c.Environ, "NCCL_Y=2") {
				return nil
			}
			_, err := io.WriteString(c.Output, "first line\nlibrccl: \x1b[31massertion failed\n")
			require.NoError(t, err)
			return x.child
		}, bisected(dir, "--fail-on", "slower:50%", "-q")...)
		require.Equal(t, exit.Regression, Main(context.Background(), s), "a variant that breaks fails the gate: %s", stderr)
		require.Contains(t, unfolded(stdout.String()), "d is left out: ", x.says)
		require.Contains(t, unfolded(stdout.String()), x.says)
		require.Contains(t, unfolded(stdout.String()), `first line | librccl: \u001b[31massertion failed`)
		require.Contains(t, unfolded(stdout.String()), "FIRST SLOW VARIANT: c.")
		tried := 0
		for _, c := range *commands {
			if slices.Contains(c.Environ, "NCCL_Y=2") {
				tried++
			}
		}
		require.Equal(t, 1, tried, "once is enough")
	}
}

// A child that does not end is asked to stop, then killed with all of its process group, and
// its variant is left out. The clock is the test's, the processes are real.
func TestBisectEndsAChildThatHangs(t *testing.T) {
	at := func(time.Duration) (<-chan time.Time, func() bool) {
		now := make(chan time.Time, 1)
		now <- time.Time{}
		return now, func() bool { return false }
	}
	s := State{Getenv: func(string) string { return "" }, Environ: func() []string { return nil }, Program: []string{"/bin/sh"}, Start: func(c Command) (Child, error) { return startProcess(c, nil, nil) }}
	code, how, _, err := ownChild{
		args: []string{"-c", "trap '' TERM INT; sleep 100000"}, limit: 7 * time.Second, limitedBy: "--child-timeout", kept: 100, timer: at,
	}.run(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, "its child run ended early: not done after 7s (--child-timeout)", failure(code, how))
}

func TestBisectDeadline(t *testing.T) {
	b := &bisecting{}
	require.Equal(t, firstTimeout, b.deadline())
	b.longest = 2 * time.Second
	require.Equal(t, leastTimeout, b.deadline())
	b.longest = time.Minute
	require.Equal(t, 5*time.Minute, b.deadline())
	b.timeout = 3 * time.Second
	require.Equal(t, 3*time.Second, b.deadline())
}

func TestBisectRefuses(t *testing.T) {
	for _, x := range []struct{ args, says string }{
		{"--variant a=", "at least two variants, got 1"},
		{"--variant a= --variant a=", "two variants have the name a"},
		{"--variant a --variant b=", `"a": it must begin with a name`},
		{"--variant a= --variant b=--nodes=2", "--nodes is for all variants"},
		{"--variant a= --variant b=--bogus", "unknown flag: --bogus"},
		{"--variant a= --variant b=word", `"word" is neither VARIABLE=value nor a flag`},
		{"--variant a= --variant b= --timing never", "timing"},
		{"--variant a= --variant b= --fail-on faster", "--fail-on"},
		{"--variant a= --variant b= --fail-on slower --unordered", "exclude each other"},
		{"--variant a= --variant b= --max-rounds 0", "--max-rounds 0"},
		{"--variant a= --variant b= --child-timeout -1", "--child-timeout -1"},
		{"--variant a= --variant b= --dry-run", "bisect has no --dry-run"},
		{"--variant a= --variant b= --sizes 1M -b 1K", "exclude each other"},
		{"--variant a= --variant b= --format html", "html"},
		{"--variant a= --resume out", "--variant cannot change"},
		{"--vary NCCL_ALGO=Ring", "it has one value"},
		{"--vary NCCL_ALGO", "neither a variable"},
		{"--vary nodes=1,2", "--nodes is for all variants"},
		{"--vary NCCL_ALGO=Ring,^Tree", `the value "^Tree" cannot name a variant`},
		{"--vary NCCL_ALGO=Ring,Ring", "two variants have the name Ring"},
		{"--vary NCCL_ALGO=Ring,Tree --fail-on slower", "--vary implies"},
		{"--resume nowhere", ""},
	} {
		s, _, stderr, commands := bisectState(t, nil, append(strings.Fields(x.args), "--backend", "loopback", "--out", filepath.Join(t.TempDir(), "o"))...)
		if strings.HasPrefix(x.args, "--resume") {
			s.Args = append([]string{"bisect"}, strings.Fields(x.args)...)
		}
		code := Main(context.Background(), s)
		require.Contains(t, []int{exit.Usage, exit.Run}, code, x.args)
		require.Contains(t, stderr.String(), x.says, x.args)
		require.Empty(t, *commands, x.args)
	}
}

// A list of values of one variable, or of one flag, is a variant for each, and they are ranked.
func TestBisectVariesOneKnob(t *testing.T) {
	longtest.OneGoroutine(t)
	for _, x := range []struct {
		args, variants string
		ordered        bool
	}{
		{"--vary NCCL_ALGO=Ring,Tree", "Ring: NCCL_ALGO=Ring|Tree: NCCL_ALGO=Tree", false},
		{"--vary --cache=cold,warm", "cold: --cache=cold|warm: --cache=warm", false},
		{"--vary NCCL_NTHREADS=256,512 --unordered=false", "256: NCCL_NTHREADS=256|512: NCCL_NTHREADS=512", true},
		{"--variant base= --vary cache=cold,warm", "base: |cold: --cache=cold|warm: --cache=warm", false},
	} {
		dir := filepath.Join(t.TempDir(), "o")
		s, _, stderr, _ := bisectState(t, nil, append(strings.Fields(x.args), "all_reduce", "--backend", "loopback", "--gpus-per-node", "2", "--sizes", "64K,1M", "--place", "out", "--out", dir)...)
		require.Equal(t, exit.OK, Main(context.Background(), s), stderr.String())
		text, err := os.ReadFile(filepath.Join(dir, "bisect.json"))
		require.NoError(t, err)
		var d struct {
			Ordered  bool
			Variants []struct{ Name, Settings string }
		}
		require.NoError(t, json.Unmarshal(text, &d))
		var got []string
		for _, v := range d.Variants {
			got = append(got, v.Name+": "+v.Settings)
		}
		require.Equal(t, x.variants, strings.Join(got, "|"))
		require.Equal(t, x.ordered, d.Ordered)
	}
}
