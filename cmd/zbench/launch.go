package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zbench/bench/engine"
	"zbench/bench/spec"
	"zbench/internal/launch"
)

// launchFlagSet is how the processes of a sweep come to be.
type launchFlagSet struct {
	method    string
	slurmArgs []string
	hostfile  string
	dry       bool
}

// launchFlags names the flags: they say where a sweep runs, not what is measured, and a
// resumed one may have others.
var launchFlags = []string{"launch", "slurm-args", "hostfile", "dry-run"}

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
		return l, nil
	}
	if o.hostfile != "" && l.method == launch.MPI {
		if l.hosts, err = readHosts(s, o.hostfile); err != nil {
			return l, err
		}
	}
	l.spread(s, given)
	if l.single() && asked.Method == launch.Auto {
		l.method, l.want = launch.Inproc, want.Clone()
	}
	return l, nil
}

// launchHint is the next step after a refused launch.
func launchHint(detected error) string {
	if detected != nil {
		return "unset what is left over from another launcher, or give --launch inproc: then this process measures alone"
	}
	return "zbench collectives --help lists the flags; --launch inproc measures with this process alone"
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
	switch {
	case l.method == launch.Env && r.LocalSize > 0:
		l.processes = r.LocalSize
	case w.GPUsPerNode > 0:
		l.processes = max(w.GPUsPerNode/perProcess, 1)
	}
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
	return l.method != launch.Env && l.want.World.Nodes == 1 && l.processes <= 1
}

// refuse is the error of a sweep that needs several processes.
func (l *launching) refuse() error {
	const alone = "give --launch inproc: then %s measures alone, with -g GPUs of its machine"
	switch {
	case l.method == launch.Inproc:
		return nil
	case l.method == launch.Env:
		return usagef("start one process; or "+fmt.Sprintf(alone, "each process"),
			"%s, but this zbench does not drive several processes yet: each would measure a world of its own", l.role.Text())
	case l.role.Kind == launch.Alone:
		return usagef(fmt.Sprintf(alone, "this process")+"; --dry-run shows the command",
			"--launch %s starts several processes, and this zbench does not drive them yet", l.method)
	}
	return usagef(fmt.Sprintf(alone, "this process")+"; --backend loopback simulates the cluster here; --dry-run shows the command",
		"%s, and zbench would start processes there (--launch %s), but does not drive several processes yet", l.role.Text(), l.method)
}

// note says that the other processes of a launcher do the same.
func (l *launching) note(s State, quiet bool) {
	if l.method == launch.Inproc && l.role.Several() {
		s.note(quiet, "--launch inproc: this process measures alone; %s\n", l.role.Text())
	}
}

// place finds out where the sweep runs, and refuses what needs several processes, but in
// a dry run.
func (o *collectivesOptions) place(s State, cmd *cobra.Command) (l launching, err error) {
	f := cmd.Flags()
	want := o.want
	if f.Changed("resume") {
		if j, err := engine.ReadFolder(s.FS, o.resume); err == nil && j.Header.Record.Spec != nil && j.Header.Record.Spec.Sweep != nil {
			want = *j.Header.Record.Spec // else resuming says what is wrong with the folder
		}
	}
	l, err = o.launch.place(s, want, f.Changed("nodes") || f.Changed("spec") || f.Changed("resume"))
	if err != nil || o.launch.dry {
		return l, err
	}
	l.note(s, o.quiet)
	return l, l.refuse()
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
		case name != "dry-run" && !joined:
			i++ // its value
		}
	}
	return kept
}
