package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zbench/bench/exit"
	"zbench/bench/fabric"
	"zbench/bench/finding"
	"zbench/bench/fleet/nodescreen"
	"zbench/bench/folder"
	"zbench/bench/slice"
	"zbench/bench/spec"
	"zbench/bench/unit"
	"zbench/internal/launch"
)

// nodeScreenOptions are the options of screen.
type nodeScreenOptions struct {
	launch    launchFlagSet
	libraries libraryOptions

	backend, fabric   string
	faults            []string
	nodes             int
	seed              uint64
	seconds, deadline float64
	size              sizeFlag
	trees, judge      string
	// given tells that the number of nodes was asked for.
	given bool
	output
}

func newNodeScreen(s State) *cobra.Command {
	var o nodeScreenOptions
	cmd := &cobra.Command{
		Use: "screen", Short: "Check each node alone, and name those to leave out", Args: noArgs,
		Long: `screen checks each node alone, all at the same time, before ranks of different
nodes meet: GPUs, versions of libraries and drivers, topology and error
counters, NICs by port state and speed, the bandwidth of every GPU's memory, a
matrix product of every GPU that fills its compute units (bfloat16, by the
vendor's library), a collective over the node's own GPUs, and messages between
each two of them, which zbench rails' rules judge. On hardware there is also one
collective for each NIC, which no collective of one node crosses otherwise, with
NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1 NCCL_IB_HCA==NIC. That step
is untried on hardware.

No process waits for another node, so a node that hangs or crashes cannot stop
the others: each measurement is a process of its own with a deadline.

In a Slurm allocation, or with --hostfile, one process per node starts, and each
writes nodes/HOST.json into --out, a folder that all nodes share. Then the nodes
are compared: a node fails if it has fewer GPUs or NICs than most nodes, other
versions, a port that is down or slower, an error, wrong data, or a bandwidth
or rate that lies 8 % and 5 robust standard deviations below the median. What
most nodes have in common fails no node. --judge compares such files again.

The result is report.html, screen.json, and pass.txt and fail.txt, one node a
line. The exit code is 0 if no node fails, 4 if one has wrong data, 3 if one
fails otherwise, and 6 if nothing can be told.`,
		Example: `  salloc -N 128 zbench screen --out screened      all nodes of the allocation
  zbench collectives --exclude-bad screened    the world without them
  srun --exclude=./screened/fail.txt …            any other job without them
  zbench screen --hostfile hosts --out screened   by mpirun
  zbench screen                                   this node
  zbench screen --judge screened                  compare the files again
  zbench screen --backend loopback --nodes 16 --fault slow_hbm:node=3,gpu=5,left=0.85`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.given = cmd.Flags().Changed("nodes")
			return runNodeScreen(cmd.Context(), s, o)
		},
	}
	addNodeScreenFlags(cmd, &o)
	return cmd
}

func addNodeScreenFlags(cmd *cobra.Command, o *nodeScreenOptions) {
	addLibraryFlags(cmd, &o.libraries)
	f := cmd.Flags()
	addLaunchFlags(f, &o.launch)
	f.StringVar(&o.backend, "backend", "auto", "libraries to measure with: auto, "+backendNames(", ")+", loopback")
	f.IntVar(&o.nodes, "nodes", 1, "number of nodes (default those of the launcher)")
	f.StringVar(&o.fabric, "fabric", fabric.Default, "hardware that the loopback simulates")
	f.StringArrayVar(&o.faults, "fault", nil, "fault of a simulated node (zbench list faults)")
	f.Uint64Var(&o.seed, "seed", 1, "seed of the simulation")
	f.StringVar(&o.trees, "trees", "", "folder with a recorded tree of /sys and /proc for each simulated node, named after it")
	f.StringVar(&o.judge, "judge", "", "compare the files that nodes have written into this folder; measure nothing; --out takes the result")
	f.Float64Var(&o.seconds, "hbm-seconds", 10, "seconds of copying in every GPU's memory, of its products and of the collective, each; the loopback takes 20 samples")
	o.size = 1 << 30
	f.Var(&o.size, "size", "size of an array in memory, in bytes (default 1G)")
	f.Float64Var(&o.deadline, "deadline", 120, "seconds that one measurement of a node may take, beside --hbm-seconds; all of a simulated node")
	o.addFlags(f, "folder to create, which all nodes share (default a new dated one)")
	o.addForce(f)
	o.addQuiet(f)
}

// runNodeScreen does what this process is for: a probe of one node, a node of several, the
// parent of all, or the comparison alone.
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

// place finds out what this process is. A node has one process, whatever its GPUs.
func (o *nodeScreenOptions) place(s State) (launching, error) {
	want := spec.Spec{Backend: o.backend, Fabric: o.fabric, World: spec.World{Nodes: o.nodes, GPUsPerNode: 1, GPUsPerProcess: 1}}
	l, err := o.launch.place(s, want, o.given)
	if err != nil {
		return l, err
	}
	if l.method == launch.Inproc && l.role.Start == launch.Slurm && launch.Method(o.launch.method) == launch.Auto {
		l.method, l.processes, l.want.World.Nodes = launch.Slurm, 1, max(l.role.Nodes, 1) // salloc's shell need not be on the node
	}
	if simulated(o.backend, s) && l.starts() && launch.Method(o.launch.method) == launch.Auto {
		l.method = launch.Inproc
	}
	if l.method == launch.Inproc {
		_, err = chooseBackend(s, o.backend) // before there is a folder
	}
	return l, err
}

func simulated(backend string, s State) bool {
	chosen, err := chooseBackend(s, backend)
	return err == nil && chosen == "loopback"
}

// screen screens all nodes into a new folder, and lets end deliver the judgement while the folder is
// locked.
func (o *nodeScreenOptions) screen(ctx context.Context, s State, l launching, end func(*nodescreen.Document, result) error) error {
	started := s.Now()
	dir, err := folder.New(s.host(o.quiet), o.out, "screen", o.force)
	if err != nil {
		return err
	}
	defer dir.Close() //nolint:errcheck // a lock that stays is taken over by the next run
	// Of --force: no node may be judged by what it wrote before.
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
	d, err := o.read(s, dir.Path, f)
	if err != nil {
		return err
	}
	r := o.judged(s, d, started)
	r.dir = dir
	return end(d, r)
}

// compare judges the files of a folder and prints the result; --out takes it as files, too.
func (o *nodeScreenOptions) compare(s State) error {
	started := s.Now()
	var f nodescreen.Fleet
	if o.given {
		f.Expected = o.nodes
	}
	d, err := o.read(s, o.judge, f)
	if err != nil {
		return err
	}
	return s.deliver(o.output, o.judged(s, d, started))
}

// judged is a judgement with the lists of nodes.
func (o *nodeScreenOptions) judged(s State, d *nodescreen.Document, started time.Time) result {
	shown := d.Shown(toolVersion())
	return result{
		shown: shown, files: whole(shown, nodeLists(d.Pass, d.Fail, d.Unclear)...), started: started,
		before: func(dir *folder.Folder) {
			s.note(o.quiet, "Wrote %s (report.html, screen.json, pass.txt, fail.txt) in %s\n", dir.Path, s.Now().Sub(started).Round(10*time.Millisecond))
		},
	}
}

// nodesFolder is where the nodes of a screen write.
func nodesFolder(dir string) string { return filepath.Join(dir, "nodes") }

// read reads what the nodes have written, and judges it.
func (o *nodeScreenOptions) read(s State, dir string, f nodescreen.Fleet) (*nodescreen.Document, error) {
	nodes := nodesFolder(dir)
	entries, err := s.FS.ReadDir(nodes)
	if err != nil && o.judge != "" {
		return nil, usagef("give the folder that `zbench screen --out DIR` made", "--judge: %w", err)
	}
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

// sizeFlag is a size in bytes: 1G, 256M.
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

// startOf is one process for each node, which writes into dir.
func (o *nodeScreenOptions) startOf(s State, l launching, dir string) launch.Start {
	start := o.launch.startOf(s, l, "screen", l.want.World.Nodes, 1)
	start.Args = append(start.Args, "--out", dir)
	start.Key = fmt.Sprintf("screen/%s/%d", s.Hostname(), s.PID)
	start.Simulated, start.Taken, start.GPUs = simulated(o.backend, s), s.Taken, launch.GPUs(s.Getenv)
	return start
}

// names are the hosts that are to report, as far as the launcher tells them.
func (l launching) names(s State) []string {
	var list []string
	switch l.method {
	case launch.MPI:
		list = slice.Map(l.hosts, func(h launch.Host) string { return h.Name })
	case launch.Slurm:
		list, _ = launch.HostsOf(s.Getenv("SLURM_JOB_NODELIST")) // without, they are counted
	case launch.Auto, launch.Inproc, launch.Local, launch.Env:
	}
	if len(list) != l.want.World.Nodes { // a part of them: which is not known
		return nil
	}
	return list
}

// dryRun prints what would be started.
func (o *nodeScreenOptions) dryRun(s State, l launching) error {
	if !l.starts() {
		_, err := fmt.Fprintf(s.Stdout, "this process screens %d nodes\n", max(o.nodes, 1))
		return err
	}
	lines, err := launch.Command(o.startOf(s, l, "DIR"))
	if err != nil {
		return usage(err, listedBy("screen"))
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(s.Stdout, line); err != nil {
			return err
		}
	}
	return nil
}

// measurements bounds how many measurements of a node follow each other: memory, products, a
// collective, links, and a collective for each NIC.
const measurements = 13

// sustained are those of them that may take --hbm-seconds.
const sustained = 3

// startNodes starts a process on each node and waits until all have ended, at most until
// the deadline. How they end is not judged: what they have written is.
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
	limit := time.NewTimer(duration(sustained*o.seconds + measurements*o.deadline))
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

// screenFirst screens all nodes of the job before the sweep starts on those that do not
// fail, and tells the flags where the result is. A job with more nodes than --nodes has spare
// ones.
func (o *collectivesOptions) screenFirst(ctx context.Context, s State, cmd *cobra.Command, l launching) error {
	switch {
	case o.launch.bad != "":
		return usagef("omit one of them", "--screen-first and --exclude-bad exclude each other: --screen-first leaves out what it finds itself")
	case l.method == launch.Env:
		return usagef("`zbench screen --out DIR` before the launcher, then --exclude-bad", "%s: --screen-first starts one process for each node, so it is for the zbench that starts the ranks", l.role.Text())
	case l.starts() && simulated(l.want.Backend, s):
		return usagef("leave --launch out", "--screen-first of simulated nodes is for one process")
	case o.launch.dry:
		return nil
	}
	screen, args, err := o.screenOptions(s, cmd, l)
	if err != nil {
		return err
	}
	s.note(o.quiet, "Screening the nodes first (--screen-first)\n")
	of := s
	of.Args = args
	place, err := screen.place(of)
	if err != nil {
		return err
	}
	return screen.screen(ctx, of, place, func(d *nodescreen.Document, r result) error {
		if err := r.keep(of); err != nil {
			return err
		}
		r.before(r.dir)
		o.launch.bad = r.dir.Path
		return o.rest(s, d, r.dir.File("report.html"))
	})
}

// rest says which nodes are left for the sweep; an error where none is.
func (o *collectivesOptions) rest(s State, d *nodescreen.Document, page string) error {
	s.note(o.quiet && d.State == finding.Healthy, "zbench: screen: %s\n", d.Verdict())
	for _, n := range d.Standings() {
		if len(n.Findings) > 0 {
			s.note(false, "  %s: %s\n", n.Host, n.Findings[0].Reason())
		}
	}
	switch {
	case d.State == finding.NotChecked:
		return exit.With(exit.Want, fmt.Errorf("the screen of the nodes tells nothing: no node reported"), "`zbench screen` alone shows the launcher's messages; or omit --screen-first")
	case d.State == finding.Faulty && len(d.Fail) == 0:
		return exit.With(exit.Regression, fmt.Errorf("%d of %d nodes reported nothing to the screen, and their names are unknown: they cannot be left out", d.Expected-d.Nodes, d.Expected), "see "+page)
	case len(d.Pass)+len(d.Unclear) == 0:
		return exit.With(exit.Regression, fmt.Errorf("every node fails the screen: none is left for the sweep"), "see "+page)
	}
	return nil
}

// screenOptions are the options of the screen, and the arguments of its processes: those of
// the sweep that say where and with which libraries.
func (o *collectivesOptions) screenOptions(s State, cmd *cobra.Command, l launching) (*nodeScreenOptions, []string, error) {
	args := []string{"screen", "--backend=" + o.want.Backend}
	for _, name := range append(libraryFlags(), "launch", "hostfile") {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			args = append(args, "--"+name+"="+f.Value.String())
		}
	}
	for _, text := range o.launch.slurmArgs {
		args = append(args, "--slurm-args="+text)
	}
	if simulated(o.want.Backend, s) {
		args = append(args, fmt.Sprintf("--nodes=%d", l.want.World.Nodes), "--fabric="+l.want.Fabric, fmt.Sprintf("--seed=%d", l.want.Seed))
		for _, text := range l.want.Faults {
			args = append(args, "--fault="+text)
		}
	}
	if o.out != "" {
		args = append(args, "--out="+strings.TrimRight(o.out, "/")+"-screen")
	}
	if o.force {
		args = append(args, "--force")
	}
	options, screen := &nodeScreenOptions{}, &cobra.Command{}
	addNodeScreenFlags(screen, options)
	err := screen.ParseFlags(args[1:])
	options.given = screen.Flags().Changed("nodes")
	options.quiet = o.quiet
	return options, args, err
}
