package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"zbench/bench/fabric"
	"zbench/bench/fleet/nodescreen"
	"zbench/bench/folder"
	"zbench/bench/pattern"
	"zbench/bench/record"
	"zbench/bench/spec"
	"zbench/internal/launch"
	"zbench/internal/native"
	"zbench/internal/preflight"
	"zbench/internal/probe"
)

// asNode screens this node as one of several that a launcher has started: the first process
// of each node does.
func (o *nodeScreenOptions) asNode(ctx context.Context, s State, role launch.Role) error {
	switch {
	case role.Local > 0:
		return nil
	case o.out == "":
		return usagef("give a folder that all nodes share; then `zbench screen --judge DIR`", "%s, and --out is not given", role.Text())
	case simulated(o.backend, s):
		return o.simulate(ctx, s, o.out, max(role.Node, 0), max(role.Node, 0)+1)
	}
	return o.node(ctx, s, o.out)
}

// newNode is the report of a node before anything is known.
func newNode(host, backend string) *nodescreen.Node {
	return &nodescreen.Node{Schema: nodescreen.NodeSchema, Tool: toolVersion(), Host: host, Backend: backend}
}

// keepNode writes the node's file beside those of other nodes.
func keepNode(s State, dir string, n *nodescreen.Node) error {
	nodes, err := folder.Shared(s.host(false), nodesFolder(dir))
	if err != nil {
		return err
	}
	return nodes.Write(n.Host+".json", n.WriteJSON)
}

// node screens this node: its facts in this process, and each measurement in a process of
// its own.
func (o *nodeScreenOptions) node(ctx context.Context, s State, dir string) error {
	started := s.Now()
	backend, err := o.libraries.choose(s, o.backend)
	if err != nil {
		return err
	}
	n, err := o.factsOf(ctx, s, backend)
	if err != nil {
		return err
	}
	if err := o.measure(ctx, s, dir, n); err != nil {
		return err
	}
	n.Seconds = s.Now().Sub(started).Seconds()
	return keepNode(s, dir, n)
}

// factsOf reads what this node tells of itself. A driver that hangs can hold a file's reader.
func (o *nodeScreenOptions) factsOf(ctx context.Context, s State, backend string) (*nodescreen.Node, error) {
	late := fmt.Errorf("/sys and /proc: not read within %g s", o.deadline)
	n, err := within(ctx, duration(o.deadline), late, func() (*nodescreen.Node, error) {
		n := newNode(s.Hostname(), backend)
		err := probe.Facts(treeFS{s.FS, "/"}, n, s.Environ())
		n.Faults = append(n.Faults, preflightFaults(s)...)
		return n, err
	})
	if errors.Is(err, late) {
		n, err = newNode(s.Hostname(), backend), nil
		n.Faults = append(n.Faults, nodescreen.Fault{Code: "no_measurement", Subject: "node", Message: late.Error(), Next: "dmesg on the node: a driver hangs"})
	}
	return n, err
}

// preflightFaults are the errors of the checks of one host.
func preflightFaults(s State) []nodescreen.Fault {
	var out []nodescreen.Fault
	p := preflight.Process{Facts: preflight.Collect(preflightHost(s)), Host: s.Hostname(), Ranks: 1}
	for _, c := range preflight.JudgeHost(p).Checks {
		for _, f := range c.Findings {
			if f.State == record.CheckError {
				out = append(out, nodescreen.Fault{Code: c.Name, Subject: "node", Message: f.Found, Next: f.Next})
			}
		}
	}
	return out
}

// simulatedNode is a node of a simulation before it is measured, with the facts of a recorded
// tree, and its machine.
func (o *nodeScreenOptions) simulatedNode(s State, node int) (*nodescreen.Node, *fabric.Machine, error) {
	n := newNode(fmt.Sprintf("node%d", node), "loopback")
	n.Simulated = true
	if o.trees != "" {
		name, err := o.tree(s, node)
		if err != nil {
			return nil, nil, err
		}
		n.Host = name
		if err := probe.Facts(treeFS{s.FS, filepath.Join(o.trees, name)}, n, nil); err != nil {
			return nil, nil, err
		}
	} else {
		n.Notes = append(n.Notes, "topology, ports and drivers: a simulated node has them only with --trees")
	}
	f, err := fabric.ByName(o.fabric)
	if err != nil {
		return nil, nil, usage(err, "`zbench list fabrics`")
	}
	faults, err := o.faultsOf(node)
	if err != nil {
		return nil, nil, err
	}
	gpus := f.Node.GPUs
	if n.Packages != nil {
		gpus = min(*n.Packages, gpus)
	}
	m, err := f.Resolve(spec.World{Nodes: 1, GPUsPerNode: gpus, GPUsPerProcess: gpus}, fabric.Conditions{Seed: o.seed + uint64(node), Faults: faults}) //nolint:gosec // not negative
	if err != nil {
		return nil, nil, usage(err, "`zbench list faults`")
	}
	return n, m, nil
}

// tree is the name of the recorded tree of a node: the folders of --trees, in order.
func (o *nodeScreenOptions) tree(s State, node int) (string, error) {
	entries, err := s.FS.ReadDir(o.trees)
	if err != nil {
		return "", usagef("give a folder with one folder for each node", "--trees: %w", err)
	}
	var list []string
	for _, e := range entries {
		if e.IsDir() {
			list = append(list, e.Name())
		}
	}
	if node >= len(list) {
		return "", usagef("give --nodes "+strconv.Itoa(max(len(list), 1)), "--trees %s has the trees of %d nodes, and %d are screened", o.trees, len(list), o.nodes)
	}
	return list[node], nil
}

// nodeKey is the node in the text of a fault.
var nodeKey = pattern.New(`\bnode=([0-9]+)`)

// faultsOf are the faults of one node, as those of a world of its own. A fault without a
// node is every node's.
func (o *nodeScreenOptions) faultsOf(node int) ([]string, error) {
	var out []string
	for _, text := range o.faults {
		at := nodeKey.FindStringSubmatch(text)
		if at == nil {
			out = append(out, text)
			continue
		}
		n, err := strconv.Atoi(at[1])
		switch {
		case err != nil || n >= o.nodes:
			return nil, usagef("`zbench list faults`", "--fault %s: node is 0 to %d", text, o.nodes-1)
		case n == node:
			out = append(out, strings.Replace(text, at[0], "node=0", 1))
		}
	}
	return out, nil
}

// probeOf is what a process measures with.
func (o *nodeScreenOptions) probeOf(ctx context.Context, s State) (probe.Config, error) {
	backend, err := chooseBackend(s, o.backend)
	if err != nil {
		return probe.Config{}, err
	}
	c := probe.Config{Native: native.Choice{Backend: backend, Getenv: s.Getenv}, Seconds: o.seconds, Bytes: 64 << 20, Array: int64(o.size), Seed: o.seed}
	if backend == "loopback" {
		return c, errors.New("the loopback is measured in the process that simulates it")
	}
	_, err = o.libraries.fill(ctx, s, &c.Native)
	return c, err
}
