package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"zbench/bench/exit"
	"zbench/bench/fleet/nodescreen"
	"zbench/bench/folder"
	"zbench/internal/probe"
)

// probeVariable tells a process what it measures, and into which file it writes: NAME=FILE.
const probeVariable = "ZBENCH_SCREEN_PROBE"

// nicEnviron makes RCCL send everything over one NIC, also between GPUs of one node:
// without direct access and shared memory only the network is left.
func nicEnviron(nic string) []string {
	return []string{"NCCL_P2P_DISABLE=1", "NCCL_SHM_DISABLE=1", "NCCL_IB_HCA==" + nic, "NCCL_IB_DISABLE=0"}
}

// nicGPUs is how many GPUs take part over one NIC, nicBytes the size.
const (
	nicGPUs  = 2
	nicBytes = 16 << 20
)

// probe measures one thing and writes a node's file with it alone.
func (o *nodeScreenOptions) probe(ctx context.Context, s State, job string) error {
	go func() {
		_, _ = io.Copy(io.Discard, s.Stdin) // it ends with the process that started this one
		s.Exit(exit.Run)
	}()
	name, file, ok := strings.Cut(job, "=")
	if !ok {
		return usagef("unset it", "%s=%s: expected NAME=FILE", probeVariable, job)
	}
	if name == simulation {
		return o.simulating(ctx, s, file)
	}
	c, err := o.probeOf(ctx, s)
	if err != nil {
		return err
	}
	n := newNode(s.Hostname(), c.Native.Backend)
	gpus, facts, err := probe.Devices(c.Native)
	if err != nil {
		return err
	}
	n.GPUs, n.Facts = gpus, facts
	switch name {
	case "memory":
		n.GPUs = probe.Memory(ctx, c, gpus)
	case "collective":
		n.Collective = probe.Collective(ctx, c, len(gpus), "")
	default:
		c.Bytes, c.Seconds = nicBytes, min(c.Seconds, 1)
		n.Collective = probe.Collective(ctx, c, min(nicGPUs, len(gpus)), " over "+name)
	}
	parts, err := folder.Shared(s.host(false), filepath.Dir(file))
	if err != nil {
		return err
	}
	return parts.Write(filepath.Base(file), n.WriteJSON)
}

// measure starts a process for each measurement and takes what it wrote.
func (o *nodeScreenOptions) measure(ctx context.Context, s State, dir string, n *nodescreen.Node) error {
	got, why := o.child(ctx, s, dir, n.Host, "memory", nil)
	if got != nil {
		n.GPUs, n.Facts = got.GPUs, append(n.Facts, got.Facts...)
	} else {
		n.Faults = append(n.Faults, nodescreen.Fault{Code: "no_measurement", Subject: "node", Message: "memory of the GPUs: " + why, Next: "`zbench doctor` on the node"})
	}
	if len(n.GPUs) > 1 {
		n.Collective = o.collectiveOf(ctx, s, dir, n.Host, "collective", nil)
		o.overNICs(ctx, s, dir, n)
	}
	return ctx.Err()
}

// collectiveOf is the collective of a child, or why there is none.
func (o *nodeScreenOptions) collectiveOf(ctx context.Context, s State, dir, host, name string, environ []string) *nodescreen.Rate {
	got, why := o.child(ctx, s, dir, host, name, environ)
	if got == nil || got.Collective == nil {
		what := "all_reduce over the GPUs"
		if environ != nil {
			what = "all_reduce over " + name
		}
		return &nodescreen.Rate{What: what, Error: why}
	}
	return got.Collective
}

// overNICs runs the collective over each NIC with an active port. Two in a row that fail
// end it: the cause is then not the NIC.
func (o *nodeScreenOptions) overNICs(ctx context.Context, s State, dir string, n *nodescreen.Node) {
	failed := 0
	for i, c := range n.NICs {
		if c.State != "ACTIVE" || ctx.Err() != nil {
			continue
		}
		r := o.collectiveOf(ctx, s, dir, n.Host, c.Name, nicEnviron(c.Name))
		if r.Error == "" {
			failed = 0
			n.NICs[i].Collective = r
			continue
		}
		if failed++; failed == 2 {
			n.Notes = append(n.Notes, "collectives over single NICs: two in a row failed, the others were not run: "+r.Error)
			for j := range n.NICs { // no finding of single NICs: it is the method that fails here
				if x := n.NICs[j].Collective; x != nil && x.Error != "" {
					n.NICs[j].Collective = nil
				}
			}
			return
		}
		n.NICs[i].Collective = r
	}
}

// child starts a process for one measurement and reads what it wrote; without a result it
// says why.
func (o *nodeScreenOptions) child(ctx context.Context, s State, dir, host, name string, environ []string) (*nodescreen.Node, string) {
	file, err := filepath.Abs(filepath.Join(nodesFolder(dir), host+"."+name+".part"))
	if err != nil {
		return nil, err.Error()
	}
	defer s.FS.Remove(file) //nolint:errcheck // it need not be there
	command := Command{Argv: append([]string{s.Executable}, s.Args...), Environ: append(append(s.Environ(), environ...), probeVariable+"="+name+"="+file), Control: true}
	child, err := s.Start(command)
	if err != nil {
		return nil, err.Error()
	}
	ends := endOf(child)
	limit := time.NewTimer(time.Duration((o.seconds + o.deadline) * float64(time.Second)))
	defer limit.Stop()
	select {
	case e := <-ends:
		if e.code != 0 {
			return nil, fmt.Sprintf("its process ended early (%s)", e.how)
		}
	case <-limit.C:
		child.Kill()
		return nil, fmt.Sprintf("it has not ended within %g s", o.seconds+o.deadline)
	case <-ctx.Done():
		child.Kill()
		return nil, context.Cause(ctx).Error()
	}
	text, err := readText(s, "screen", file)
	if err != nil {
		return nil, err.Error()
	}
	n, err := nodescreen.ReadNode(text)
	if err != nil {
		return nil, err.Error()
	}
	return n, ""
}
