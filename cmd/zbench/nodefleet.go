package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zbench/bench/answers/fleet/nodescreen"
	"zbench/bench/base/exit"
	"zbench/bench/base/folder"
	"zbench/bench/base/slice"
	"zbench/bench/run/plan"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/internal/launch"
)

// nodeScreenOptions are the options of a screen of all nodes of a job.
type nodeScreenOptions struct {
	nodeProbes
	launch launchFlagSet
	judge  string
	// given is true if the user gave the number of nodes.
	given bool
	output
}

func addNodeScreenFlags(cmd *cobra.Command, o *nodeScreenOptions) {
	addLibraryFlags(cmd, &o.libraries)
	f := cmd.Flags()
	addLaunchFlags(f, &o.launch)
	o.addProbeFlags(f)
	f.IntVar(&o.nodes, "nodes", 1, "number of nodes (default those of the launcher)")
	f.StringVar(&o.trees, "trees", "", "folder with a recorded tree of /sys and /proc for each simulated node, named after it")
	f.StringVar(&o.judge, "judge", "", "compare the files that nodes have written into this folder; measure nothing; --out takes the result")
	f.Float64Var(&o.seconds, "hbm-seconds", 10, "seconds of copying in every GPU's memory, of its products and of the collective, each; the loopback takes 20 samples")
	f.Float64Var(&o.deadline, "deadline", 120, "seconds that one measurement of a node may take, beside --hbm-seconds; all of a simulated node")
	f.DurationVar(&o.soak, "soak", 0, "also look for wrong data in first messages for so long: a short zbench soak of each node alone; the loopback makes 20 attempts")
	o.addFlags(f, "folder to create, which all nodes share (default a new dated one)")
	o.addForce(f)
}

// runNodeScreen does the work of this process. The process may measure one part of a node, be one
// of several nodes, be the parent of all, or only compare files.
func runNodeScreen(ctx context.Context, s State, o nodeScreenOptions) error {
	if job := s.Getenv(probeVariable); job != "" {
		return o.probe(ctx, s, job)
	}
	help := listedBy("screen")
	switch {
	case o.nodes < 1:
		return usagef(help, "--nodes must be at least 1, not %d", o.nodes)
	case !(o.seconds > 0 && o.seconds <= 3600) || !(o.deadline > 0 && o.deadline <= 3600):
		return usagef(help, "--hbm-seconds and --deadline must be above 0 and at most 3600 seconds")
	case o.soak < 0 || o.soak > time.Hour:
		return usagef(help, "--soak is a time of at most 1h, not %s", o.soak)
	case o.judge != "":
		return o.compare(s)
	}
	l, err := o.place(s)
	if err != nil {
		return err
	}
	if l.method == launch.Env {
		return o.asNode(ctx, s, l.role)
	}
	if o.launch.dry {
		return o.dryRun(s, l)
	}
	return o.screen(ctx, s, l, func(_ *nodescreen.Document, r result) error { return s.deliver(o.output, r) })
}

// asNode screens this node, as one of several on which a launcher has started processes. Only the
// first process on each node does the work.
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

// node screens this node. It reads the facts in this process, and runs each measurement in a
// process of its own.
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

// place determines the role of this process. A node has one process, whatever its number of GPUs.
func (o *nodeScreenOptions) place(s State) (launching, error) {
	want := spec.Spec{Backend: o.backend, Fabric: o.fabric, World: spec.World{Nodes: o.nodes, GPUsPerNode: 1, GPUsPerProcess: 1}}
	l, err := o.launch.place(s, want, o.given)
	if err != nil {
		return l, err
	}
	if l.method == launch.Inproc && l.role.Start == launch.Slurm && launch.Method(o.launch.method) == launch.Auto {
		l.method, l.processes, l.want.World.Nodes = launch.Slurm, 1, max(l.role.Nodes, 1) // the shell of salloc may run on another host
	}
	if simulated(o.backend, s) && l.starts() && launch.Method(o.launch.method) == launch.Auto {
		l.method = launch.Inproc
	}
	if l.method == launch.Inproc {
		_, err = chooseBackend(s, o.backend) // refuse a bad backend before a folder exists
	}
	return l, err
}

// screen screens all nodes into a new folder. end delivers the judgement while the folder is
// locked.
func (o *nodeScreenOptions) screen(ctx context.Context, s State, l launching, end func(*nodescreen.Document, result) error) error {
	started := s.Now()
	dir, err := folder.New(s.host(o.quiet), o.out, "screen", o.force)
	if err != nil {
		return err
	}
	defer dir.Close() //nolint:errcheck // the next run replaces a lock that remains
	// With --force, files that nodes wrote in an earlier screen must not be judged.
	before, _ := s.FS.ReadDir(nodesFolder(dir.Path))
	for _, e := range before {
		if err := s.FS.Remove(filepath.Join(nodesFolder(dir.Path), e.Name())); err != nil {
			return exit.With(exit.Run, err, "choose another --out")
		}
	}
	f := nodescreen.Fleet{Expected: l.want.World.Nodes}
	switch {
	case l.starts():
		f.Hosts = l.names(s)
		err = o.startNodes(ctx, s, l, dir.Path)
	case simulated(o.backend, s):
		f.Expected = o.nodes
		err = o.simulate(ctx, s, dir.Path, 0, o.nodes)
	default:
		err = o.node(ctx, s, dir.Path)
	}
	if err != nil {
		return err
	}
	d, err := readNodes(s, dir.Path, f)
	if err != nil {
		return err
	}
	r := o.judged(s, d, started)
	r.dir = dir
	return end(d, r)
}

// compare judges the files in a folder and prints the result. With --out it also writes files.
func (o *nodeScreenOptions) compare(s State) error {
	started := s.Now()
	var f nodescreen.Fleet
	if o.given {
		f.Expected = o.nodes
	}
	d, err := readScreen(s, "judge", o.judge, f)
	if err != nil {
		return err
	}
	return s.deliver(o.output, o.judged(s, d, started))
}

// judged returns a judgement together with the lists of nodes.
func (o *nodeScreenOptions) judged(s State, d *nodescreen.Document, started time.Time) result {
	shown := d.Shown(toolVersion())
	return result{
		shown: shown, files: whole(shown, nodeLists(d.Pass, d.Fail, d.Unclear)...), started: started,
		before: func(dir *folder.Folder) {
			s.note(o.quiet, "Wrote %s (report.html, screen.json, pass.txt, fail.txt) in %s\n", dir.Path, s.Now().Sub(started).Round(10*time.Millisecond))
		},
	}
}

// readScreen judges the files in the folder of an earlier screen, which the user named with an
// option.
func readScreen(s State, option, dir string, f nodescreen.Fleet) (*nodescreen.Document, error) {
	if info, err := s.FS.Stat(nodesFolder(dir)); err != nil || !info.IsDir() {
		return nil, usagef("give the folder that `zbench screen --out DIR` made", "--%s %s has no folder nodes", option, dir)
	}
	return readNodes(s, dir, f)
}

// readNodes judges the files that the nodes of a screen wrote. Without any file no node reported.
func readNodes(s State, dir string, f nodescreen.Fleet) (*nodescreen.Document, error) {
	nodes := nodesFolder(dir)
	entries, _ := s.FS.ReadDir(nodes)
	for _, e := range entries {
		if e.IsDir() || filepath.Ext(e.Name()) != ".json" || s.FS.IsTemporary(e.Name()) {
			continue
		}
		text, err := readText(s, "screen", filepath.Join(nodes, e.Name()))
		if err != nil {
			return nil, err
		}
		noteEdited(s, filepath.Join(nodes, e.Name()), text)
		n, err := nodescreen.ReadNode(text)
		if err != nil {
			return nil, exit.With(exit.Run, fmt.Errorf("%s: %w", filepath.Join(nodes, e.Name()), err), "remove the file, and screen that node again")
		}
		f.Nodes = append(f.Nodes, n)
	}
	return nodescreen.Judge(f), nil
}

// startOf returns the command that starts one process per node. The processes write into dir.
func (o *nodeScreenOptions) startOf(s State, l launching, dir string) launch.Start {
	start := o.launch.startOf(s, l, "screen", l.want.World.Nodes, 1)
	start.Args = append(start.Args, "--out", dir)
	start.Key = fmt.Sprintf("screen/%s/%d", s.Hostname(), s.PID)
	start.Simulated, start.Taken, start.GPUs = simulated(o.backend, s), s.Taken, launch.GPUs(s.Getenv)
	return start
}

// names returns the hosts that should report, if the launcher lists them.
func (l launching) names(s State) []string {
	var list []string
	switch l.method {
	case launch.MPI:
		list = slice.Map(l.hosts, func(h launch.Host) string { return h.Name })
	case launch.Slurm:
		list, _ = launch.HostsOf(s.Getenv("SLURM_JOB_NODELIST")) // without names, the hosts are only counted
	case launch.Auto, launch.Inproc, launch.Local, launch.Env:
	}
	if len(list) != l.want.World.Nodes { // the run uses only some of these hosts, and it is not known which
		return nil
	}
	return list
}

// dryRun prints what would be started, and how long it may take.
func (o *nodeScreenOptions) dryRun(s State, l launching) error {
	var out strings.Builder
	if l.starts() {
		lines, err := launch.Command(o.startOf(s, l, "DIR"))
		if err != nil {
			return usage(err, listedBy("screen"))
		}
		for _, line := range lines {
			fmt.Fprintln(&out, line)
		}
	} else {
		fmt.Fprintf(&out, "this process screens %d nodes\n", max(o.nodes, 1))
	}
	f, err := fabric.ByName(o.fabric)
	if err != nil {
		return usage(err, "`zbench list fabrics` describes them")
	}
	each := cmp.Or(launch.GPUs(s.Getenv), f.Node.GPUs)
	out.WriteString(plan.Estimate{
		Seconds: plan.Span{Low: sustained*o.seconds + o.soak.Seconds(), High: o.longest().Seconds()},
		Ranks:   max(l.want.World.Nodes, 1) * each,
	}.Spent(simulated(o.backend, s)))
	_, err = io.WriteString(s.Stdout, out.String())
	return err
}

// measurements is an upper bound for the number of measurements that a node makes one after the
// other: memory, products, a collective, links, and a collective per NIC. A soak is one more.
const measurements = 13

// sustained is the number of these measurements that may take --hbm-seconds.
const sustained = 3

// longest returns the longest time that a node may measure.
func (o *nodeScreenOptions) longest() time.Duration {
	each := measurements
	if o.soak > 0 {
		each++
	}
	return o.soak + duration(sustained*o.seconds+float64(each)*o.deadline)
}

// startNodes starts one process per node and waits until all have ended, or until the deadline. It
// ignores their exit codes: only the files that they have written count.
func (o *nodeScreenOptions) startNodes(ctx context.Context, s State, l launching, dir string) error {
	shared, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	start := o.startOf(s, l, shared)
	lines, err := launch.Command(start)
	if err != nil {
		return usage(err, listedBy("screen")+"; --launch inproc screens this node alone")
	}
	f := &children{s: s, ends: make(chan ending, len(lines))}
	for _, line := range lines {
		if err := f.add(Command{Argv: line.Argv, Environ: line.Environ(start.Environ, ""), Interrupts: interruptsOf[l.method]}); err != nil {
			return err
		}
	}
	limit := time.NewTimer(o.longest())
	defer limit.Stop()
	for left := len(lines); left > 0; left-- {
		select {
		case <-f.ends:
		case <-limit.C:
			f.killed(left)
			s.note(false, "zbench: the nodes have not ended within their deadline; those that reported are compared\n")
			return nil
		case <-ctx.Done():
			f.killed(left)
			return context.Cause(ctx)
		}
	}
	return nil
}
