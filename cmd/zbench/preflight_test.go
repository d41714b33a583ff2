package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/bench/engine"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/internal/preflight"
)

// pair are two processes on real GPUs; spoil changes the facts of the second.
func pair(spoil func(f *preflight.Facts)) *team {
	unlimited := int64(-1)
	a := &team{}
	for i, host := range []string{"node-a", "node-b"} {
		f := preflight.Facts{
			CPUs: "0-15", Locked: &unlimited, OpenFiles: &unlimited, Shared: &preflight.Space{Size: 64 << 30, Free: 64 << 30},
			Balancing: "0", Partitions: "8 x SPX/NPS1", Libraries: []record.Library{{Name: "librccl.so", Version: "2.22.3"}}, Clock: 5e9,
			Bootstrap: preflight.Bootstrap{Chosen: "eth0", Names: []string{"eth0"}},
			RDMA:      preflight.RDMA{All: 1, Ports: []preflight.Port{{Name: "ionic_0:1", State: "ACTIVE", Rate: "400 Gb/sec", Entries: 2, Index: 1, Set: true, RoCE: 2}}},
			GPUs:      []string{"0000:0c:00.0"}, Visible: []string{"0000:0c:00.0"}, Folder: &preflight.Folder{Seen: true},
		}
		if i == 1 {
			spoil(&f)
		}
		a.all = append(a.all, preflight.Process{Facts: f, Host: host, FirstRank: i, Ranks: 1, Received: time.Unix(5, 0)})
	}
	return a
}

// checkedPair checks the pair and returns what was printed.
func checkedPair(t *testing.T, o *worldRun, spoil func(f *preflight.Facts)) (string, error) {
	t.Helper()
	var stderr bytes.Buffer
	s := State{Stderr: Stream{Writer: &stderr}}
	u := &engine.Setup{Spec: spec.Spec{World: spec.World{Nodes: 2, GPUsPerNode: 1, GPUsPerProcess: 1}}}
	err := o.check(s, u, pair(spoil), nil, 0)
	return stderr.String(), err
}

// An error refuses the run with the table, a warning prints it, a healthy world one line.
// All of it stays for run.json.
func TestPreflightRefusesAndWarns(t *testing.T) {
	small := int64(64 << 10)
	for _, x := range []struct {
		what  string
		o     worldRun
		spoil func(f *preflight.Facts)
		code  int
		says  string
	}{
		{"healthy", worldRun{}, func(*preflight.Facts) {}, exit.OK, "Preflight of 2 ranks on 2 hosts: 13 of 14 checks passed, 1 not checked\n"},
		{"healthy and quiet", worldRun{runOptions: runOptions{output: output{quiet: true}}}, func(*preflight.Facts) {}, exit.OK, ""},
		{"warning", worldRun{}, func(f *preflight.Facts) { f.Balancing = "1" }, exit.OK, "rank 1 on node-b: on (1)"},
		{"error", worldRun{}, func(f *preflight.Facts) { f.Locked = &small }, exit.Run, "rank 1 on node-b: 64 KiB, the kernel's default"},
		{"error and quiet", worldRun{runOptions: runOptions{output: output{quiet: true}}}, func(f *preflight.Facts) { f.Locked = &small }, exit.Run, "ulimit -l unlimited"},
	} {
		t.Run(x.what, func(t *testing.T) {
			printed, err := checkedPair(t, &x.o, x.spoil)
			require.Equal(t, x.code, exit.CodeOf(err))
			require.Contains(t, printed, x.says)
			require.Equal(t, x.says == "", printed == "")
			require.Len(t, x.o.checks, 14)
		})
	}
}

// What holds for hardware is silent where all is simulated, but with --verbose.
func TestPreflightOfTheLoopback(t *testing.T) {
	for _, verbose := range []bool{false, true} {
		o := worldRun{runOptions: runOptions{output: output{verbose: verbose}}}
		d := pair(func(*preflight.Facts) {})
		for i := range d.all {
			d.all[i].Facts.Simulated, d.all[i].Facts.Balancing = true, "1"
		}
		var stderr bytes.Buffer
		u := &engine.Setup{Spec: spec.Spec{World: spec.World{Nodes: 2, GPUsPerNode: 1, GPUsPerProcess: 1}}}
		require.NoError(t, o.check(State{Stderr: Stream{Writer: &stderr}}, u, d, nil, 0))
		require.Equal(t, verbose, stderr.Len() > 0)
		require.Equal(t, record.CheckNotChecked, o.checks[0].State)
	}
}
