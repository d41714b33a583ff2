package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"zbench/bench/engine"
	"zbench/bench/exit"
	"zbench/bench/fabric"
	"zbench/bench/finding"
	"zbench/bench/fleet/nodescreen"
	"zbench/bench/spec"
	"zbench/internal/launch"
)

// nodeScreenOptions are the options of screen.
type nodeScreenOptions struct {
	launch    launchFlagSet
	libraries libraryOptions

	backend, fabric     string
	faults              []string
	nodes               int
	seed                uint64
	seconds, deadline   float64
	size                sizeFlag
	trees, judge        string
	out, format         string
	force, quiet, given bool
}

func newNodeScreen(s State) *cobra.Command {
	var o nodeScreenOptions
	cmd := &cobra.Command{
		Use: "screen", Short: "Check each node alone, and name those to leave out", Args: noArgs,
		Long: `screen checks each node alone, all at the same time, before ranks of different
nodes meet: GPUs, versions of libraries and drivers, topology and error
counters, NICs by port state and speed, the bandwidth of every GPU's memory, and
a collective over the node's own GPUs. On hardware there is also one collective
for each NIC, which no collective of one node crosses otherwise, with
NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1 NCCL_IB_HCA==NIC. That step is untried on
hardware.

No process waits for another node, so a node that hangs or crashes cannot stop
the others: each measurement is a process of its own with a deadline.

In a Slurm allocation, or with --hostfile, one process per node starts, and each
writes nodes/HOST.json into --out, a folder that all nodes share. Then the nodes
are compared: a node fails if it has fewer GPUs or NICs than most nodes, other
versions, a port that is down or slower, an error, wrong data, or a bandwidth
that lies 8 % and 5 robust standard deviations below the median. What most nodes
have in common fails no node. --judge compares such files again.

The result is report.html, screen.json, and pass.txt and fail.txt, one node a
line. The exit code is 0 if no node fails, 3 if one does, and 6 if nothing can
be told.`,
		Example: `  salloc -N 128 zbench screen --out screened      all nodes of the allocation
  zbench collectives --exclude-bad screened       the world without them
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
	f.Float64Var(&o.seconds, "hbm-seconds", 10, "seconds of copying in every GPU's memory; the loopback takes 20 samples")
	o.size = 1 << 30
	f.Var(&o.size, "size", "size of an array in memory, in bytes (default 1G)")
	f.Float64Var(&o.deadline, "deadline", 120, "seconds that one measurement of a node may take, beside --hbm-seconds; all of a simulated node")
	f.StringVar(&o.out, "out", "", "folder to create, which all nodes share (default a new dated one)")
	f.BoolVar(&o.force, "force", false, "write into a folder that has files")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no progress on standard error")
	formatFlag(f, &o.format)
}

// runNodeScreen does what this process is for: a probe of one node, a node of several, the
// parent of all, or the comparison alone.
func runNodeScreen(ctx context.Context, s State, o nodeScreenOptions) error {
	if job := s.Getenv(probeVariable); job != "" {
		return o.probe(ctx, s, job)
	}
	const help = "`zbench screen --help-all` lists the flags"
	if err := checkFormat(o.format, help); err != nil {
		return err
	}
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
	return o.begin(ctx, s, l)
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

// screened is the nodes' reports and the judgement on them.
type screened struct {
	*nodescreen.Document
	nodes []*nodescreen.Node
}

// begin screens all nodes from this process and compares them.
func (o *nodeScreenOptions) begin(ctx context.Context, s State, l launching) error {
	if o.launch.dry {
		return o.dryRun(s, l)
	}
	d, _, err := o.screen(ctx, s, l)
	if err != nil {
		return err
	}
	if err := o.show(s, d.Document); err != nil {
		return err
	}
	return screenVerdict(d.Document)
}

// screen screens all nodes and writes the folder, whose path it returns.
func (o *nodeScreenOptions) screen(ctx context.Context, s State, l launching) (d screened, path string, err error) {
	started := s.Now()
	dir, err := engine.NewFolder(s.host(o.quiet), o.out, "screen", o.force)
	if err != nil {
		return d, "", err
	}
	defer dir.Close() //nolint:errcheck // a lock that stays is taken over by the next run
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
		return d, "", err
	}
	if d, err = o.read(s, dir.Path, f); err != nil {
		return d, "", err
	}
	return d, dir.Path, o.write(s, dir, started, d.Document)
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
	if o.out != "" {
		dir, err := engine.NewFolder(s.host(o.quiet), o.out, "screen", o.force)
		if err != nil {
			return err
		}
		defer dir.Close() //nolint:errcheck // a lock that stays is taken over by the next run
		if err := o.write(s, dir, started, d.Document); err != nil {
			return err
		}
	}
	if err := o.show(s, d.Document); err != nil {
		return err
	}
	return screenVerdict(d.Document)
}

// write writes the files that follow from the judgement.
func (o *nodeScreenOptions) write(s State, dir *engine.Folder, started time.Time, d *nodescreen.Document) error {
	if err := s.keep(dir, started, d.Shown(toolVersion()), nodeLists(d.Pass, d.Fail, d.Unclear)...); err != nil {
		return err
	}
	s.note(o.quiet, "Wrote %s (report.html, screen.json, pass.txt, fail.txt) in %s\n", dir.Path, s.Now().Sub(started).Round(10*time.Millisecond))
	return nil
}

func (o *nodeScreenOptions) show(s State, d *nodescreen.Document) error {
	return s.show(d.Shown(toolVersion()), output{format: o.format, quiet: o.quiet})
}

func screenVerdict(d *nodescreen.Document) error {
	switch d.State {
	case finding.Faulty:
		return quietError{exit.Regression}
	case finding.Healthy:
		return nil
	default:
		return quietError{exit.Want}
	}
}

// nodesFolder is where the nodes of a screen write.
func nodesFolder(dir string) string { return filepath.Join(dir, "nodes") }

// read reads what the nodes have written, and judges it.
func (o *nodeScreenOptions) read(s State, dir string, f nodescreen.Fleet) (screened, error) {
	folder := nodesFolder(dir)
	entries, err := s.FS.ReadDir(folder)
	if err != nil && o.judge != "" {
		return screened{}, usagef("give the folder that `zbench screen --out DIR` made", "--judge: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() || filepath.Ext(e.Name()) != ".json" || s.FS.IsTemporary(e.Name()) {
			continue
		}
		text, err := readText(s, "screen", filepath.Join(folder, e.Name()))
		if err != nil {
			return screened{}, err
		}
		noteEdited(s, filepath.Join(folder, e.Name()), text)
		n, err := nodescreen.ReadNode(text)
		if err != nil {
			return screened{}, exit.With(exit.Run, fmt.Errorf("%s: %w", filepath.Join(folder, e.Name()), err), "remove the file, and screen that node again")
		}
		f.Nodes = append(f.Nodes, n)
	}
	return screened{nodescreen.Judge(f), f.Nodes}, nil
}
