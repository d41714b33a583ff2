package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"zbench/bench/answers/fleet/nodescreen"
	"zbench/bench/answers/fleet/rails"
	"zbench/bench/base/exit"
	"zbench/bench/base/folder"
	"zbench/bench/base/pattern"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/internal/native"
	"zbench/internal/preflight"
	"zbench/internal/probe"
)

// nodeProbes say how one node is measured: with which libraries, or on which hardware that the loopback
// simulates, and how long one measurement may take. The times `seconds` and `deadline` are in seconds.
// soak is how long zbench looks for wrong data in first messages; 0 if it does not.
type nodeProbes struct {
	libraries libraryOptions

	backend, fabric, trees string
	faults                 []string
	nodes                  int
	seed                   uint64
	seconds, deadline      float64
	size                   sizeFlag
	soak                   time.Duration
}

// addProbeFlags adds the flags that say what is measured on a node.
func (o *nodeProbes) addProbeFlags(f *pflag.FlagSet) {
	f.StringVar(&o.backend, "backend", "auto", "libraries to measure with: auto, "+backendNames(", ")+", loopback")
	f.StringVar(&o.fabric, "fabric", fabric.Default, "hardware that the loopback simulates")
	f.StringArrayVar(&o.faults, "fault", nil, "fault of a simulated node (zbench list faults)")
	f.Uint64Var(&o.seed, "seed", 1, "seed of the simulation")
	o.size = 1 << 30
	f.Var(&o.size, "size", "size of an array in memory, in bytes (default 1G)")
}

// sizeFlag is a flag for a size in bytes, such as 1G or 256M.
type sizeFlag int64

func (v *sizeFlag) String() string { return unit.Bytes(int64(*v)) }
func (v *sizeFlag) Type() string   { return "bytes" }
func (v *sizeFlag) Set(text string) error {
	n, err := unit.ParseBytes(text)
	if err == nil && n < 4096 {
		err = fmt.Errorf("%d is too small: at least 4096", n)
	}
	*v = sizeFlag(n)
	return err
}

func simulated(backend string, s State) bool {
	chosen, err := chooseBackend(s, backend)
	return err == nil && chosen == "loopback"
}

// nodesFolder returns the folder into which all nodes of a screen write.
func nodesFolder(dir string) string { return filepath.Join(dir, "nodes") }

// newNode returns an empty report of a node.
func newNode(host, backend string) *nodescreen.Node {
	return &nodescreen.Node{Schema: nodescreen.NodeSchema, Tool: toolVersion(), Host: host, Backend: backend}
}

// keepNode writes the file of a node into the folder that all nodes share.
func keepNode(s State, dir string, n *nodescreen.Node) error {
	nodes, err := folder.Shared(s.host(false), nodesFolder(dir))
	if err != nil {
		return err
	}
	return nodes.Write(n.Host+".json", n.WriteJSON)
}

// factsOf reads the facts about this node. It has a time limit, because reading a file may never
// return if a driver hangs.
func (o *nodeProbes) factsOf(ctx context.Context, s State, backend string) (*nodescreen.Node, error) {
	late := fmt.Errorf("/sys and /proc: not read within %g s", o.deadline)
	n, err := within(ctx, duration(o.deadline), late, func() (*nodescreen.Node, error) {
		n := newNode(s.Hostname(), backend)
		_, err := probe.Facts(treeFS{s.FS, "/"}, n, s.Environ())
		n.Faults = append(n.Faults, preflightFaults(s)...)
		return n, err
	})
	if errors.Is(err, late) {
		n, err = newNode(s.Hostname(), backend), nil
		n.Faults = append(n.Faults, nodescreen.Fault{Code: "no_measurement", Subject: "node", Message: late.Error(), Next: "dmesg on the node: a driver hangs"})
	}
	return n, err
}

// preflightFaults returns the errors that the checks of this host find.
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

// simulatedNode returns the report of a simulated node before the measurement, and the simulated
// machine. The facts in the report come from a recorded tree.
func (o *nodeProbes) simulatedNode(s State, node int) (*nodescreen.Node, *fabric.Machine, error) {
	n := newNode(fmt.Sprintf("node%d", node), "loopback")
	n.Simulated = true
	if o.trees != "" {
		name, err := o.tree(s, node)
		if err != nil {
			return nil, nil, err
		}
		n.Host = name
		if _, err := probe.Facts(treeFS{s.FS, filepath.Join(o.trees, name)}, n, nil); err != nil {
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
	m, err := f.Resolve(spec.World{Nodes: 1, GPUsPerNode: gpus, GPUsPerProcess: gpus}, fabric.Conditions{Seed: o.seed + uint64(node), Faults: faults, Pairs: true}) //nolint:gosec // a node number is not negative
	if err != nil {
		return nil, nil, usage(err, "`zbench list faults`")
	}
	return n, m, nil
}

// tree returns the recorded tree of a node: the folders in --trees belong to the nodes in order.
func (o *nodeProbes) tree(s State, node int) (string, error) {
	entries, err := s.FS.ReadDir(o.trees)
	if err != nil {
		return "", usagef("give a folder with one folder for each node", "--trees: %w", err)
	}
	list := slice.Where(entries, fs.DirEntry.IsDir)
	if node >= len(list) {
		return "", usagef("give --nodes "+strconv.Itoa(max(len(list), 1)), "--trees %s has the trees of %d nodes, and %d are screened", o.trees, len(list), o.nodes)
	}
	return list[node].Name(), nil
}

// nodeKey matches the key for the node in the text of a fault.
var nodeKey = pattern.New(`\bnode=([0-9]+)`)

// faultsOf returns the faults of one node, as faults of a world that has only this node. A fault
// without a node applies to every node.
func (o *nodeProbes) faultsOf(node int) ([]string, error) {
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

// probeOf returns the input for a process that measures.
func (o *nodeProbes) probeOf(ctx context.Context, s State) (probe.Config, error) {
	backend, err := chooseBackend(s, o.backend)
	if err != nil {
		return probe.Config{}, err
	}
	c := probe.Config{Native: native.Choice{Backend: backend, Getenv: s.Getenv}, Seconds: o.seconds, Bytes: 64 << 20, Message: rails.DefaultBytes, Array: int64(o.size), Seed: o.seed}
	if backend == "loopback" {
		return c, errors.New("the loopback is measured in the process that simulates it")
	}
	_, err = o.libraries.fill(ctx, s, &c.Native)
	return c, err
}

// probeVariable tells a process what to measure, and into which file to write the result:
// NAME=FILE.
const probeVariable = "ZBENCH_SCREEN_PROBE"

// noDirectPath makes RCCL send data over NICs even between GPUs of one node. It turns direct access and
// shared memory off, so that only the network remains.
var noDirectPath = []string{"NCCL_P2P_DISABLE=1", "NCCL_SHM_DISABLE=1", "NCCL_IB_DISABLE=0"}

// nicEnviron returns variables that make RCCL send all data over one NIC.
func nicEnviron(nic string) []string {
	return append([]string{"NCCL_IB_HCA==" + nic}, noDirectPath...)
}

// nicGPUs is the number of GPUs that send data over one NIC. nicBytes is the size of the collective
// in bytes.
const (
	nicGPUs  = 2
	nicBytes = 16 << 20
)

// probe makes one measurement and writes it to a node's file, which contains nothing else.
func (o *nodeProbes) probe(ctx context.Context, s State, job string) error {
	go func() {
		_, _ = io.Copy(io.Discard, s.Stdin) // this process ends when its parent ends
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
	case "product":
		if note := probe.Products(ctx, c, gpus); note != "" {
			n.Notes = append(n.Notes, note)
		}
	case "links":
		n.Links = probe.Links(ctx, c, len(gpus))
	case "collective":
		n.Collective = probe.Collective(ctx, c, len(gpus), "")
	case "soak", soakOverNICs:
		c.Seconds = o.soak.Seconds()
		n.Soak = probe.Soak(ctx, c, len(gpus), strings.TrimPrefix(name, "soak"))
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

// measure starts one process per measurement and reads the file that it wrote.
func (o *nodeProbes) measure(ctx context.Context, s State, dir string, n *nodescreen.Node) error {
	got, why := o.child(ctx, s, dir, n.Host, "memory", nil)
	if got != nil {
		n.GPUs, n.Facts = got.GPUs, append(n.Facts, got.Facts...)
	} else {
		n.Faults = append(n.Faults, nodescreen.Fault{Code: "no_measurement", Subject: "node", Message: "memory of the GPUs: " + why, Next: "`zbench doctor` on the node"})
	}
	if got, why := o.child(ctx, s, dir, n.Host, "product", nil); got == nil {
		n.Faults = append(n.Faults, nodescreen.Fault{Code: "no_measurement", Subject: "node", Message: "products of the GPUs: " + why, Next: "`zbench doctor` on the node"})
	} else {
		n.Notes = append(n.Notes, got.Notes...)
		for i := range min(len(n.GPUs), len(got.GPUs)) {
			n.GPUs[i].Product = got.GPUs[i].Product
		}
	}
	if len(n.GPUs) > 1 {
		n.Collective = o.collectiveOf(ctx, s, dir, n.Host, "collective", nil)
		if got, why := o.child(ctx, s, dir, n.Host, "links", nil); got == nil {
			n.Links = &nodescreen.Links{What: "messages between two GPUs", Bytes: rails.DefaultBytes, Error: why}
		} else {
			n.Links = got.Links
		}
		o.overNICs(ctx, s, dir, n)
		if o.soak > 0 {
			n.Soak = o.soaked(ctx, s, dir, n)
		}
	}
	return ctx.Err()
}

// soakOverNICs is a soak in which the messages between the node's GPUs cross its NICs.
const soakOverNICs = "soak over the NICs"

// soaked looks for wrong data between the node's GPUs. If the node has NICs, the messages cross them, as
// the messages of a job do.
func (o *nodeProbes) soaked(ctx context.Context, s State, dir string, n *nodescreen.Node) *nodescreen.Rate {
	name, environ := "soak", []string(nil)
	if slices.ContainsFunc(n.NICs, func(c nodescreen.NIC) bool { return c.State == "ACTIVE" }) {
		name, environ = soakOverNICs, noDirectPath
	}
	got, why := o.child(ctx, s, dir, n.Host, name, environ)
	if got == nil || got.Soak == nil {
		return &nodescreen.Rate{What: name, Error: why}
	}
	return got.Soak
}

// collectiveOf returns the collective that a child measured, or the reason why it measured none.
func (o *nodeProbes) collectiveOf(ctx context.Context, s State, dir, host, name string, environ []string) *nodescreen.Rate {
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

// overNICs measures the collective over each NIC with an active port. It stops after two failures
// in a row, because the cause is then not the NIC.
func (o *nodeProbes) overNICs(ctx context.Context, s State, dir string, n *nodescreen.Node) {
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
			for j := range n.NICs { // no findings about single NICs: the method itself does not work here
				if x := n.NICs[j].Collective; x != nil && x.Error != "" {
					n.NICs[j].Collective = nil
				}
			}
			return
		}
		n.NICs[i].Collective = r
	}
}

// child makes one measurement of a host in a process of its own and reads the file that it wrote.
// Without a file it returns the reason.
func (o *nodeProbes) child(ctx context.Context, s State, dir, host, name string, environ []string) (*nodescreen.Node, string) {
	file, err := filepath.Abs(filepath.Join(nodesFolder(dir), host+"."+name+".part"))
	if err != nil {
		return nil, err.Error()
	}
	defer s.FS.Remove(file) //nolint:errcheck // the file may not exist
	why, err := o.probing(ctx, s, name+"="+file, environ, max(o.seconds, o.soak.Seconds())+o.deadline, nil)
	if why != "" {
		return nil, why
	}
	var text []byte
	var n *nodescreen.Node
	if err == nil {
		text, err = readText(s, "screen", file)
	}
	if err == nil {
		n, err = nodescreen.ReadNode(text)
	}
	if err != nil {
		return nil, err.Error()
	}
	return n, ""
}

// probing runs this command as a process that measures a job, and kills the process after the given
// number of seconds. heard receives each line that the process prints, and reports whether the
// seconds start again from now. If heard is nil, the lines go to the terminal. `why` is empty if
// the process ended well.
func (o *nodeProbes) probing(ctx context.Context, s State, job string, environ []string, seconds float64, heard func(line string) bool) (why string, err error) {
	lines, over := make(chan string), make(chan struct{})
	defer close(over)
	c := Command{Argv: slices.Concat(s.Program, s.Args), Environ: slices.Concat(s.Environ(), environ, []string{probeVariable + "=" + job}), Control: true}
	if heard != nil {
		c.Output = &overheard{to: io.Discard, says: func(line string) {
			select {
			case lines <- line:
			case <-over:
			}
		}}
	}
	child, err := s.Start(c)
	if err != nil {
		return "", err
	}
	late := time.NewTimer(duration(seconds))
	defer late.Stop()
	ends, last := endOf(child), ""
	for {
		select {
		case line := <-lines:
			if heard(line) {
				late.Reset(duration(seconds))
			} else {
				last = cmp.Or(line, last)
			}
		case e := <-ends:
			if e.code != 0 {
				why = strings.TrimSuffix(fmt.Sprintf("its process ended early (%s): %s", e.how, last), ": ")
			}
			return why, ctx.Err()
		case <-late.C:
			child.Kill()
			return fmt.Sprintf("it has not ended within %g s", seconds), nil
		case <-ctx.Done():
			child.Kill()
			return "", context.Cause(ctx)
		}
	}
}

// simulation begins the name of a job that measures simulated nodes: simulation=FROM-END=DIR.
const simulation = "simulation"

// measuredWord begins the line that reports that a node of a simulation was measured.
const measuredWord = "zbench has measured "

// simulate screens the simulated nodes [from, end). Another process measures them one after the
// other, because the loopback has one world at a time. If a node hangs, simulate kills that
// process, and a new process continues with the next node.
func (o *nodeProbes) simulate(ctx context.Context, s State, dir string, from, end int) error {
	for i := from; i < end; i++ { // check all before anything is started
		if _, _, err := o.simulatedNode(s, i); err != nil {
			return err
		}
	}
	for from < end {
		why, err := o.probing(ctx, s, fmt.Sprintf("%s=%d-%d=%s", simulation, from, end, dir), nil, o.deadline, func(line string) bool {
			measured := strings.HasPrefix(line, measuredWord)
			if measured {
				from++
			}
			return measured
		})
		if err != nil || from == end {
			return err
		}
		n, _, err := o.simulatedNode(s, from)
		if err != nil {
			return err
		}
		n.Faults = append(n.Faults, nodescreen.Fault{Code: "no_measurement", Subject: "node", Message: "memory, products and collective: " + why, Next: "`zbench doctor` on the node"})
		if err := keepNode(s, dir, n); err != nil {
			return err
		}
		from++
	}
	return nil
}

// simulating measures the nodes in this process, and prints a line after each.
func (o *nodeProbes) simulating(ctx context.Context, s State, job string) error {
	var from, end int
	nodes, dir, ok := strings.Cut(job, "=")
	if _, err := fmt.Sscanf(nodes, "%d-%d", &from, &end); err != nil || !ok {
		return usagef("unset it", "%s: %q is not FROM-END=DIR", probeVariable, job)
	}
	for i := from; i < end; i++ {
		n, m, err := o.simulatedNode(s, i)
		if err != nil {
			return err
		}
		c := probe.Simulated(*m)
		c.Soaks = o.soak > 0
		if err := probe.Measure(ctx, c, n); err != nil {
			return err
		}
		if err := keepNode(s, dir, n); err != nil {
			return err
		}
		fmt.Fprintf(s.Stderr, "%s%s\n", measuredWord, n.Host)
	}
	return nil
}
