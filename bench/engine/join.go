package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"zbench/bench/base/exit"
	"zbench/bench/base/slice"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
)

// Hello describes a process's kernels for a run in which each process drives one node.
func (k *Kernels) Hello(backend string, build record.Tool, process int, host string, pid int) Hello {
	n := len(k.Facts.Devices)
	h := Hello{FirstRank: process * n, Ranks: n, Host: host, PID: pid, Build: build, Backend: backend, Facts: k.Facts, Rows: keysOf(k.Rows)}
	h.Simulated = k.Facts.Devices[0].Kind == record.OnLoopback
	return h
}

func keysOf(rows []record.Kernel) []string {
	return slice.Map(rows, func(r record.Kernel) string { return r.Key })
}

// Join combines the kernels of all processes into one run. The list `all` begins with this process's hello.
// Each process has the same rows, and all processes measure every pass of a job at the same time. The
// function take measures a pass and returns the parts of each process, as plan.Group.Take does.
func (k *Kernels) Join(all []Hello, take func(job, pass int) ([][]record.Part, error)) error {
	n, own := len(k.Facts.Devices), all[0]
	for _, h := range all {
		if len(h.Devices) != n {
			return exit.With(exit.Want, fmt.Errorf("%s has %d GPUs, %s has %d", h.name(), len(h.Devices), own.name(), n), "`zbench screen` names nodes that lack one; leave them out")
		}
		if !slices.Equal(h.Rows, own.Rows) {
			return exit.With(exit.Want, fmt.Errorf("%s plans other products than %s: its GPUs are of another kind, or its library has other choices", h.name(), own.name()), "measure equal nodes together")
		}
	}
	facts, err := Together(all, len(all)*n, 1)
	if err != nil {
		return exit.With(exit.Want, err, "measure equal nodes together")
	}
	facts.KernelDriver = k.Facts.KernelDriver
	k.Facts = facts
	k.Facts.OnNodes(len(all))
	rows, jobs := k.Rows, k.Jobs
	k.Rows, k.Jobs = nil, nil
	for i, j := range jobs {
		var together []record.Kernel
		own := slices.DeleteFunc(slices.Clone(rows), func(r record.Kernel) bool { return !slices.Contains(j.Keys, r.Key) })
		for process := range all {
			for _, r := range own {
				of := r.Job()
				r.Device += process * n
				r.Key = record.KernelKey(of, r.Device)
				together = append(together, r)
			}
		}
		k.Rows = append(k.Rows, together...)
		keys := keysOf(together)
		k.Jobs = append(k.Jobs, plan.Job{Keys: keys, Take: func(ctx context.Context, pass int) ([]record.Part, bool) {
			reports, err := take(i, pass)
			parts := slices.Concat(reports...)
			if errors.Is(err, context.Canceled) { // another process received a signal to stop
				return nil, false
			}
			if err != nil {
				parts = slices.Repeat([]record.Part{{Status: record.Failed, Reason: err.Error()}}, len(keys))
			} else if len(parts) != len(keys) { // a process was stopped
				return nil, false
			}
			for at := range parts {
				parts[at].Key, parts[at].Pass = keys[at], pass
			}
			return parts, err == nil || ctx.Err() == nil
		}})
	}
	return nil
}

// NodeNames returns the names of the nodes: the names of their hosts, or node0, node1 … if there is not one
// host per node, as in a simulation.
func NodeNames(hosts []string, nodes int) []string {
	if len(hosts) == nodes {
		return hosts
	}
	names := make([]string, nodes)
	for node := range names {
		names[node] = fmt.Sprint("node", node)
	}
	return names
}

// OnNodes numbers the devices through all nodes, and gives each the name of its node (NodeNames).
func (f *Facts) OnNodes(nodes int) {
	f.Hosts = NodeNames(f.Hosts, nodes)
	f.Devices = slices.Clone(f.Devices)
	for i := range f.Devices {
		f.Devices[i].Index, f.Devices[i].Host = i, f.Hosts[i*nodes/len(f.Devices)]
	}
}
