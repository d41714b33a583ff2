package cluster

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/engine"
	"zbench/bench/run/record"
)

// large is the sweep of `make soak-sweeps`: three collectives, 1 KiB to 1 GiB by factors of two,
// in and out of place, two passes.
const large = " collectives --backend loopback -b 1K -e 1G -q"

// TestSoakCluster runs a process for each GPU of the cluster under Slurm, 1,024 under make
// soak-cluster, and prints what they take. It holds the results alone: times are the machine's.
func TestSoakCluster(t *testing.T) {
	zbench := built(t)
	if os.Getenv("ZBENCH_SOAK") == "" {
		t.Skip("make soak-cluster runs it on 128 nodes")
	}
	nodes := nodesOfCluster(t)
	dir := t.TempDir()
	sweep := os.Getenv("ZBENCH_SOAK_SWEEP")
	if sweep == "" {
		sweep = large
	}
	began := time.Now()
	r := bash(t, zbench+" "+sweep+" --launch inproc --nodes "+nodes+" --out "+dir+"/alone")
	require.Zero(t, r.code)
	one := time.Since(began)

	meet := memory(t)
	watch := watchMachine(dir + "/run/" + engine.JournalFile)
	r = batch(t, "--nodes="+nodes+" --ntasks-per-node=8 --gpus-per-node=8", "set -e; cat /proc/loadavg\n"+zbench+" "+sweep+" --launch slurm --out "+dir+"/run", "TMPDIR="+meet)
	seen := watch.end()
	require.Zero(t, r.code)
	sameFigures(t, dir+"/alone", dir+"/run")
	nothingLeft(t, zbench, meet)
	var run record.Run
	require.NoError(t, json.Unmarshal([]byte(read(t, dir+"/run/run.json")), &run))
	t.Logf(`
%s nodes of 8 processes: zbench%s
  one process            %.1f s
  from the batch script  %.1f s
  the sweep (run.json)   %.1f s
  registration           %.1f s since the leader listens; %.1f s until all ranks are open
  preparation            %.1f s, until the journal is there
  available memory       %.2f GiB before, %.2f GiB at least: it falls by %.2f GiB
  load average           %.1f before, %.1f at most
`, nodes, sweep, one.Seconds(), seen.seconds, run.Seconds, run.Control.Registered, run.Control.Opened, seen.prepared, gib(seen.before), gib(seen.least), gib(seen.before-seen.least), seen.loadBefore, seen.loadMost)
}

func gib(n int64) float64 { return float64(n) / (1 << 30) }

// machineUse is what a run took of the machine.
type machineUse struct {
	// seconds are of the whole watch, prepared of the time from the first zbench that
	// listens until the journal is there: all processes have opened their ranks, and
	// buffers are allocated.
	seconds, prepared    float64
	before, least        int64
	loadBefore, loadMost float64
}

type watcher struct {
	stop chan struct{}
	done chan machineUse
}

func watchMachine(journal string) watcher {
	w := watcher{make(chan struct{}), make(chan machineUse, 1)}
	use := machineUse{before: available(), loadBefore: load()}
	use.least = use.before
	began := time.Now()
	var first time.Time
	go func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-w.stop:
				use.seconds = time.Since(began).Seconds()
				w.done <- use
				return
			case now := <-tick.C:
				use.least, use.loadMost = min(use.least, available()), max(use.loadMost, load())
				if first.IsZero() && listening() {
					first = now
				}
				if _, err := os.Stat(journal); err == nil && use.prepared == 0 {
					use.prepared = now.Sub(first).Seconds()
				}
			}
		}
	}()
	return w
}

func (w watcher) end() machineUse {
	close(w.stop)
	return <-w.done
}

// kernelFile is a file of the kernel, empty where it cannot be read.
func kernelFile(name string) string {
	text, _ := os.ReadFile(name)
	return string(text)
}

// available is MemAvailable in bytes.
func available() int64 {
	for line := range strings.SplitSeq(kernelFile("/proc/meminfo"), "\n") {
		if rest, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err == nil {
				return n << 10
			}
		}
	}
	return 0
}

func load() float64 {
	var one float64
	_, _ = fmt.Sscan(kernelFile("/proc/loadavg"), &one)
	return one
}

// listening tells whether a process listens at a port of zbench's range, 20480 to 28671.
func listening() bool {
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		for line := range strings.SplitSeq(kernelFile(file), "\n") {
			words := strings.Fields(line)
			if len(words) < 4 || words[3] != "0A" {
				continue
			}
			_, digits, _ := strings.Cut(words[1], ":")
			if port, err := strconv.ParseUint(digits, 16, 16); err == nil && port >= 20480 && port < 28672 {
				return true
			}
		}
	}
	return false
}

// memory is a folder of its own where processes meet by default: in memory, if there is one
// for files.
func memory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "zbench-soak") //nolint:usetesting // in memory
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
