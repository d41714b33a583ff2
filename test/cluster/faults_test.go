package cluster

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Times that a run with a fault may take: a lost process, and the deadlines of these runs
// with what may follow them.
const (
	lostWithin = 5 * time.Second
	deadline   = 4 * time.Second
	lateWithin = deadline + 20*time.Second
	// srunKills is what srun takes to kill its step.
	srunKills = 8 * time.Second
	// slack is for machines with other work. A loss that costs a default deadline, of 30 s
	// at least, takes longer than that, and so does a run that hangs.
	slack = 20 * time.Second
)

// short are the deadlines of these runs.
var short = fmt.Sprintf(" --join-timeout %[1]s --heartbeat %[1]s --init-timeout %[1]s --first-timeout %[1]s --batch-timeout %[1]s", deadline)

// seconds is a sweep that takes seconds.
const seconds = " collectives all_reduce --backend loopback -b 1K -e 16M -q"

// running is a sweep that bash has started, in the background.
type running struct {
	cmd    *exec.Cmd
	dir    string
	stderr string
}

// startRun starts a script with the sweep as $SWEEP. Its folder is run in the test's.
func startRun(t *testing.T, zbench, sweep, script string) *running {
	t.Helper()
	dir := t.TempDir()
	r := &running{cmd: exec.Command("bash", "-c", script), dir: dir, stderr: dir + "/stderr"}
	out, err := os.Create(r.stderr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = out.Close() })
	r.cmd.Env = append(os.Environ(), "SHELL=/bin/bash", "SWEEP="+zbench+sweep+" --out "+dir+"/run", "ZBENCH_TOKEN="+token, "TMPDIR="+dir,
		"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_rmaps_base_oversubscribe=1")
	r.cmd.Dir, r.cmd.Stdout, r.cmd.Stderr = dir, out, out
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, r.cmd.Start())
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s", tail(read(t, r.stderr)))
		}
		_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL) // it has ended, unless the test failed
	})
	return r
}

// parts waits until so many parts of the sweep are on disk.
func (r *running) parts(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		text, _ := os.ReadFile(r.dir + "/run/journal.jsonl")
		return strings.Count(string(text), "\n") > n
	}, 2*time.Minute, 10*time.Millisecond, "the sweep did not begin")
}

// rank is the process id of a rank, by the environment of zbench's processes.
func (r *running) rank(t *testing.T, rank int) int {
	t.Helper()
	for pid, environ := range r.processes(t) {
		for _, name := range []string{"ZBENCH_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"} {
			value, ok := environ[name]
			if !ok || name == "SLURM_PROCID" && environ["SLURM_STEP_NUM_TASKS"] == "1" {
				continue
			}
			if value == strconv.Itoa(rank) {
				return pid
			}
			break
		}
	}
	require.Fail(t, "no such rank")
	return 0
}

// processes are zbench's of this run, with their environments.
func (r *running) processes(t *testing.T) map[int]map[string]string {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	require.NoError(t, err)
	all := map[int]map[string]string{}
	for _, link := range links {
		if program, err := os.Readlink(link); err != nil || program != os.Getenv("ZBENCH") {
			continue
		}
		text, _ := os.ReadFile(filepath.Dir(link) + "/environ")
		environ := map[string]string{}
		for v := range strings.SplitSeq(string(text), "\x00") {
			name, value, _ := strings.Cut(v, "=")
			environ[name] = value
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link)))
		require.NoError(t, err)
		if environ["TMPDIR"] == r.dir {
			all[pid] = environ
		}
	}
	return all
}

// ends waits for the end of the run, and of all its processes.
func (r *running) ends(t *testing.T, within time.Duration) (code int, said string) {
	t.Helper()
	began, done := time.Now(), make(chan struct{})
	go func() {
		_ = r.cmd.Wait() // the code tells
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(within + slack):
		require.Fail(t, "the run did not end", "within %s", within)
	}
	require.Eventually(t, func() bool { return len(r.processes(t)) == 0 }, within+slack-time.Since(began)+time.Second, 20*time.Millisecond, "processes are left")
	t.Logf("ended after %.1f s", time.Since(began).Seconds())
	return r.cmd.ProcessState.ExitCode(), strings.Join(strings.Fields(read(t, r.stderr)), " ")
}

// resumes holds that what the run has left is valid and complete after --resume: no case
// that was finished is measured again, and the figures are those of a sweep without a fault.
func (r *running) resumes(t *testing.T, zbench, flags string, codes ...int) {
	t.Helper()
	before := strings.Split(strings.TrimSpace(read(t, r.dir+"/run/journal.jsonl")), "\n")
	for _, line := range before {
		require.True(t, json.Valid([]byte(line)) || line == before[len(before)-1], line)
	}
	resume := zbench + " collectives --launch inproc -q --resume " + r.dir + "/run" + flags
	again := bash(t, resume)
	// A killed process loses its environment, by which this test finds it, before its lock.
	for end := time.Now().Add(slack); strings.Contains(again.errors, "is in use by process") && time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond)
		again = bash(t, resume)
	}
	require.Contains(t, codes, again.code, again.errors)
	after := strings.Split(read(t, r.dir+"/run/journal.jsonl"), "\n")
	for i, line := range before {
		if i > 0 && json.Valid([]byte(line)) {
			require.Equal(t, line, after[i], "a finished part is lost")
		}
	}
}

// suspects are those of the case that failed, and whether they are certain.
func (r *running) suspects(t *testing.T) (ranks string, certain bool) {
	t.Helper()
	var doc struct {
		Results []struct {
			Evidence *struct {
				Suspects string `json:"suspects"`
				Certain  bool   `json:"certain"`
			} `json:"evidence"`
		} `json:"results"`
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, r.dir+"/run/results.json")), &doc))
	for _, one := range doc.Results {
		if one.Evidence != nil {
			return one.Evidence.Suspects, one.Evidence.Certain
		}
	}
	return "", false
}

const (
	localRun = "exec $SWEEP --launch local --gpus-per-node 8"
	slurmRun = "salloc -Q --nodes=2 --ntasks-per-node=4 --gpus-per-node=4 bash -c 'exec $SWEEP --launch slurm --nodes 2 --gpus-per-node 4'"
	// A task whose token is none ends before it registers.
	earlyRun = "printf '#!/bin/bash\\n[ $SLURM_PROCID != 5 ] || echo export ZBENCH_TOKEN=none\\n' >prolog; chmod +x prolog; " +
		"salloc -Q --nodes=2 --ntasks-per-node=4 --gpus-per-node=4 bash -c \"exec $SWEEP --launch slurm --nodes 2 --gpus-per-node 4 --slurm-args --task-prolog=$PWD/prolog\""
	// The processes of two nodes, of which one knows another port.
	apartRun = "export ZBENCH_WORLD_SIZE=2 ZBENCH_LOCAL_SIZE=1 ZBENCH_LOCAL_RANK=0 ZBENCH_NODES=2\n" +
		"ZBENCH_RANK=1 ZBENCH_NODE=1 ZBENCH_LEADER=127.0.0.1:21011 $SWEEP --nodes 1 & other=$!\n" +
		"ZBENCH_RANK=0 ZBENCH_NODE=0 ZBENCH_LEADER=127.0.0.1:21010 $SWEEP --nodes 1; code=$?; wait $other; exit $code"
	fullRun   = "mkdir run; mount -t tmpfs -o size=48k tmpfs run || exit; " + localRun
	mpirunRun = "echo localhost slots=8 >hosts; exec $SWEEP --hostfile hosts --nodes 1"
)

// Whatever happens to a process of a run, the run ends in time, names the culprit by
// evidence, leaves no process behind, and can be resumed.
func TestFaults(t *testing.T) {
	zbench := built(t)
	const (
		none   = -1 // no signal: the fault is planted
		parent = -2
	)
	for _, c := range []struct {
		name, run, flags string
		whom             int
		signal           syscall.Signal
		within           time.Duration
		code             []int
		says             string
		culprit          string // of the record; empty where no case has failed
		none             bool   // no case has run
		twice            bool   // then the parent is interrupted twice
	}{
		{name: "SIGKILL", run: localRun, whom: 3, signal: syscall.SIGKILL, within: lostWithin, code: []int{1}, says: `process 3 on \S+: its connection (ended|failed).* culprit: rank 3\b`, culprit: "3"},
		// Now and then srun terminates a step with a killed task before all of its output has
		// arrived; the record names the culprit all the same.
		{name: "SIGKILL under srun", run: slurmRun, whom: 6, signal: syscall.SIGKILL, within: lostWithin, code: []int{1}, says: `task 6: Killed`, culprit: "6"},
		{name: "SIGKILL of a node's first process under srun", run: slurmRun, whom: 4, signal: syscall.SIGKILL, within: lostWithin, code: []int{1}, says: `task 4: Killed`, culprit: "4"},
		{name: "SIGSTOP", run: localRun, whom: 5, signal: syscall.SIGSTOP, within: lateWithin, code: []int{1}, says: `process 5 on \S+: no (heartbeat|report).* culprit: rank 5\b`, culprit: "5"},
		{name: "SIGSTOP under srun", run: slurmRun, whom: 6, signal: syscall.SIGSTOP, within: lateWithin, code: []int{1}, says: `process 6 on \S+: no (heartbeat|report).* culprit: rank 6\b`, culprit: "6"},
		{name: "SIGSTOP under mpirun", run: mpirunRun, whom: 5, signal: syscall.SIGSTOP, within: lateWithin, code: []int{1}, says: `process 5 on \S+: no (heartbeat|report).* culprit: rank 5\b`, culprit: "5"},
		{name: "SIGSTOP of rank 0", run: localRun, whom: 0, signal: syscall.SIGSTOP, within: lateWithin, code: []int{1}, says: `process 0 did not end after process \d ended early .* culprit: process 0`},
		{name: "SIGSTOP of rank 0 under srun", run: slurmRun, whom: 0, signal: syscall.SIGSTOP, within: lateWithin, code: []int{1}, says: `process 0 did not end after process \d ended early .* culprit: process 0`},
		{name: "SIGSTOP of rank 0 under mpirun", run: mpirunRun, whom: 0, signal: syscall.SIGSTOP, within: lateWithin, code: []int{1}, says: `one or more processes exited with non-zero status`}, // the others; mpirun lets rank 0 continue, and ends it
		{name: "frozen in init", run: localRun, flags: " --fault stuck_init:node=0,gpu=3", whom: none, within: lateWithin, code: []int{1}, says: `init of 1 of 8 ranks: not finished at the deadline of 4 s.* culprit: rank 3\b`, none: true},
		{name: "never calling init", run: localRun, flags: " --fault stuck_gpu:node=0,gpu=3", whom: none, within: lateWithin, code: []int{1}, says: `process 3 on \S+: opening the GPU of rank 3: not finished at the deadline of 4 s; in opening the devices: rank 3 failed.* culprit: rank 3\b`, none: true},
		{name: "rank 0 never calling init", run: localRun, flags: " --fault stuck_gpu:node=0,gpu=0", whom: none, within: lateWithin, code: []int{1}, says: `opening the GPU of rank 0: not finished at the deadline of 4 s; .* culprit: rank 0\b`, none: true},
		{name: "rank 0 killed", run: localRun, whom: 0, signal: syscall.SIGKILL, within: lostWithin, code: []int{1}, says: `process 0 ended early \(signal: killed\)`},
		{name: "an abort that never returns", run: localRun, flags: " --fault stuck_abort:node=0,gpu=3 --fault hang:node=0,gpu=2,bytes=1e5,launch=2", whom: none, within: lateWithin, code: []int{1}, says: `rank 2 not started.* culprit: rank 2\b`, culprit: "2"},
		{name: "leaving before the first collective", run: earlyRun, whom: none, within: lostWithin, code: []int{1}, says: `lost process 5: srun on node2: Exited with exit code 2, before all had registered`, none: true},
		{name: "an unreachable rendezvous", run: apartRun, whom: none, within: lateWithin, code: []int{1}, says: `process 1 did not reach the leader at 127.0.0.1:21011 within 4s.*|1 of 2 processes have registered; missing: process 1`, none: true},
		{name: "disk full on rank 0", run: fullRun, whom: none, within: lateWithin, code: []int{1}, says: `no space left on device; the sweep stops, earlier passes are saved`},
		{name: "Ctrl-C to the parent", run: localRun, whom: parent, signal: syscall.SIGINT, within: lostWithin, code: []int{130}, says: "interrupted (before|: )"},
		{name: "Ctrl-C to the parent of srun", run: slurmRun, whom: parent, signal: syscall.SIGINT, within: lostWithin, code: []int{130}, says: "interrupted (before|: )"},
		{name: "Ctrl-C to the parent of mpirun", run: mpirunRun, whom: parent, signal: syscall.SIGINT, within: lostWithin, code: []int{130}, says: "interrupted (before|: )"},
		{name: "two Ctrl-C, rank 0 frozen", run: localRun, whom: 0, signal: syscall.SIGSTOP, twice: true, within: lostWithin, code: []int{130}},
		{name: "two Ctrl-C, a rank of srun frozen", run: slurmRun, whom: 6, signal: syscall.SIGSTOP, twice: true, within: lostWithin + srunKills, code: []int{130}},
		{name: "two Ctrl-C, rank 0 of srun frozen", run: slurmRun, whom: 0, signal: syscall.SIGSTOP, twice: true, within: lostWithin + srunKills, code: []int{130}},
		{name: "two Ctrl-C, rank 0 of mpirun frozen", run: mpirunRun, whom: 0, signal: syscall.SIGSTOP, twice: true, within: lostWithin, code: []int{130}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.within >= lateWithin {
				c.flags += short
			}
			r := startRun(t, zbench, seconds+c.flags, c.run)
			if c.whom != none {
				r.parts(t, 3)
				pid := 0
				if c.whom == parent {
					pid = r.parent(t)
				} else {
					pid = r.rank(t, c.whom)
				}
				require.NoError(t, syscall.Kill(pid, c.signal))
			}
			if c.twice {
				pid := r.parent(t)
				for range 2 {
					time.Sleep(500 * time.Millisecond)
					_ = syscall.Kill(pid, syscall.SIGINT) // it may have ended
				}
			}
			code, said := r.ends(t, c.within)
			if c.run == fullRun {
				t.Cleanup(func() { _ = syscall.Unmount(r.dir+"/run", syscall.MNT_DETACH) })
				require.NoError(t, syscall.Mount("tmpfs", r.dir+"/run", "tmpfs", syscall.MS_REMOUNT, "size=64m"))
			}
			require.Contains(t, c.code, code)
			require.Regexp(t, c.says, said)
			if c.culprit != "" {
				ranks, certain := r.suspects(t)
				require.Equal(t, c.culprit, ranks)
				require.True(t, certain)
			}
			again := ""
			if c.none { // the fault stays: resuming ends as the run did, or measures
				again = short
				require.Contains(t, read(t, r.dir+"/run/results.json"), `"status": "failed"`)
				require.Contains(t, read(t, r.dir+"/run/run.json"), `"finished"`)
			}
			codes := []int{0} // what a lost process has interrupted is measured again
			if c.whom == none {
				codes = []int{0, 1} // a case that hung stays failed
			}
			r.resumes(t, zbench, again, codes...)
			files, err := filepath.Glob(r.dir + "/zbench-*")
			require.NoError(t, err)
			require.Empty(t, files)
		})
	}
}

// parent is the zbench that has started the others.
func (r *running) parent(t *testing.T) int {
	t.Helper()
	for pid, environ := range r.processes(t) {
		if environ["ZBENCH_CONTROL"] == "" {
			return pid
		}
	}
	require.Fail(t, "no parent")
	return 0
}
