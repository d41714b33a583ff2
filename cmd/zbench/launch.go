package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zbench/bench/engine"
	"zbench/bench/fabric"
	"zbench/bench/spec"
	"zbench/internal/launch"
)

// launchFlagSet is how the processes of a sweep come to be.
type launchFlagSet struct {
	method    string
	slurmArgs []string
	hostfile  string
	dry       bool
	// ended are the processes whose end the parent has heard of.
	ended <-chan endedTask
	// bad is the folder of a screen whose failed nodes are left out; screen tells that it is
	// made first. refused are nodes that a launcher's processes must not be on.
	bad     string
	screen  bool
	refused refusedHosts
}

// launchFlags names the flags: they say where a sweep runs, not what is measured, and a
// resumed one may have others.
var launchFlags = []string{"launch", "slurm-args", "hostfile", "dry-run", "exclude-bad", "screen-first"}

// switches are those without a value.
var switches = []string{"dry-run", "screen-first"}

func addLaunchFlags(f *pflag.FlagSet, o *launchFlagSet) {
	var methods []string
	for _, m := range launch.Methods() {
		methods = append(methods, string(m))
	}
	f.StringVar(&o.method, "launch", string(launch.Auto), "how the processes start: "+strings.Join(methods, ", ")+"; inproc is this process alone")
	f.StringArrayVar(&o.slurmArgs, "slurm-args", nil, "more options of srun, separated by spaces; may be repeated")
	f.StringVar(&o.hostfile, "hostfile", "", "Open MPI's file of hosts, a line each, for mpirun")
	f.BoolVar(&o.dry, "dry-run", false, "print the command, the number of cases, the time and the GPU-hours; measure nothing")
}

// launching is what this process is, and by which method the sweep runs.
type launching struct {
	role   launch.Role
	method launch.Method
	hosts  []launch.Host
	// want is the request, with the world that the method gives it.
	want spec.Spec
	// processes run on each node.
	processes int
	// excluded are nodes that take no part. kept are the others, if nodes are left out.
	excluded []string
	kept     []launch.Host
}

// place finds out what this process is and how the sweep runs. given tells that the
// number of nodes was asked for.
func (o *launchFlagSet) place(s State, want spec.Spec, given bool) (launching, error) {
	role, detected := launch.Detect(s.Getenv)
	l := launching{role: role, want: want.Clone()}
	asked := launch.Asked{
		Method: launch.Method(o.method), Hostfile: o.hostfile != "", Simulated: want.Backend == "loopback", Dry: o.dry, Nodes: want.World.Nodes,
	}
	var err error
	if l.method, err = launch.Choose(role, detected, asked); err != nil {
		return l, usage(err, launchHint(detected))
	}
	if l.method == launch.Inproc {
		return l, o.exclude(s, &l, given)
	}
	if o.hostfile != "" && l.method == launch.MPI {
		if l.hosts, err = readHosts(s, o.hostfile); err != nil {
			return l, err
		}
	}
	if l.method == launch.Env {
		return l, cmp.Or(l.spreadRanks(given), o.exclude(s, &l, given))
	}
	l.spread(s, given)
	if err = o.exclude(s, &l, given); err != nil {
		return l, err
	}
	if l.single() && asked.Method == launch.Auto && len(l.excluded) == 0 { // this node may be one of those left out
		l.method, l.want = launch.Inproc, want.Clone()
	}
	return l, nil
}

// launchHint is the next step after a refused launch.
func launchHint(detected error) string {
	if detected != nil {
		return "unset what is left over from another launcher, or give --launch inproc: then this process measures alone"
	}
	return "`zbench collectives --help-all` lists the flags; --launch inproc measures with this process alone"
}

func readHosts(s State, name string) ([]launch.Host, error) {
	text, err := s.FS.ReadFile(name)
	if err != nil {
		return nil, missingFile(err, name, "give Open MPI's file of hosts to --hostfile")
	}
	hosts, err := launch.ReadHosts(string(text))
	if err != nil {
		return nil, usage(fmt.Errorf("%s: %w", name, err), "a line is a host, as: node1 slots=8")
	}
	return hosts, nil
}

// spread resolves the world: the nodes that were asked for or that there are, and the GPUs
// of each.
func (l *launching) spread(s State, given bool) {
	w := &l.want.World
	perProcess := max(w.GPUsPerProcess, 1)
	r := l.role
	if !given {
		w.Nodes = cmp.Or(len(l.hosts), l.nodesOfRole(), 1)
	}
	if w.GPUsPerNode == 0 {
		slots := r.LocalSize * perProcess
		if len(l.hosts) > 0 {
			slots = l.hosts[0].Slots * perProcess
		}
		w.GPUsPerNode = cmp.Or(slots, launch.GPUs(s.Getenv))
	}
	if w.GPUsPerNode > 0 {
		l.processes = max(w.GPUsPerNode/perProcess, 1)
	}
}

// spreadRanks resolves the world of a launcher's processes: its ranks are theirs. The nodes
// of a simulation are the fabric's, wherever its processes run.
func (l *launching) spreadRanks(given bool) error {
	w, perProcess := &l.want.World, max(l.want.World.GPUsPerProcess, 1)
	total := l.role.Size * perProcess
	if w.GPUsPerNode == 0 {
		w.GPUsPerNode = cmp.Or(l.role.LocalSize*perProcess, total)
		if f, err := fabric.ByName(l.want.Fabric); err == nil && l.want.Backend == "loopback" {
			w.GPUsPerNode = min(w.GPUsPerNode, f.Node.GPUs)
		}
		if given {
			w.GPUsPerNode = max(total/max(w.Nodes, 1), 1)
		}
	}
	if !given {
		w.Nodes = max(total/w.GPUsPerNode, 1)
	}
	if w.Nodes*w.GPUsPerNode == total {
		return nil
	}
	return usagef("give --nodes and --gpus-per-node as the launcher placed the processes, or -g",
		"%s: with -g %d they drive %d GPUs, but %d nodes of %d GPUs are %d", l.role.Text(), perProcess, total, w.Nodes, w.GPUsPerNode, w.Nodes*w.GPUsPerNode)
}

func (l *launching) nodesOfRole() int {
	r := l.role
	if r.Nodes == 0 && r.LocalSize > 0 {
		return r.Size / r.LocalSize
	}
	return r.Nodes
}

// single tells that one process drives the whole world: all GPUs of the only node. Where
// their number is not known, it is -g, as for a process that no launcher started.
func (l *launching) single() bool {
	return l.want.World.Nodes == 1 && l.processes <= 1
}

// starts tells that the sweep runs in processes that this one starts.
func (l *launching) starts() bool { return l.method != launch.Inproc && l.method != launch.Env }

// note says that the other processes of a launcher do the same.
func (l *launching) note(s State, quiet bool) {
	if l.method == launch.Inproc && l.role.Several() {
		s.note(quiet, "--launch inproc: this process measures alone; %s\n", l.role.Text())
	}
}

// place finds out where the sweep runs.
func (o *collectivesOptions) place(s State, cmd *cobra.Command) (l launching, err error) {
	f := cmd.Flags()
	want := o.want
	if f.Changed("resume") {
		if j, err := engine.ReadFolder(s.FS, o.resume); err == nil && j.Header.Record.Spec != nil && j.Header.Record.Spec.Sweep != nil {
			want = *j.Header.Record.Spec // else resuming says what is wrong with the folder
		}
	}
	given := f.Changed("nodes") || f.Changed("spec") || f.Changed("resume")
	l, err = o.launch.place(s, want, given)
	if err == nil {
		err = l.realNodes(s, given)
	}
	if err != nil || o.launch.dry {
		return l, err
	}
	l.note(s, o.quiet)
	return l, nil
}

// childArgs are the arguments of the processes that are started: this process's without
// the flags that decide how they start.
func childArgs(args []string) []string {
	var kept []string
	for i := 0; i < len(args); i++ {
		name, _, joined := strings.Cut(strings.TrimPrefix(args[i], "--"), "=")
		switch {
		case args[i] == "--":
			return append(kept, args[i:]...)
		case !strings.HasPrefix(args[i], "--") || !slices.Contains(launchFlags, name):
			kept = append(kept, args[i])
		case !slices.Contains(switches, name) && !joined:
			i++ // its value
		}
	}
	return kept
}
