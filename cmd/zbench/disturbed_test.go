package main

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/bench/engine"
	"zbench/bench/run/record"
	"zbench/test/longtest"
)

// disturbance is what happens to processes of a sweep, at some moment.
type disturbance struct {
	processes int // 1 to 16
	what      string
	signal    syscall.Signal // 0 for a full disk and a clock that steps
	whom      string
	rank      int // of a follower
	// lines is the length of the journal at that moment, −1 for a time since the start; after is
	// what passes besides.
	lines int
	after time.Duration
	// step is how far a clock steps.
	step time.Duration
	// thaw is when all that were frozen, the parent included, continue; 0 is never: then two
	// interrupts end the parent.
	thaw time.Duration
}

// Whom a disturbance meets. The parent starts the processes and takes no part.
const (
	toLeader   = "leader"
	toFollower = "follower"
	toAll      = "all"
	toParent   = "parent"
	toStarters = "parent and leader"
)

// What happens. Killed early is killed before the journal is there.
const (
	wasKilled      = "killed"
	wasKilledEarly = "killed early"
	wasFrozen      = "frozen"
	wasInterrupted = "interrupted"
	hadFullDisk    = "disk full"
	hadClockStep   = "clock steps"
)

// disturbances are the kinds of them, in a fixed order. A full disk is the leader's: no other
// process writes files.
func disturbances() (all []disturbance) {
	for _, kind := range []struct {
		what   string
		signal syscall.Signal
		whom   []string
	}{
		{wasKilled, syscall.SIGKILL, []string{toLeader, toFollower, toAll}},
		{wasFrozen, syscall.SIGSTOP, []string{toLeader, toFollower, toAll}},
		{wasInterrupted, syscall.SIGINT, []string{toLeader, toFollower, toAll}},
		{wasKilledEarly, syscall.SIGKILL, []string{toLeader, toFollower, toParent, toStarters}},
		{hadFullDisk, 0, []string{toLeader}},
		{hadClockStep, 0, []string{toLeader, toFollower}},
	} {
		for _, whom := range kind.whom {
			all = append(all, disturbance{what: kind.what, signal: kind.signal, whom: whom})
		}
	}
	return all
}

// flagsOfWorld are the flags for a world of so many processes: nodes of at most 8, or one process for 8 GPUs.
func flagsOfWorld(processes int) []string {
	nodes, gpus := 1, processes
	for nodes*gpus != processes || gpus > 8 {
		nodes++
		gpus = processes / nodes
	}
	if processes == 1 {
		gpus = 8
	}
	return []string{"--nodes", fmt.Sprint(nodes), "--gpus-per-node", fmt.Sprint(gpus)}
}

// disturbedSweep has 26 cases, so 53 lines in its journal.
var disturbedSweep = []string{"collectives", "all_reduce", "--backend", "loopback", "-b", "1K", "-e", "4M", "-c", "0", "-q"}

const disturbedLines = 53

// drawDisturbance is that of a seed: its kind by turns, the rest at random.
func drawDisturbance(seed int) disturbance {
	kinds := disturbances()
	d := kinds[seed%len(kinds)]
	rng := rand.New(rand.NewPCG(uint64(seed), 33)) //nolint:gosec // reproducible is what it is for
	d.processes, d.lines = 1+rng.IntN(16), -1
	if d.processes == 1 && d.whom != toLeader {
		d.processes = 2
	}
	d.rank = 1 + rng.IntN(max(d.processes-1, 1))
	if d.signal == syscall.SIGINT && rng.IntN(2) == 0 {
		d.signal = syscall.SIGTERM
	}
	switch {
	case d.what == wasKilledEarly:
		u := rng.Float64() // an idle machine starts all within 50 ms
		d.after = time.Duration(u * u * float64(150*time.Millisecond))
	case rng.IntN(3) == 0 && d.what != hadFullDisk:
		d.after = time.Duration(rng.Float64() * float64(time.Second))
	default:
		d.lines, d.after = rng.IntN(disturbedLines+1), time.Duration(rng.Float64()*float64(50*time.Millisecond))
	}
	if rng.IntN(2) == 0 || d.processes == 1 { // nothing would end one that is frozen alone
		d.thaw = time.Second + time.Duration(rng.Float64()*float64(5*time.Second))
	}
	d.step = time.Duration((rng.Float64()*2 - 1) * float64(time.Second) * math.Pow(10, 9*rng.Float64())) // to 30 years
	return d
}

// frozenForEver reports that no process but the parent can do anything.
func (d *disturbance) frozenForEver() bool {
	return d.signal == syscall.SIGSTOP && d.thaw == 0 && d.whom == toAll
}

// deadlines are short for what a signal brings about, and for a suspended job: a busy machine must
// not miss the others.
func (d *disturbance) deadlines() []string {
	batch := "20s"
	if d.signal == syscall.SIGSTOP && (d.whom == toAll || d.processes == 1) && d.thaw > 0 {
		batch = "3s"
	}
	return []string{"--join-timeout", joinTimeout.String(), "--heartbeat", "3s", "--first-timeout", batch, "--batch-timeout", batch}
}

// joinTimeout is longer than a busy machine takes to start all.
const joinTimeout = 20 * time.Second

// disturbed is a sweep that runs.
type disturbed struct {
	disturbance
	cmd    *exec.Cmd
	dir    string
	stderr string
	ended  chan struct{}
	code   int         // once it has ended
	ranks  map[int]int // process ids, as far as they have been seen
	mark   string      // in the environment of each process
}

// became is what became of a sweep: hung until it has ended, then lost until what was finished
// is there after its resumption, then other until all results are those of an undisturbed one.
type became struct {
	state string
	first bool // it came to its end before the disturbance or in spite of it
}

const (
	endHung  = "hung"
	endLost  = "lost"
	endOther = "resumed otherwise"
	endEqual = "resumed equal"
)

// startDisturbed starts the sweep, with a planted trouble, or resumes it.
func startDisturbed(t *testing.T, zbench, dir string, d disturbance, trouble string, args ...string) *disturbed {
	t.Helper()
	method := "local"
	if d.processes == 1 {
		method = "inproc"
	}
	return startMarked(t, zbench, dir, d, trouble, append(args, "--launch", method)...)
}

// startMarked starts a program whose processes can be told by their environment.
func startMarked(t *testing.T, zbench, dir string, d disturbance, trouble string, args ...string) *disturbed {
	t.Helper()
	r := &disturbed{disturbance: d, dir: dir, stderr: filepath.Join(t.TempDir(), "stderr"), ended: make(chan struct{}), ranks: map[int]int{}, mark: "TMPDIR=" + t.TempDir()}
	r.cmd = exec.Command(zbench, args...)
	r.cmd.Env = append(os.Environ(), epoch, r.mark, plantedTrouble+"="+trouble)
	file, err := os.Create(r.stderr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() })
	r.cmd.Stderr, r.cmd.SysProcAttr = file, &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, r.cmd.Start())
	go func() {
		_ = r.cmd.Wait() // the code tells
		r.code = r.cmd.ProcessState.ExitCode()
		close(r.ended)
	}()
	t.Cleanup(func() {
		for pid := range r.left() { // frozen or not
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return r
}

// left are the processes of the sweep that live, with their ranks; −1 for the parent. One that has
// ended and that nobody has waited for has no environment.
func (r *disturbed) left() map[int]int {
	all := map[int]int{}
	names, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range names {
		environ, _ := os.ReadFile(name)
		if values := strings.Split(string(environ), "\x00"); slices.Contains(values, r.mark) {
			pid, _ := strconv.Atoi(strings.Split(name, "/")[2])
			all[pid] = -1
			for _, v := range values {
				if rank, ok := strings.CutPrefix(v, "ZBENCH_RANK="); ok {
					all[pid], _ = strconv.Atoi(rank)
				}
			}
		}
	}
	return all
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
	if r.processes == 1 || r.what == wasKilledEarly {
		return
	}
	r.until(t, func() bool {
		maps.Copy(r.ranks, childrenOf(t, r.cmd.Process.Pid))
		_, there := r.ranks[r.rank]
		return there && len(r.ranks) > 1 && r.ranks[0] != 0
	})
}

// send sends a signal to the processes that the disturbance names; to all means the parent too,
// unless the ranks alone are frozen for ever.
func (r *disturbed) send(signal syscall.Signal) {
	if r.what == wasKilledEarly { // what there is by then
		for pid, rank := range r.left() {
			r.ranks[rank] = pid
		}
	}
	to := map[string][]int{toLeader: {r.ranks[0]}, toFollower: {r.ranks[r.rank]}, toParent: {r.cmd.Process.Pid}, toStarters: {r.cmd.Process.Pid, r.ranks[0]}}[r.whom]
	if r.processes == 1 {
		to = []int{r.cmd.Process.Pid}
	}
	if r.whom == toAll {
		for _, pid := range r.ranks {
			to = append(to, pid)
		}
		if !r.frozenForEver() {
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
	late := time.Now().Add(within)
	select {
	case <-r.ended:
	case <-time.After(within):
		t.Fatalf("%+v: the run hangs: %s", r.disturbance, readBytes(t, r.stderr))
	}
	for left := r.left(); len(left) > 0; left = r.left() {
		require.True(t, time.Now().Before(late), "%+v: processes are left: %v", r.disturbance, left)
		time.Sleep(20 * time.Millisecond)
	}
}

// disturb carries the disturbance out and waits for the end.
func (r *disturbed) disturb(t *testing.T) {
	t.Helper()
	if r.signal != 0 {
		r.moment(t)
		r.send(r.signal)
	}
	switch {
	case r.what == wasKilledEarly:
		_, err := os.Stat(filepath.Join(r.dir, engine.JournalFile))
		if err == nil { // it was late
			r.ends(t, 2*time.Minute)
			return
		}
		r.ends(t, joinTimeout+endsWithin)
	case r.signal != syscall.SIGSTOP || r.whom != toAll && r.processes > 1:
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

// endsWithin is what the end itself may take on a busy machine.
const endsWithin = 10 * time.Second

// runDisturbed disturbs a sweep and holds that it ends, that --resume measures every case that is
// not finished, and no other, and that the figures are those of an undisturbed sweep.
func runDisturbed(t *testing.T, zbench, whole string, d disturbance, out *became) {
	t.Helper()
	out.state = endHung
	dir := filepath.Join(t.TempDir(), "run")
	begin := slices.Concat(disturbedSweep, flagsOfWorld(d.processes), []string{"--out", dir, "--force"})
	r := startDisturbed(t, zbench, dir, d, d.trouble(), slices.Concat(begin, d.deadlines())...)
	r.disturb(t)
	out.first = r.code == exit.OK
	switch {
	case d.what == hadClockStep || d.what == hadFullDisk && d.lines >= disturbedLines-1: // the header is written before
		require.Equal(t, exit.OK, r.code, "%+v: %s", d, readBytes(t, r.stderr))
	case d.what == hadFullDisk:
		require.Equal(t, exit.Run, r.code, "%+v: %s", d, readBytes(t, r.stderr))
	}
	before, again := "", begin
	if _, err := os.Stat(filepath.Join(dir, engine.JournalFile)); err == nil {
		before, again = readBytes(t, dir, engine.JournalFile), []string{"collectives", "--resume", dir, "-q"}
	}
	next := startDisturbed(t, zbench, dir, d, "", again...)
	next.ends(t, 2*time.Minute)
	out.state = endLost
	require.Equal(t, exit.OK, next.code, "%+v: %s%s", d, readBytes(t, r.stderr), readBytes(t, next.stderr))
	if lines := strings.Split(before, "\n"); len(lines) > 1 {
		after := strings.Split(readBytes(t, dir, engine.JournalFile), "\n")
		require.Equal(t, lines[1:len(lines)-1], after[1:len(lines)-1], "%+v: a finished part is lost", d)
	}
	out.state = endOther
	require.Equal(t, resultsIn(t, whole), resultsIn(t, dir), "%+v", d)
	out.state = endEqual
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
	whole := func(processes int) string { return filepath.Join(filepath.Dir(zbench), fmt.Sprint(processes)) }
	for _, seed := range seeds {
		n := drawDisturbance(seed).processes
		if _, err := os.Stat(whole(n)); err == nil {
			continue
		}
		cmd := exec.Command(zbench, slices.Concat(disturbedSweep, flagsOfWorld(n), []string{"--launch", "inproc", "--out", whole(n)})...)
		cmd.Env = append(os.Environ(), epoch)
		require.NoError(t, cmd.Run())
		require.Len(t, strings.Split(readBytes(t, whole(n), engine.JournalFile), "\n"), disturbedLines+1)
		for _, r := range resultsIn(t, whole(n)) {
			require.Equal(t, record.OK, r.Status)
		}
	}
	outcomes, began := make([]became, len(seeds)), time.Now()
	t.Run("seeds", func(t *testing.T) {
		for i, seed := range seeds {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				if *soakFor > 0 && time.Since(began) > *soakFor {
					t.Skip("the time is over")
				}
				d := drawDisturbance(seed)
				runDisturbed(t, zbench, whole(d.processes), d, &outcomes[i])
			})
		}
	})
	count, kinds := map[string]int{}, map[string]int{}
	for i, out := range outcomes {
		if out.state == "" { // it was not run
			continue
		}
		d := drawDisturbance(seeds[i])
		count["runs"]++
		count[out.state]++
		kinds[d.what+", "+d.whom+": "+out.state]++
		if out.first {
			count["first"]++
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		t.Logf("%s %d", kind, kinds[kind])
	}
	t.Logf("%d runs, %d lost, %d hung, %d resumed equal, %d otherwise; %d came to their end before the disturbance or in spite of it",
		count["runs"], count[endLost], count[endHung], count[endEqual], count[endOther], count["first"])
}

// Kill, freeze, interrupt, a full disk and a clock that steps, of rank 0, of another rank and of all,
// in 1 to 16 processes: no run hangs, nothing is lost, and the resumed sweep is the undisturbed one.
func TestLongDisturbedSweeps(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	disturbAll(t, seedsFrom(0, len(disturbances())))
}

// The same with more seeds (make soak, make soak-kills).
func TestSoakDisturbedSweeps(t *testing.T) {
	n := *schedulesOf
	if n == 0 && *soakFor > 0 {
		n = 100
	}
	if n == 0 {
		t.Skip("make soak-kills runs it")
	}
	disturbAll(t, seedsFrom(*firstSchedule, n))
}

var (
	schedulesOf   = flag.Int("schedules", 0, "disturb so many sweeps (make soak-kills)")
	firstSchedule = flag.Int("first-schedule", 0, "the seed of the first of them")
)

func seedsFrom(first, n int) (all []int) {
	for i := range n {
		all = append(all, first+i)
	}
	return all
}
