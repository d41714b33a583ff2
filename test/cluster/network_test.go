package cluster

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Four hosts with addresses of their own: network namespaces on a bridge. This process is
// at its end of the bridge, where the proxy is.
const (
	hosts   = 4
	perHost = 4
	bridge  = "10.78.0.254"
)

func address(host int) string { return fmt.Sprintf("10.78.0.%d", host+1) }

// namespaces makes the hosts. Outside CI a machine that does not allow it skips.
func namespaces(t *testing.T) {
	t.Helper()
	// The kernel takes a namespace apart later: its links are deleted first, so that the next
	// test finds their names free.
	remove := "for i in 0 1 2 3; do ip link del zbv$i; ip netns del zb$i; done; ip link del zbr; true"
	t.Cleanup(func() { _ = exec.Command("bash", "-c", remove).Run() })
	r := bash(t, `set -e
ip link add zbr type bridge; ip address add `+bridge+`/24 dev zbr; ip link set zbr up
for i in 0 1 2 3; do
  ip netns add zb$i
  ip link add zbv$i type veth peer name eth0 netns zb$i
  ip link set zbv$i master zbr up
  ip -n zb$i address add 10.78.0.$((i + 1))/24 dev eth0
  ip -n zb$i link set eth0 up
  ip -n zb$i link set lo up
done`)
	if r.code != 0 && os.Getenv("CI") == "" {
		t.Skipf("no network namespaces: %s", r.errors)
	}
	require.Zero(t, r.code)
}

// hostsRun is a sweep of a process for each rank on four hosts.
type hostsRun struct {
	out   string
	procs []*exec.Cmd
	// said are the processes' standard errors.
	said []bytes.Buffer
	ends sync.WaitGroup
}

// start starts the sweep. Rank 0 listens on the first host; all others reach it through
// the proxy.
func start(t *testing.T, zbench, sweep string, p *proxy, port int) *hostsRun {
	t.Helper()
	const size = hosts * perHost
	dir := t.TempDir()
	r := &hostsRun{out: dir + "/run", said: make([]bytes.Buffer, size)}
	for rank := range size {
		host, leader := rank/perHost, p.address
		if rank == 0 {
			leader = fmt.Sprintf("%s:%d", address(0), port)
		}
		args := append([]string{"netns", "exec", fmt.Sprintf("zb%d", host), zbench}, strings.Fields(sweep)...)
		cmd := exec.Command("ip", append(args, "--nodes", "2", "--out", r.out)...) //nolint:gosec // the test's own words
		cmd.Env = append(os.Environ(), "TMPDIR="+dir, "ZBENCH_TOKEN="+token, "ZBENCH_LEADER="+leader,
			fmt.Sprint("ZBENCH_RANK=", rank), fmt.Sprint("ZBENCH_WORLD_SIZE=", size), fmt.Sprint("ZBENCH_LOCAL_RANK=", rank%perHost),
			fmt.Sprint("ZBENCH_LOCAL_SIZE=", perHost), fmt.Sprint("ZBENCH_NODE=", host), fmt.Sprint("ZBENCH_NODES=", hosts))
		cmd.Stderr = &r.said[rank]
		require.NoError(t, cmd.Start())
		r.procs = append(r.procs, cmd)
		r.ends.Go(func() { _ = cmd.Wait() })
		t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended, unless the test failed
	}
	t.Cleanup(func() {
		for rank := range r.said {
			if text := r.said[rank].String(); text != "" && t.Failed() {
				t.Logf("rank %d: %s", rank, tail(text))
			}
		}
	})
	return r
}

// wait waits for all processes and returns the exit code of the first.
func (r *hostsRun) wait(t *testing.T) int {
	t.Helper()
	ended := make(chan struct{})
	go func() { r.ends.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		for _, p := range r.procs {
			_ = p.Process.Kill()
		}
		<-ended
		require.Fail(t, "the processes did not end")
	}
	return r.procs[0].ProcessState.ExitCode()
}

// begun waits until the sweep has finished a part.
func (r *hostsRun) begun(t *testing.T) {
	t.Helper()
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(20 * time.Millisecond) {
		if text, err := os.ReadFile(r.out + "/journal.jsonl"); err == nil && bytes.Count(text, []byte("\n")) > 8 {
			return
		}
	}
	require.Fail(t, "the sweep did not begin")
}

// Processes on hosts with addresses of their own measure the same over a slow network, and
// over one that stands still for a while.
func TestSlowNetworkLeavesTheFigures(t *testing.T) {
	zbench := built(t)
	namespaces(t)
	want := inOneProcess(t, zbench, 2)
	for _, c := range []struct {
		name  string
		port  int
		delay time.Duration
		stall time.Duration
	}{
		{"at once", 21000, 0, 0},
		{"a slow network", 21001, 5 * time.Millisecond, 0},
		{"one that stands still", 21002, 0, 3 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProxy(t, fmt.Sprintf("%s:%d", bridge, c.port), fmt.Sprintf("%s:%d", address(0), c.port), c.delay)
			r := start(t, zbench, few, p, c.port)
			if c.stall > 0 {
				r.begun(t)
				p.still.Store(true)
				time.Sleep(c.stall)
				p.still.Store(false)
			}
			require.Zero(t, r.wait(t))
			require.Greater(t, p.bytes.Load(), int64(100<<10), "the orders went through the proxy")
			sameFigures(t, want, r.out)
			nothingLeft(t, zbench, filepath.Dir(r.out))
		})
	}
}

// A connection that breaks ends the sweep with an error that names the lost processes. What
// was finished is kept, and the rest of the sweep, resumed in one process, has the same
// figures.
func TestLostHostIsNamed(t *testing.T) {
	zbench := built(t)
	namespaces(t)
	want := inOneProcess(t, zbench, 2)
	const port = 21003
	p := newProxy(t, fmt.Sprintf("%s:%d", bridge, port), fmt.Sprintf("%s:%d", address(0), port), 0)
	r := start(t, zbench, few, p, port)
	r.begun(t)
	require.Positive(t, p.cut(address(2)))
	require.Equal(t, 1, r.wait(t))
	said := r.said[0].String()
	require.Regexp(t, `process(es)? (8|9|10|11)\b`, said)
	for rank := 2 * perHost; rank < 3*perHost; rank++ {
		require.Equal(t, 1, r.procs[rank].ProcessState.ExitCode(), "rank %d lost its leader", rank)
	}
	nothingLeft(t, zbench, filepath.Dir(r.out))
	again := bash(t, zbench+" collectives --launch inproc -q --resume "+r.out)
	require.Contains(t, []int{0, 1}, again.code) // the case during which the hosts were lost stays failed
	first, rest := figures(t, want), figures(t, r.out)
	require.Len(t, rest, len(first))
	failed := 0
	for i := range rest {
		if rest[i].(map[string]any)["status"] == "failed" { //nolint:forcetypeassert // the schema says so
			failed++
			continue
		}
		require.Equal(t, first[i], rest[i])
	}
	require.LessOrEqual(t, failed, 1)
}
