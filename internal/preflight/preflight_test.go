package preflight

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/bench/hardware/collective"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/test/golden"
	"zbench/test/rendertest"
)

func text(t require.TestingT, r Report, width int, all bool) string {
	return rendertest.Text(t, r.Shown(all), width, all)
}

// A port that is down on all hosts, of a NIC that NCCL_IB_HCA does not name, is none of
// RCCL's: front-end NICs have some. One that it names is missed.
func TestPortsThatAreNotMeant(t *testing.T) {
	for _, hca := range []string{"", "^mlx5", "ionic", "ionic,bnxt"} {
		r := cluster{hosts: 2, change: func(_ int, p *planted) {
			nic(p.files, "bnxt_re8", 1)
			p.files["sys/class/infiniband/bnxt_re8/ports/1/state"] = "1: DOWN\n"
			p.env["NCCL_IB_HCA"] = hca
		}}.report()
		require.Equal(t, hca != "ionic,bnxt", r.Healthy(), "%q: %+v", hca, r.Checks)
	}
}

// The limit of locked memory does not hold for a process with CAP_IPC_LOCK.
func TestPrivilegedProcessLocksFreely(t *testing.T) {
	r := cluster{hosts: 2, change: func(_ int, p *planted) {
		p.files["proc/self/limits"] = limited("65536", "1048576")
		p.files["proc/self/status"] = "CapEff:\t000001ffffffffff\nCpus_allowed_list:\t0-95\n"
	}}.report()
	require.True(t, r.Healthy(), "%+v", r.Checks)
}

// A run without faults is one line; nothing of it is said to be wrong.
func TestHealthyIsOneLine(t *testing.T) {
	r := cluster{hosts: 2}.report()
	require.Equal(t, "Preflight of 16 ranks on 2 hosts: 14 of 14 checks passed\n", text(t, r, 80, false))
	require.NoError(t, r.Refused())
	whole := text(t, r, 80, true)
	for _, c := range checks {
		require.Contains(t, whole, " "+c.name+" ")
	}
}

// faulty is a cluster of three hosts with one fault on each of two.
func faulty() Report {
	return cluster{hosts: 3, change: func(host int, p *planted) {
		switch host {
		case 1:
			p.files[port3+"state"] = "1: DOWN\n"
			p.env["NCCL_SOCKET_IFNAME"] = "bond0"
		case 2:
			p.files["proc/sys/kernel/numa_balancing"] = "1\n"
			p.files["proc/self/status"] = "Cpus_allowed_list:\t0-3\n"
		}
	}}.report()
}

// The table names rank, host, reason and remedy, and keeps to the terminal.
func TestTable(t *testing.T) {
	r := faulty()
	got := text(t, r, 100, false)
	golden.Equal(t, "table.txt", got)
	for _, width := range []int{60, 80, 100, 200} {
		for line := range strings.Lines(text(t, r, width, true)) {
			line = strings.TrimSuffix(line, "\n")
			require.Equal(t, strings.TrimRight(line, " "), line)
			words := strings.Fields(line)
			require.True(t, utf8.RuneCountInString(line) <= width || len(words) <= 4, "%d: %s", width, line)
		}
	}
	err := r.Refused()
	require.EqualError(t, err, "preflight failed: bootstrap interface")
	refusal, is := errors.AsType[*exit.Error](err)
	require.True(t, is)
	require.Equal(t, exit.Run, refusal.Code)
}

// On the loopback what holds for hardware is not checked, whatever the host has.
func TestSimulatedIsNotChecked(t *testing.T) {
	r := cluster{hosts: 2, change: func(host int, p *planted) {
		p.Simulated = true
		if host == 1 {
			p.files["proc/self/limits"] = limited("0", "10")
			p.files["proc/sys/kernel/numa_balancing"] = "1\n"
			p.env["NCCL_SOCKET_IFNAME"] = "none"
		}
	}}.report()
	require.True(t, r.Healthy())
	require.NoError(t, r.Refused())
	require.Equal(t, 11, r.Count(record.CheckNotChecked))
	require.Equal(t, "Preflight of 16 ranks on 2 hosts: 3 of 14 checks passed, 11 not checked\n", text(t, r, 80, false))
	require.Contains(t, text(t, r, 80, true), "NUMA balancing       not checked: simulated\n")
}

// A process that can read nothing is not checked; it neither passes nor fails.
func TestUnknownIsNotChecked(t *testing.T) {
	var all []Process
	for i := range 4 {
		all = append(all, Process{Facts: Collect(Host{FS: tree(nil)}), Host: fmt.Sprint("h", i/2), FirstRank: i, Ranks: 1})
	}
	r := Judge(all, Sweep{PerNode: 2})
	for _, c := range r.Checks {
		switch c.Name {
		case "RDMA NICs":
			require.Equal(t, record.CheckWarning, c.State) // there is no such folder: the host has none
		case "RoCE v2 GID":
			require.Equal(t, record.CheckOK, c.State)
		default:
			require.Equal(t, record.CheckNotChecked, c.State, "%+v", c)
		}
	}
	require.NotPanics(t, func() { Judge(nil, Sweep{}) })
}

// The verdict depends on the processes, not on the order in which they registered.
func TestOrderDoesNotMatter(t *testing.T) {
	c := cluster{hosts: 3, change: func(host int, p *planted) {
		if host == 1 {
			p.Driver = "amdgpu 1"
		}
	}}
	all := c.world()
	want := Judge(all, Sweep{PerNode: gpusPerNode})
	for seed := range uint64(10) {
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		require.Equal(t, want, Judge(all, Sweep{PerNode: gpusPerNode}))
	}
}

// Facts travel as JSON and stay small, even if the host makes them large.
func TestFactsAreSmall(t *testing.T) {
	f := cluster{hosts: 1}.world()[0].Facts
	sent, err := json.Marshal(f)
	require.NoError(t, err)
	require.Less(t, len(sent), 4<<10)
	var back Facts
	require.NoError(t, json.Unmarshal(sent, &back))
	require.Equal(t, f, back)

	p := healthy(1, 0)
	long := strings.Repeat("x", 100_000)
	for _, name := range []string{"NCCL_SOCKET_IFNAME", "NCCL_IB_HCA", "ROCR_VISIBLE_DEVICES", "NCCL_IB_GID_INDEX"} {
		p.env[name] = long
	}
	for i := range 1000 {
		nic(p.files, fmt.Sprint("x", i), 1)
		p.Visible = append(p.Visible, pci(0))
		p.Libraries = append(p.Libraries, record.Library{Name: long, Version: long})
	}
	p.files["proc/self/status"], p.files["proc/sys/kernel/numa_balancing"] = "Cpus_allowed_list:\t"+strings.Repeat("1,", 50_000)+"1\n", long
	p.env["NCCL_IB_HCA"] = "x," + long
	p.FS, p.Getenv = tree(p.files), func(name string) string { return p.env[name] }
	sent, err = json.Marshal(Collect(p.Host))
	require.NoError(t, err)
	require.Less(t, len(sent), 24<<10)
}

// The sets of communicators of two passes, up and down: the last of the first pass continues.
func TestSweepOf(t *testing.T) {
	coll := func(name string) collective.Collective {
		c, err := collective.ByName(name)
		require.NoError(t, err)
		return c
	}
	cases := []plan.Case{
		{Collective: coll("all_reduce"), Ranks: 32, Nodes: 4},
		{Collective: coll("all_to_all"), Ranks: 32, Nodes: 4},
		{Collective: coll("all_reduce"), Ranks: 8, Nodes: 1, Parallel: 4, Split: plan.Split{Group: 8}},
		{Collective: coll("all_to_all"), Ranks: 16, Nodes: 2, Split: plan.Split{Nodes: 2}, Skip: "memory"},
		{Collective: coll("all_gather"), Ranks: 16, Nodes: 2, Split: plan.Split{Nodes: 2}},
	}
	s := SweepOf(cases, 8, 100)
	whole, group, half := Communicators{32, 4, true}, Communicators{8, 1, false}, Communicators{16, 2, false}
	require.Equal(t, Sweep{PerNode: 8, Seconds: 100, Communicators: []Communicators{whole, group, half, group, whole}}, s)
}

// all_to_all of 64 nodes with 16 GPUs takes more than 32,000 ports of a node
// (ROCm/rccl#577), and eight times fewer with PXN on nodes of 8 GPUs (NVIDIA/nccl#1882).
func TestPorts(t *testing.T) {
	published := Communicators{Ranks: 64 * 16, Nodes: 64, Peers: true}
	require.Greater(t, published.perNode(false), 32_000)
	require.InDelta(t, 63*16*2*16, published.perNode(false), 1000)
	big := Communicators{Ranks: 1024, Nodes: 128, Peers: true}
	few := Communicators{Ranks: 1024, Nodes: 128}
	require.InDelta(t, 8, float64(big.perNode(false)-few.perNode(false))/float64(big.perNode(true)-few.perNode(true)), 1e-9)
	require.Equal(t, perRank*8, Communicators{Ranks: 8, Nodes: 1}.perNode(false))

	sweep := Sweep{PerNode: 8, Communicators: []Communicators{big, big, big}}
	need, sets := sweep.need(false)
	require.Equal(t, 3, sets)
	require.Equal(t, 3*big.perNode(false), need)
	sweep.Seconds = 3 * 600 // each set lives longer than a closed connection: two of them
	need, sets = sweep.need(false)
	require.Equal(t, 2, sets)
	require.Equal(t, 2*big.perNode(false), need)

	r := cluster{hosts: 2, sweep: sweep}.report()
	for _, c := range r.Checks {
		if c.Name == "ports" {
			require.Contains(t, c.Findings[0].Found, "28232 ports (32768 to 60999); 2 sets of communicators within 60 s take up to")
			require.Contains(t, c.Findings[0].Next, "NCCL_PXN_DISABLE=0")
		}
	}
}

func TestWhere(t *testing.T) {
	r := Report{Ranks: 1024, Hosts: 128}
	for _, x := range []struct {
		ranks string
		hosts []string
		want  string
	}{
		{"0-1023", []string{"a"}, ""},
		{"8-15", []string{"node-b"}, "ranks 8-15 on node-b"},
		{"9", []string{"node-b"}, "rank 9 on node-b"},
		{"8-15,24-31", []string{"b", "d"}, "ranks 8-15,24-31 on b, d"},
		{"8-15,24-31,40-47,56-63,72-79", []string{"b", "d", "f", "h", "j"}, "40 ranks on 5 hosts (b, d, f, …)"},
		{"x", nil, ""},
	} {
		require.Equal(t, x.want, r.Where(record.PreflightFound{Ranks: x.ranks, Hosts: x.hosts}))
	}
	require.Equal(t, "rank 3", Report{Ranks: 8, Hosts: 1}.Where(record.PreflightFound{Ranks: "3", Hosts: []string{"a"}}))
}

// Many values of one check stay one row of bounded length.
func TestManyValues(t *testing.T) {
	all := large()
	for i := range all {
		all[i].Received = epoch.Add(-time.Duration(2+i/8) * time.Minute)
	}
	r := Judge(all, Sweep{PerNode: 8})
	for _, c := range r.Checks {
		require.LessOrEqual(t, len(c.Findings), maxFindings+1)
		n := 0
		for _, f := range c.Findings {
			n += len(f.Hosts)
		}
		require.Equal(t, 128, n)
	}
	require.Less(t, strings.Count(text(t, r, 100, false), "\n"), 40)
}

// large is a healthy world of 1,024 ranks on 128 hosts.
func large() []Process {
	node := cluster{hosts: 1}.world()
	var all []Process
	for host := range 128 {
		for _, p := range node {
			p.Host, p.FirstRank = fmt.Sprintf("node-%03d", host), host*gpusPerNode+p.FirstRank
			all = append(all, p)
		}
	}
	return all
}

func BenchmarkJudge(b *testing.B) {
	all := large()
	sweep := Sweep{PerNode: 8, Communicators: []Communicators{{1024, 128, true}, {512, 64, true}, {256, 32, true}}}
	for b.Loop() {
		Judge(all, sweep)
	}
}

func BenchmarkCollect(b *testing.B) {
	p := healthy(1, 0)
	p.FS, p.Getenv = tree(p.files), func(name string) string { return p.env[name] }
	for b.Loop() {
		Collect(p.Host)
	}
}
