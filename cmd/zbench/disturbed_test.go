package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/engine"
	"zbench/bench/exit"
	"zbench/bench/record"
	"zbench/test/longtest"
)

// disturbance is a signal to processes of a sweep, at some moment.
type disturbance struct {
	processes int // 8 or 16
	signal    syscall.Signal
	whom      string
	rank      int // of a follower
	// lines is the length of the journal at that moment, −1 for a time since the start; after is
	// what passes besides.
	lines int
	after time.Duration
	// thaw is when all that were frozen, the parent included, continue; 0 is never: then two
	// interrupts end the parent.
	thaw time.Duration
}

// Whom a signal goes to.
const (
	toLeader   = "leader"
	toFollower = "follower"
	toAll      = "all"
)

// disturbances are the kinds of them, in a fixed order: signal, whom, number of processes.
func disturbances() (all []disturbance) {
	for _, processes := range []int{8, 16} {
		for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGINT} {
			for _, whom := range []string{toLeader, toFollower, toAll} {
				all = append(all, disturbance{processes: processes, signal: signal, whom: whom})
			}
		}
	}
	return all
}

// disturbedSweep has 26 cases, so 53 lines in its journal.
var disturbedSweep = []string{"collectives", "all_reduce", "--backend", "loopback", "-b", "1K", "-e", "4M", "-q"}

const disturbedLines = 53

// drawDisturbance is that of a seed: its kind by turns, its moment at random.
func drawDisturbance(seed int) disturbance {
	kinds := disturbances()
	d := kinds[seed%len(kinds)]
	rng := rand.New(rand.NewPCG(uint64(seed), 33)) //nolint:gosec // reproducible is what it is for
	d.rank, d.lines = 1+rng.IntN(d.processes-1), -1
	if d.signal == syscall.SIGINT && rng.IntN(2) == 0 {
		d.signal = syscall.SIGTERM
	}
	if rng.IntN(3) == 0 {
		d.after = time.Duration(rng.Float64() * float64(time.Second))
	} else {
		d.lines, d.after = rng.IntN(disturbedLines+1), time.Duration(rng.Float64()*float64(50*time.Millisecond))
	}
	if rng.IntN(2) == 0 {
		d.thaw = time.Second + time.Duration(rng.Float64()*float64(5*time.Second))
	}
	return d
}

// deadlines are short for what a signal brings about, and for a suspended job: a busy machine must
// not miss the others.
func (d *disturbance) deadlines() []string {
	batch := "20s"
	if d.signal == syscall.SIGSTOP && d.whom == toAll && d.thaw > 0 {
		batch = "3s"
	}
	return []string{"--join-timeout", "20s", "--heartbeat", "3s", "--first-timeout", batch, "--batch-timeout", batch}
}

// disturbed is a sweep that runs.
type disturbed struct {
	disturbance
	cmd    *exec.Cmd
	dir    string
	stderr string
	ended  chan struct{}
	ranks  map[int]int // process ids, as far as they have been seen
}

// startDisturbed starts the sweep, or resumes it.
func startDisturbed(t *testing.T, zbench, dir string, d disturbance, args ...string) *disturbed {
	t.Helper()
	r := &disturbed{disturbance: d, dir: dir, stderr: filepath.Join(t.TempDir(), "stderr"), ended: make(chan struct{}), ranks: map[int]int{}}
	r.cmd = exec.Command(zbench, append(args, "--launch", "local")...)
	r.cmd.Env = append(os.Environ(), epoch, "TMPDIR="+t.TempDir())
	file, err := os.Create(r.stderr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() })
	r.cmd.Stderr, r.cmd.SysProcAttr = file, &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, r.cmd.Start())
	go func() {
		_ = r.cmd.Wait() // the code tells
		close(r.ended)
	}()
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		_ = r.cmd.Process.Kill() // with what is left, frozen or not
		for _, pid := range r.ranks {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return r
}

func (r *disturbed) over() bool {
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

// until waits for something, or for the end of the run.
func (r *disturbed) until(t *testing.T, met func() bool) {
	t.Helper()
	for late := time.Now().Add(time.Minute); !r.over() && !met(); time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(late), "%+v: the sweep does not go on", r.disturbance)
	}
}

// moment waits for that of the signal.
func (r *disturbed) moment(t *testing.T) {
	t.Helper()
	if r.lines >= 0 {
		r.until(t, func() bool {
			text, _ := os.ReadFile(filepath.Join(r.dir, engine.JournalFile))
			return strings.Count(string(text), "\n") >= r.lines
		})
	}
	time.Sleep(r.after)
	r.until(t, func() bool {
		maps.Copy(r.ranks, childrenOf(t, r.cmd.Process.Pid))
		_, there := r.ranks[r.rank]
		return there && len(r.ranks) > 1 && r.ranks[0] != 0
	})
}

// send sends a signal to the processes that the disturbance names; to all means the parent too,
// unless the ranks alone are frozen for ever.
func (r *disturbed) send(signal syscall.Signal) {
	to := map[string][]int{toLeader: {r.ranks[0]}, toFollower: {r.ranks[r.rank]}, toAll: {}}[r.whom]
	if r.whom == toAll {
		for _, pid := range r.ranks {
			to = append(to, pid)
		}
		if r.signal != syscall.SIGSTOP || r.thaw > 0 {
			to = append(to, r.cmd.Process.Pid)
		}
	}
	for _, pid := range to {
		if pid > 0 {
			_ = syscall.Kill(pid, signal) // it may have ended
		}
	}
}

// ends waits for the end of the run and of all its processes.
func (r *disturbed) ends(t *testing.T, within time.Duration) {
	t.Helper()
	select {
	case <-r.ended:
	case <-time.After(within):
		t.Fatalf("%+v: the run hangs: %s", r.disturbance, readBytes(t, r.stderr))
	}
	require.Eventually(t, func() bool {
		for _, pid := range r.ranks {
			if syscall.Kill(pid, 0) == nil {
				return false
			}
		}
		return true
	}, time.Minute, 10*time.Millisecond, "%+v: processes are left", r.disturbance)
}

// disturb carries the disturbance out and waits for the end.
func (r *disturbed) disturb(t *testing.T) {
	t.Helper()
	r.moment(t)
	r.send(r.signal)
	switch {
	case r.signal != syscall.SIGSTOP || r.whom != toAll:
		r.ends(t, 2*time.Minute)
	case r.thaw > 0:
		time.Sleep(r.thaw)
		r.send(syscall.SIGCONT)
		r.ends(t, 2*time.Minute)
	default:
		for range 2 {
			time.Sleep(500 * time.Millisecond)
			_ = r.cmd.Process.Signal(syscall.SIGINT) // it may have ended
		}
		r.ends(t, 10*time.Second)
	}
}

// runDisturbed disturbs a sweep and holds that it ends, that --resume measures every case that is
// not finished, and no other, and that the figures are those of an undisturbed sweep. It returns
// whether the sweep came to its end first.
func runDisturbed(t *testing.T, zbench, whole string, d disturbance) (first bool) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	begin := slices.Concat(disturbedSweep, []string{"--nodes", fmt.Sprint(d.processes / 8), "--gpus-per-node", "8", "--out", dir, "--force"})
	r := startDisturbed(t, zbench, dir, d, slices.Concat(begin, d.deadlines())...)
	r.disturb(t)
	first = r.cmd.ProcessState.ExitCode() == exit.OK
	before, again := "", begin
	if _, err := os.Stat(filepath.Join(dir, engine.JournalFile)); err == nil {
		before, again = readBytes(t, dir, engine.JournalFile), []string{"collectives", "--resume", dir, "-q"}
	}
	next := startDisturbed(t, zbench, dir, d, again...)
	next.ends(t, 2*time.Minute)
	require.Equal(t, exit.OK, next.cmd.ProcessState.ExitCode(), "%+v: %s%s", d, readBytes(t, r.stderr), readBytes(t, next.stderr))
	if lines := strings.Split(before, "\n"); len(lines) > 1 {
		after := strings.Split(readBytes(t, dir, engine.JournalFile), "\n")
		require.Equal(t, lines[1:len(lines)-1], after[1:len(lines)-1], "%+v: a finished part is lost", d)
	}
	require.Equal(t, resultsIn(t, whole), resultsIn(t, dir), "%+v", d)
	return first
}

// resultsIn are those of a folder.
func resultsIn(t *testing.T, dir string) []record.Result {
	t.Helper()
	rec, err := record.Decode(strings.NewReader(readBytes(t, dir, "results.json")))
	require.NoError(t, err)
	return rec.Results
}

// disturbAll runs seeds.
func disturbAll(t *testing.T, seeds []int) {
	zbench := program(t)
	whole := map[int]string{}
	for _, processes := range []int{8, 16} {
		whole[processes] = filepath.Join(t.TempDir(), fmt.Sprint(processes))
		cmd := exec.Command(zbench, slices.Concat(disturbedSweep, []string{"--launch", "inproc", "--nodes", fmt.Sprint(processes / 8), "--gpus-per-node", "8", "--out", whole[processes]})...)
		cmd.Env = append(os.Environ(), epoch)
		require.NoError(t, cmd.Run())
		require.Len(t, strings.Split(readBytes(t, whole[processes], engine.JournalFile), "\n"), disturbedLines+1)
		for _, r := range resultsIn(t, whole[processes]) {
			require.Equal(t, record.OK, r.Status)
		}
	}
	first, passed := 0, 0
	var mu sync.Mutex
	t.Run("seeds", func(t *testing.T) {
		for _, seed := range seeds {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				d := drawDisturbance(seed)
				end := runDisturbed(t, zbench, whole[d.processes], d)
				mu.Lock()
				defer mu.Unlock()
				first, passed = first+ones(end), passed+1
			})
		}
	})
	t.Logf("%d runs: %d ended, were resumed and are equal; %d of them came to their end before the signal or in spite of it", len(seeds), passed, first)
}

// Kill, freeze and interrupt of rank 0, of another rank and of all, in 8 and 16 processes: no run
// hangs, nothing is lost, and the resumed sweep is the undisturbed one.
func TestLongDisturbedSweeps(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	var seeds []int
	for kind := range 9 { // with 8 processes and 16 by turns
		seeds = append(seeds, kind+9*(kind%2))
	}
	disturbAll(t, seeds)
}

// The same with 100 seeds (make soak).
func TestSoakDisturbedSweeps(t *testing.T) {
	if *soakFor == 0 {
		t.Skip("make soak runs it")
	}
	seeds := make([]int, 100)
	for i := range seeds {
		seeds[i] = i
	}
	disturbAll(t, seeds)
}
