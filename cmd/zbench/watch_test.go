package main

import (
	"errors"
	"fmt"
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

	"zbench/bench/answers/fleet/history"
	"zbench/bench/answers/fleet/nodewatch"
	"zbench/bench/base/exit"
	"zbench/bench/base/slice"
	"zbench/test/longtest"
)

// watched runs a check of a tree without GPUs, in a process of its own.
func watched(t *testing.T, dir string, args ...string) (out string, code int) {
	t.Helper()
	cmd := exec.Command(program(t), append([]string{"watch", "--root", filepath.Join(dir, "root"), "--state", filepath.Join(dir, "state"), "--kernel-log", filepath.Join(dir, "log")}, args...)...)
	text, err := cmd.CombinedOutput()
	require.NotNil(t, cmd.ProcessState, err)
	return string(text), cmd.ProcessState.ExitCode()
}

func watchTree(t *testing.T, log string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	port := filepath.Join(dir, "root/sys/class/infiniband/ionic_0/ports/1")
	require.NoError(t, os.MkdirAll(port, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(port, "state"), []byte("4: ACTIVE\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "log"), []byte(log), 0o600))
	return dir
}

const eccLog = "<3>[    2.000000] amdgpu 0000:0b:00.0: 1048560 uncorrectable hardware errors detected in umc block\n"

// A read of /proc or /sys that never ends is killed with its process, is named, and drains no node.
func TestAStuckReadDoesNotHoldWatch(t *testing.T) {
	dir := watchTree(t, eccLog)
	pipe := filepath.Join(dir, "root/proc/sys/kernel/random/boot_id")
	require.NoError(t, os.MkdirAll(filepath.Dir(pipe), 0o755))
	require.NoError(t, syscall.Mkfifo(pipe, 0o600)) // opening it waits for a writer
	began := time.Now()
	out, code := watched(t, dir, "--as", "prolog", "--cap", "100")
	require.Zero(t, code, out)
	require.Contains(t, out, "NOT CHECKED: /sys, /proc and the kernel log: it has not ended within 4s")
	require.Less(t, time.Since(began), 30*time.Second, "not forever")
}

// A memory is whole whenever its process is killed.
func TestLongKilledChecksLeaveTheMemoryWhole(t *testing.T) {
	longtest.Only(t)
	dir := watchTree(t, "")
	began := time.Now()
	_, code := watched(t, dir)
	require.Zero(t, code)
	whole := time.Since(began)
	checks, killed := int64(1), 0
	for i := range 100 {
		cmd := exec.Command(program(t), "watch", "--root", filepath.Join(dir, "root"), "--state", filepath.Join(dir, "state"), "--kernel-log", filepath.Join(dir, "log"), "-q")
		require.NoError(t, cmd.Start())
		time.Sleep(whole * time.Duration(1+i%20) / 12) // to five thirds of a check
		_ = cmd.Process.Kill()
		if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != exit.OK { // it was killed, or had ended
			killed++
		}
		files, err := filepath.Glob(filepath.Join(dir, "state", "*.history.json"))
		require.NoError(t, err)
		require.Len(t, files, 1)
		text, err := os.ReadFile(files[0])
		require.NoError(t, err)
		m, err := history.Read(text, strings.TrimSuffix(filepath.Base(files[0]), ".history.json"))
		require.NoError(t, err, "kill %d", i)
		require.GreaterOrEqual(t, m.Checks, checks)
		checks = m.Checks
	}
	require.Positive(t, killed)
	require.Greater(t, checks, int64(1))
	_, code = watched(t, dir)
	require.Zero(t, code)
	t.Logf("100 checks, %d killed before their end, %d remembered", killed, checks)
}

// However many nodes claim at once, no more are out than the cap allows.
func TestClaimsMeetTheCap(t *testing.T) {
	s, _ := testState(t)
	dir := t.TempDir()
	const nodes, most = 100, 5
	o := &watchOptions{claims: dir, cap: 5}
	fleets := make([]*watchFleet, nodes)
	for i := range fleets {
		fleets[i] = o.fleet(s, fmt.Sprintf("node%d", i))
		fleets[i].report(&nodewatch.Document{})
		require.Empty(t, fleets[i].doubts)
	}
	out := make([]string, nodes)
	var all sync.WaitGroup
	for i, f := range fleets {
		all.Go(func() { out[i] = f.claim("zbench: why") })
	}
	all.Wait()
	allowed := 0
	for i, why := range out {
		if why == "" {
			allowed++
			require.Empty(t, fleets[i].claim("again"), "its claim stays")
		} else {
			require.Contains(t, why, "the cap of 5 % is met: 5 of 100 nodes")
		}
	}
	require.Equal(t, most, allowed)
	for i, why := range out {
		if why == "" {
			fleets[i].report(&nodewatch.Document{Action: nodewatch.None})
			break
		}
	}
	for i, why := range out {
		if why != "" {
			require.Empty(t, fleets[i].claim("a place is free"))
			break
		}
	}
}

// A rule that fires on many nodes takes none of them out, once it is seen on more than 5 %.
func TestAFindingOfManyNodesIsTheFleets(t *testing.T) {
	s, _ := testState(t)
	o := &watchOptions{claims: t.TempDir(), cap: 100}
	d := &nodewatch.Document{Action: nodewatch.Isolate, Findings: []nodewatch.Found{{Action: nodewatch.Isolate, Code: "pcie_width", Subject: "ionic_0"}}}
	isolated := 0
	for i := range 40 {
		f := o.fleet(s, fmt.Sprintf("node%d", i))
		f.report(&nodewatch.Document{})
	}
	for i := range 40 {
		f := o.fleet(s, fmt.Sprintf("node%d", i))
		if f.withheld(t.Context(), d) == "" {
			isolated++
		}
		f.report(d)
	}
	require.Equal(t, 2, isolated, "5 % of 40")
}

// fakeSlurm answers sinfo and scontrol.
type fakeSlurm struct {
	sync.Mutex
	nodes []slurmNode
	now   int
}

func (f *fakeSlurm) start(c Command) (Child, error) {
	f.Lock()
	defer f.Unlock()
	if c.Argv[0] == "sinfo" {
		for _, n := range f.nodes {
			if _, err := fmt.Fprintf(c.Output, "%s|%s|%s|%s\n", n.name, n.state, n.since, n.reason); err != nil {
				return nil, err
			}
		}
		return endedChild{}, nil
	}
	i := slices.IndexFunc(f.nodes, func(n slurmNode) bool { return "NodeName="+n.name == c.Argv[2] })
	n := &f.nodes[i]
	if n.state, n.reason = "idle", "none"; c.Argv[3] == "State=DRAIN" {
		f.now++
		n.state, n.reason, n.since = "drained", strings.TrimPrefix(c.Argv[4], "Reason="), fmt.Sprint(f.now/3) // three in a second
	}
	return endedChild{}, nil
}

// Slurm is asked where there are no claims; what it does not tell spares the node.
func TestTheCapBySlurm(t *testing.T) {
	s, _ := testState(t)
	for why, c := range map[string]struct{ a, b slurmNode }{
		"the cap of 5 % is met: 1 of 3 nodes": {slurmNode{"a", "idle", "", "none"}, slurmNode{"b", "drained", "1", "zbench: pcie_width x"}},
		"":                                    {slurmNode{"a", "idle", "", "none"}, slurmNode{"b", "drained", "1", "bad fan"}},
		"it is drained already: bad fan":      {slurmNode{"a", "draining", "1", "bad fan"}, slurmNode{"b", "idle", "", "none"}},
		"does not list a among 3 nodes":       {slurmNode{"x", "idle", "", "none"}, slurmNode{"b", "idle", "", "none"}},
	} {
		slurm := &fakeSlurm{nodes: []slurmNode{c.a, c.b, {"c", "idle", "", "none"}}}
		f := (&watchOptions{cap: 5}).fleet(s, "a.cluster")
		f.s.Start = slurm.start
		got := f.withheld(t.Context(), &nodewatch.Document{Reason: "zbench: why"})
		require.Equal(t, why == "", got == "", got)
		require.Contains(t, got, strings.ReplaceAll(why, "list a ", "list a.cluster "))
		require.Equal(t, why == "", slurm.nodes[0].ours())
	}
	f := (&watchOptions{cap: 5}).fleet(s, "a")
	f.s.Start = func(Command) (Child, error) { return nil, errors.New("sinfo is not in PATH") }
	require.Contains(t, f.withheld(t.Context(), &nodewatch.Document{}), "the cap cannot be checked: sinfo: sinfo is not in PATH")
	require.Equal(t, exit.Usage, func() int { _, code := watched(t, t.TempDir(), "--as", "cron"); return code }())
	require.NotContains(t, strings.Join(hookModes, " "), "cron")
}

// Nodes that find something at once drain no more than the cap allows.
func TestNodesThatDrainAtOnceMeetTheCap(t *testing.T) {
	s, _ := testState(t)
	slurm := &fakeSlurm{}
	for i := range 40 {
		slurm.nodes = append(slurm.nodes, slurmNode{fmt.Sprintf("node%d", 39-i), "idle", "", "none"})
	}
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			f := (&watchOptions{cap: 5}).fleet(s, fmt.Sprintf("node%d", i))
			f.s.Start = slurm.start
			f.withheld(t.Context(), &nodewatch.Document{Reason: "zbench: why"})
		})
	}
	all.Wait()
	require.Len(t, slice.Where(slurm.nodes, slurmNode.ours), 2)
}

// endedChild has ended well.
type endedChild struct{}

func (endedChild) Ask(string)          {}
func (endedChild) Wait() (int, string) { return 0, "" }
func (endedChild) Interrupt()          {}
func (endedChild) Kill()               {}
