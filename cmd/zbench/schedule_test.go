package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/bench/engine"
	"zbench/test/longtest"
)

// schedule is one fault at a random moment of a sweep in four processes: a signal to one of
// them, or a fault that is planted.
type schedule struct {
	rank   int
	signal syscall.Signal // 0: planted
	after  time.Duration
	plant  string
}

// drawSchedule draws a fault. Its moment can be any, the registration included.
func drawSchedule(rng *rand.Rand) schedule {
	s := schedule{rank: rng.IntN(4), after: time.Duration(rng.Float64() * float64(2*time.Second))}
	switch rng.IntN(10) {
	case 0, 1, 2, 3:
		s.signal = syscall.SIGKILL
	case 4, 5, 6:
		s.rank, s.signal = 1+rng.IntN(3), syscall.SIGSTOP
	case 7:
		s.plant = fmt.Sprintf("stuck_gpu:node=0,gpu=%d", s.rank)
	default: // the warm-up has 5 launches
		s.plant = fmt.Sprintf("hang:node=0,gpu=%d,bytes=%d,launch=%d", s.rank, 1<<(10+rng.IntN(12)), rng.IntN(5))
	}
	return s
}

// scheduled is what became of a schedule.
type scheduled struct {
	whole, right, wrong, untold bool
	took                        time.Duration
}

var (
	culpritRanks   = regexp.MustCompile(`; culprit: (ranks? [0-9–, ]+)`)
	culpritProcess = regexp.MustCompile(`lost process ([0-9]+)[: ].*before all had registered|missing: process ([0-9]+)\b|process ([0-9]+) ended early|culprit: process ([0-9]+)|GPUs of process ([0-9]+) on`)
)

// culprit is who an error accuses; empty if none is.
func culprit(stderr string) string {
	text := strings.Join(strings.Fields(stderr), " ")
	if m := culpritRanks.FindStringSubmatch(text); m != nil {
		return strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(m[1], "ranks"), "rank"))
	}
	if m := culpritProcess.FindStringSubmatch(text); m != nil {
		return strings.Join(m[1:], "")
	}
	return ""
}

// scheduleSweep is the sweep of all schedules.
var scheduleSweep = []string{"collectives", "all_reduce", "--backend", "loopback", "-b", "1K", "-e", "4M", "-c", "0", "-q"}

// runSchedule runs one, and holds what must hold after every fault: the run ends, nothing is
// left behind, nothing finished is lost, and the rest gives the figures of an undisturbed
// sweep.
func runSchedule(t *testing.T, zbench, whole string, s schedule) (out scheduled) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	args := append([]string{"--launch", "local", "--gpus-per-node", "4", "--out", dir}, deadlinesOf("3s")...)
	if s.plant != "" {
		args = append(args, "--fault", s.plant)
	}
	cmd := exec.Command(zbench, append(scheduleSweep, args...)...)
	cmd.Env = append(os.Environ(), epoch, "TMPDIR="+t.TempDir())
	stderr := filepath.Join(t.TempDir(), "stderr")
	file, err := os.Create(stderr)
	require.NoError(t, err)
	cmd.Stderr, cmd.SysProcAttr = file, &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var ranks map[int]int
	require.Eventually(t, func() bool { ranks = childrenOf(t, cmd.Process.Pid); return len(ranks) == 4 || len(ended) > 0 }, time.Minute, time.Millisecond)
	began := time.Now()
	if s.signal != 0 && len(ranks) == 4 {
		time.Sleep(s.after)
		began = time.Now()
		_ = syscall.Kill(ranks[s.rank], s.signal) // it may have ended
	}
	select {
	case err := <-ended:
		t.Log(err)
	case <-time.After(3 * time.Minute):
		_ = cmd.Process.Kill()
		t.Fatalf("%+v: the run hangs", s)
	}
	out.took = time.Since(began)
	require.Eventually(t, func() bool {
		for _, pid := range ranks {
			if syscall.Kill(pid, 0) == nil {
				return false
			}
		}
		return true
	}, time.Minute, 10*time.Millisecond, "%+v: processes are left", s)
	text, err := os.ReadFile(stderr)
	require.NoError(t, err)
	code := cmd.ProcessState.ExitCode()
	if out.whole = code == exit.OK; !out.whole && s.signal != syscall.SIGTERM {
		require.Equal(t, exit.Run, code, "%+v\n%s", s, text)
		who := culprit(string(text))
		out.right, out.untold = who == fmt.Sprint(s.rank), who == ""
		out.wrong = !out.right && !out.untold
		if !out.right {
			t.Logf("%+v: %s", s, text)
		}
	}
	if s.signal == syscall.SIGTERM && !out.whole && code != exit.Interrupted {
		// It came before the process could act on it.
		require.Equal(t, exit.Run, code, "%+v\n%s", s, text)
		require.Equal(t, fmt.Sprint(s.rank), culprit(string(text)), "%+v\n%s", s, text)
	}
	if _, err := os.Stat(filepath.Join(dir, engine.JournalFile)); err != nil || s.plant != "" {
		return out // nothing was measured yet, or the rest would meet the fault again
	}
	before := readBytes(t, dir, engine.JournalFile)
	again := exec.Command(zbench, "collectives", "--resume", dir, "--launch", "inproc", "-q")
	again.Env = append(os.Environ(), epoch)
	require.NoError(t, again.Run(), "%+v", s)
	after := strings.Split(readBytes(t, dir, engine.JournalFile), "\n")
	finished := strings.Split(before, "\n")
	for i, line := range finished[1 : len(finished)-1] {
		require.Equal(t, line, after[i+1], "%+v: a finished part is lost", s)
	}
	require.Equal(t, resultsIn(t, whole), resultsIn(t, dir), "%+v", s)
	return out
}

// deadlinesOf are all deadlines as flags.
func deadlinesOf(d string) (args []string) {
	for _, name := range deadlineFlags {
		args = append(args, "--"+name, d)
	}
	return args
}

// schedules runs n of them.
func schedules(t *testing.T, n int, draw func(*rand.Rand) schedule) {
	zbench := program(t)
	whole := filepath.Join(t.TempDir(), "whole")
	cmd := exec.Command(zbench, append(scheduleSweep, "--launch", "inproc", "--nodes", "1", "--gpus-per-node", "4", "--out", whole)...)
	cmd.Env = append(os.Environ(), epoch)
	require.NoError(t, cmd.Run())
	var right, wrong, untold, finished int
	var longest time.Duration
	var mu sync.Mutex
	t.Run("seeds", func(t *testing.T) {
		for seed := range n {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				s := draw(rand.New(rand.NewPCG(uint64(seed), 17))) //nolint:gosec // reproducible is what it is for
				out := runSchedule(t, zbench, whole, s)
				mu.Lock()
				defer mu.Unlock()
				right, wrong, untold, finished = right+ones(out.right), wrong+ones(out.wrong), untold+ones(out.untold), finished+ones(out.whole)
				longest = max(longest, out.took)
			})
		}
	})
	t.Logf("%d seeds: %d ended before the fault, culprit right %d, not told %d, wrong %d; longest end %.1f s", n, finished, right, untold, wrong, longest.Seconds())
	require.Zero(t, wrong)
	require.LessOrEqual(t, untold, n/20+1)
}

func ones(b bool) int {
	if b {
		return 1
	}
	return 0
}

// drawTerm is SIGTERM to one process at a random moment.
func drawTerm(rng *rand.Rand) schedule {
	return schedule{rank: rng.IntN(4), signal: syscall.SIGTERM, after: time.Duration(rng.Float64() * float64(2*time.Second))}
}

// A signal to one process at any moment ends all of them, with equal launches: the rest
// gives the figures of an undisturbed sweep.
func TestLongSignals(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	schedules(t, 10, drawTerm)
}

// Faults at any moment lose nothing, end the run and accuse no other process.
func TestLongFaultSchedules(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	schedules(t, 10, drawSchedule)
}

// The same at full size (make soak-sweeps).
func TestSoakSchedules(t *testing.T) {
	if *soakFor == 0 {
		t.Skip("make soak-sweeps runs it")
	}
	t.Run("signals", func(t *testing.T) { schedules(t, 200, drawTerm) })
	t.Run("faults", func(t *testing.T) { schedules(t, 100, drawSchedule) })
}
