package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// watchNodes are the nodes that the tests of watch use.
const watchNodes = 8

// watched has Slurm call `zbench watch` by the script of --print slurm, before and after each job and as
// its health check. Each node has a kernel log of its own; program is started in zbench's place.
type watched struct {
	t           *testing.T
	dir, zbench string
}

func watching(t *testing.T, zbench, flags string, config ...string) *watched {
	t.Helper()
	w := &watched{t: t, dir: t.TempDir(), zbench: zbench}
	require.NoError(t, os.Chmod(w.dir, 0o755)) //nolint:gosec // Slurm's daemons read it
	for i := range watchNodes {
		w.log(i+1, "")
	}
	w.program("exec " + zbench + ` "$@" --backend loopback --root ` + w.dir + "/root --state " + w.dir + "/state/$SLURMD_NODENAME --kernel-log " + w.dir + "/log.$SLURMD_NODENAME " + flags)
	require.NoError(t, os.MkdirAll(filepath.Join(w.dir, "root", "proc/sys/kernel/random"), 0o700))
	w.write("zbench-watch", strings.ReplaceAll(w.shell(zbench+" watch --print slurm"), zbench+" watch", w.dir+"/program watch"))

	file := os.Getenv("SLURM_CONF")
	// Slurm gives a health check little of an environment: on other clusters this file is where it is looked for.
	w.write("health", "#!/bin/sh\nSLURM_CONF="+file+" exec "+w.dir+"/zbench-watch\n")
	before := read(t, file)
	set := func(text string) {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644)) //nolint:gosec // Slurm's daemons read it
		w.shell("scontrol reconfigure")
	}
	hook := w.dir + "/zbench-watch"
	set(strings.Replace(before, "batch_sched_delay=0", "batch_sched_delay=0,nohold_on_prolog_fail", 1) +
		"Prolog=" + hook + "\nPrologFlags=Alloc\nEpilog=" + hook + "\nHealthCheckProgram=" + w.dir + "/health\n" + strings.Join(config, "\n") + "\n")
	t.Cleanup(func() {
		set(before)
		for node := range w.drained() {
			w.shell("scontrol update State=RESUME NodeName=" + node)
		}
		w.until("all nodes are back", func() bool { return len(w.drained()) == 0 })
	})
	return w
}

// shell runs a command, also when the test is over.
func (w *watched) shell(command string) string {
	w.t.Helper()
	out, err := exec.Command("bash", "-c", command).CombinedOutput() //nolint:gosec // the test wrote it
	require.NoError(w.t, err, "%s: %s", command, out)
	return string(out)
}

func (w *watched) write(name, text string) {
	w.t.Helper()
	require.NoError(w.t, os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o755)) //nolint:gosec // it is to be run
}

func (w *watched) program(text string) { w.write("program", "#!/bin/sh\n"+text+"\n") }

// log gives a node a kernel log, which ends with the line.
func (w *watched) log(node int, line string) {
	w.write(fmt.Sprintf("log.node%d", node), "<6>[    1.000000] amdgpu 0000:0b:00.0: amdgpu: ring gfx_0.0.0 uses VM inv eng 0\n"+line)
}

// ecc is as bench/hardware/signs has it from a published log.
const ecc = "<3>[    2.000000] amdgpu 0000:0b:00.0: 1048560 uncorrectable hardware errors detected in umc block\n"

// drained are the reasons of the nodes that Slurm uses no more, by node.
func (w *watched) drained() map[string]string {
	w.t.Helper()
	out := map[string]string{}
	for line := range strings.Lines(w.shell("sinfo --noheader --Node --format='%N|%T|%E'")) {
		if f := strings.SplitN(strings.TrimSpace(line), "|", 3); len(f) == 3 && strings.Contains(f[1], "drain") {
			out[f[0]] = f[2]
		}
	}
	return out
}

func (w *watched) until(what string, done func() bool) {
	w.t.Helper()
	for began := time.Now(); !done(); time.Sleep(200 * time.Millisecond) {
		if time.Since(began) > 2*time.Minute {
			require.Fail(w.t, what, w.shell("squeue; sinfo --Node --long"))
		}
	}
}

// jobs runs so many jobs of one node each and returns the nodes on which they ran.
func (w *watched) jobs(n int) []string {
	w.t.Helper()
	out := filepath.Join(w.t.TempDir(), "nodes")
	w.write("job", "#!/bin/sh\necho $SLURMD_NODENAME >>"+out+"\n")
	w.shell(fmt.Sprintf("for i in $(seq %d); do sbatch --parsable --exclusive -N 1 -o /dev/null %s/job || exit 1; done", n, w.dir))
	ran := func() []string {
		text, _ := os.ReadFile(out) //nolint:gosec // no job has written it yet
		return strings.Fields(string(text))
	}
	w.until(fmt.Sprintf("%d jobs ran", n), func() bool {
		// Slurm starts a requeued job after two minutes.
		w.shell("for j in $(squeue --noheader --states=PENDING --format='%i %r' | sed -n 's/ BeginTime$//p'); do scontrol update JobId=$j StartTime=now; done")
		return len(ran()) >= n
	})
	w.until("no job is left", func() bool { return w.shell("squeue --noheader") == "" })
	require.Len(w.t, ran(), n)
	return ran()
}

// A node with an uncorrectable error is drained with the reason before its first job, which runs elsewhere.
func TestWatchDrainsABadNode(t *testing.T) {
	w := watching(t, built(t), "--claims "+t.TempDir())
	w.log(2, ecc)
	require.NotContains(t, w.jobs(watchNodes), "node2")
	got := w.drained()
	require.Len(t, got, 1)
	require.Contains(t, got["node2"], "zbench: gpu_uncorrectable 0000:0b:00.0: ")
}

// A node without a job is drained by the health check.
func TestWatchIsTheHealthCheck(t *testing.T) {
	w := watching(t, built(t), "--claims "+t.TempDir(), "HealthCheckInterval=2")
	w.log(5, ecc)
	w.until("a node is drained", func() bool { return len(w.drained()) > 0 })
	require.Contains(t, w.drained()["node5"], "zbench: gpu_uncorrectable 0000:0b:00.0: ")
}

// Healthy nodes stay. ZBENCH_SOAK runs 200 jobs. A rule that then fires everywhere takes out one of eight
// nodes, by claims and by sinfo.
func TestWatchMeetsTheCap(t *testing.T) {
	zbench, n := built(t), watchNodes
	if os.Getenv("ZBENCH_SOAK") != "" {
		n = 200
	}
	for name, flags := range map[string]string{"claims": "--claims " + t.TempDir(), "sinfo": ""} {
		t.Run(name, func(t *testing.T) {
			w := watching(t, zbench, flags)
			w.jobs(n)
			require.Empty(t, w.drained())
			for i := range watchNodes {
				w.log(i+1, ecc)
			}
			w.jobs(watchNodes)
			require.LessOrEqual(t, len(w.drained()), 1)
		})
	}
}

// Jobs run where watch is killed, crashes, cannot be started or may write nothing.
func TestWatchFailsOpen(t *testing.T) {
	zbench := built(t)
	w := watching(t, zbench, "")
	for name, program := range map[string]string{
		"killed":  "kill -9 $$",
		"crashes": "ulimit -c 0; kill -SEGV $$",
		"no file": "exec " + zbench + "-absent",
		"no right": "exec setpriv --reuid 65534 --regid 65534 --clear-groups " + zbench +
			` "$@" --backend loopback --kernel-log /dev/kmsg --state /root/zbench-none --claims /root/zbench-none`,
	} {
		w.program(program)
		w.jobs(2)
		require.Empty(t, w.drained(), name)
	}
}
