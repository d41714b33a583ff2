package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"zbench/bench/answers/fleet/rails"
	"zbench/bench/base/exit"
	"zbench/bench/base/jsonfile"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/internal/launch"
	"zbench/internal/rendezvous"
)

// launchFlagSet has the options for starting the processes of a sweep.
type launchFlagSet struct {
	method    string
	slurmArgs []string
	hostfile  string
	dry       bool
	// ended delivers the processes whose end the parent has seen.
	ended <-chan endedTask
	// bad is a result folder of zbench screen. Nodes that failed there are left out. If screen is
	// true, zbench screen runs before the sweep. refused has the nodes on which no process may run.
	bad     string
	screen  bool
	refused refusedHosts
}

// launchFlags are the names of these flags. They say where a sweep runs and not what it measures,
// so a resumed sweep may change them.
var launchFlags = []string{"launch", "slurm-args", "hostfile", "dry-run", "exclude-bad", "screen-first"}

// switches are the flags without a value.
var switches = []string{"dry-run", "screen-first"}

func addLaunchFlags(f *pflag.FlagSet, o *launchFlagSet) {
	f.StringVar(&o.method, "launch", string(launch.Auto), "how the processes start: "+launch.MethodNames()+"; inproc is this process alone")
	f.StringArrayVar(&o.slurmArgs, "slurm-args", nil, "more options of srun, separated by spaces; may be repeated")
	f.StringVar(&o.hostfile, "hostfile", "", "Open MPI's file of hosts, a line each, for mpirun")
	addDryRun(f, o)
}

func addDryRun(f *pflag.FlagSet, o *launchFlagSet) {
	f.BoolVar(&o.dry, "dry-run", false, "print the command, the number of cases, the time and the GPU-hours; measure nothing")
}

// launching is the role of this process, and the method by which the sweep runs.
type launching struct {
	role   launch.Role
	method launch.Method
	hosts  []launch.Host
	// want is the request, adapted to the world of the method.
	want spec.Spec
	// processes is the number of processes per node.
	processes int
	// excluded are the nodes that are left out. kept are the remaining nodes; it is empty if no
	// node is left out.
	excluded []string
	kept     []launch.Host
}

// place determines the role of this process and the method of the sweep. given is true if the user
// gave the number of nodes.
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
	if l.single() && asked.Method == launch.Auto && len(l.excluded) == 0 { // this node itself may be left out
		l.method, l.want = launch.Inproc, want.Clone()
	}
	return l, nil
}

// launchHint returns the user's next step after a launch was refused.
func launchHint(detected error) string {
	if detected != nil {
		return "unset what is left over from another launcher, or give --launch inproc: then this process measures alone"
	}
	return listedBy(spec.Collectives) + "; --launch inproc measures with this process alone"
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

// spread determines the world: the number of nodes that the user gave or that exist, and the GPUs
// per node.
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

// spreadRanks determines the world from the processes of a launcher, which determine the ranks. A
// simulation has the nodes of the fabric, wherever its processes run.
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

// single returns true if one process drives the whole world, which is all GPUs of the only node. If
// the number of GPUs is unknown, the process drives as many as -g says, as without a launcher.
func (l *launching) single() bool {
	return l.want.World.Nodes == 1 && l.processes <= 1
}

// starts returns true if this process starts the processes of the sweep.
func (l *launching) starts() bool { return l.method != launch.Inproc && l.method != launch.Env }

// note warns that every other process of the launcher measures the same.
func (l *launching) note(s State, quiet bool) {
	if l.method == launch.Inproc && l.role.Several() {
		s.note(quiet, "--launch inproc: this process measures alone; %s\n", l.role.Text())
	}
}

// startOf returns how a command is started on a number of nodes, with a number of processes on each
// node.
func (o *launchFlagSet) startOf(s State, l launching, command string, nodes, processes int) launch.Start {
	start := launch.Start{
		Method: l.method, Role: l.role, Nodes: nodes, Processes: processes,
		Program: s.Program, Args: childArgs(s.Args), Hostfile: o.hostfile, Hosts: l.hosts, Environ: s.Environ(),
	}
	if i := slices.Index(start.Args, command); i >= 0 {
		start.Args = slices.Insert(start.Args, i+1, "--launch", "env")
	}
	for _, text := range o.slurmArgs {
		start.SlurmArgs = append(start.SlurmArgs, strings.Fields(text)...)
	}
	return start
}

// childArgs returns the arguments for the started processes: the arguments of this process without
// the launch flags.
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
			i++ // the value of the flag
		}
	}
	return kept
}

// exclude leaves out nodes that failed in zbench screen. given is true if the user gave the number
// of nodes.
func (o *launchFlagSet) exclude(s State, l *launching, given bool) error {
	if o.bad == "" {
		return nil
	}
	bad, file, err := failedNodes(s, o.bad)
	switch {
	case err != nil:
		return err
	case len(bad) == 0:
		return nil
	case l.method == launch.Env: // the leader checks the places of the processes
		o.refused = refusedHosts{bad, file}
		return nil
	case l.method == launch.Inproc && simulated(l.want.Backend, s):
		return o.excludeSimulated(s, l, bad)
	case l.method == launch.Inproc || l.method == launch.Local:
		return refusedHosts{bad, file}.check([]string{s.Hostname()}, "take another node, or omit --exclude-bad")
	}
	nodes, err := l.nodesToStart(s)
	if err != nil {
		return err
	}
	for _, host := range nodes {
		if listed(bad, host.Name) {
			l.excluded = append(l.excluded, host.Name)
		} else {
			l.kept = append(l.kept, host)
		}
	}
	return o.without(s, l, len(nodes), given)
}

// failedNodes returns the nodes that failed in zbench screen or rails, and the file that lists
// them. The nodes come from the document, because it has a checksum. The list, which srun reads,
// must agree with it.
func failedNodes(s State, dir string) (bad []string, list string, err error) {
	list = filepath.Join(dir, "fail.txt")
	again := plain.Typed("zbench", "screen", "--out", dir) + " makes it"
	file := filepath.Join(dir, "screen.json")
	text, err := s.FS.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		if other, failed := s.FS.ReadFile(filepath.Join(dir, "rails.json")); failed == nil {
			file, text, err = filepath.Join(dir, "rails.json"), other, nil
		}
	}
	if err != nil {
		return nil, list, missingFile(err, file, again)
	}
	var judged struct{ Fail *[]string }
	if err = json.Unmarshal(text, &judged); err == nil && judged.Fail == nil {
		err = errors.New("it has no list of nodes to leave out")
	}
	if err == nil && jsonfile.Edited(text) {
		err = errors.New("it was edited, or is damaged")
	}
	if err != nil {
		return nil, list, exit.With(exit.Run, fmt.Errorf("%s: %w", file, err), again)
	}
	lines := func(text string) []string {
		return slices.Sorted(strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }))
	}
	switch said, err := s.FS.ReadFile(list); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, list, missingFile(err, list, again)
	case !slices.Equal(lines(string(said)), lines(rails.Lines(*judged.Fail))):
		return nil, list, exit.With(exit.Run, fmt.Errorf("%s does not name the nodes that %s has failed (%s): one of the two was changed", list, file, strings.Join(*judged.Fail, ", ")), again)
	}
	return *judged.Fail, list, nil
}

// nodesToStart returns the hosts on which the launcher would start processes.
func (l *launching) nodesToStart(s State) ([]launch.Host, error) {
	if len(l.hosts) > 0 {
		return l.hosts, nil
	}
	names, err := launch.HostsOf(s.Getenv("SLURM_JOB_NODELIST"))
	if err != nil || len(names) == 0 {
		return nil, usagef("give --slurm-args --exclude=NODE,… and --nodes instead", "SLURM_JOB_NODELIST is not set, or not a list of nodes: it is unknown which nodes of the job --exclude-bad leaves out")
	}
	return slice.Map(names, func(name string) launch.Host { return launch.Host{Name: name} }), nil
}

// `without` computes the number of nodes after the excluded nodes are left out.
func (o *launchFlagSet) without(s State, l *launching, all int, given bool) error {
	file := filepath.Join(o.bad, "fail.txt")
	left := all - len(l.excluded)
	w := &l.want.World
	switch {
	case left == 0:
		return usagef("look at "+filepath.Join(o.bad, "report.html"), "--exclude-bad %s leaves no node", o.bad)
	case given && w.Nodes > left:
		return usagef("give --nodes of at most as many", "--nodes %d: %d of %d nodes are left after --exclude-bad", w.Nodes, left, all)
	case !given:
		w.Nodes = left
	}
	if len(l.excluded) > 0 {
		s.note(false, "zbench: leaving out %s: %s\n", strings.Join(l.excluded, ", "), file)
	} else {
		s.note(false, "zbench: no node of %s takes part\n", file)
	}
	return nil
}

// excludeSimulated leaves nodes out of a simulated world. Later nodes and their faults move up to
// fill the gaps.
func (o *launchFlagSet) excludeSimulated(s State, l *launching, bad []string) error {
	all, moved := l.want.World.Nodes, map[int]int{}
	for node := range all {
		name := fmt.Sprintf("node%d", node)
		if slices.Contains(bad, name) {
			l.excluded = append(l.excluded, name)
		} else {
			moved[node] = node - len(l.excluded)
		}
	}
	var faults []string
	for _, text := range l.want.Faults {
		at := nodeKey.FindStringSubmatch(text)
		if at == nil {
			faults = append(faults, text)
			continue
		}
		node, err := strconv.Atoi(at[1])
		to, ok := moved[node]
		switch {
		case err != nil || node >= all: // the fabric will refuse it
			faults = append(faults, text)
		case ok:
			faults = append(faults, strings.Replace(text, at[0], fmt.Sprint("node=", to), 1))
		}
	}
	l.want.Faults = faults
	return o.without(s, l, all, false)
}

// refusedHosts are nodes that must not take part, with the file that names them.
type refusedHosts struct {
	bad  []string
	file string
}

// check refuses a world that contains such a node.
func (r refusedHosts) check(hosts []string, next string) error {
	var found []string
	for _, host := range hosts {
		if listed(r.bad, host) && !slices.Contains(found, host) {
			found = append(found, host)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return exit.UsageError(errors.New(strings.Join(found, ", ")+": "+r.file+" names it as a node to leave out"), next)
}

// checkWorld refuses the world of a launcher's processes if one of them runs on such a node.
func (r refusedHosts) checkWorld(all []rendezvous.Hello) error {
	hosts := slice.Map(all, func(h rendezvous.Hello) string { return h.Host })
	return r.check(hosts, "zbench did not start these processes: remove the node from what did, as mpirun --host or --hostfile, or srun --exclude")
}

// listed returns true if a list contains the host, with or without its domain.
func listed(list []string, host string) bool {
	short := func(name string) string { name, _, _ = strings.Cut(name, "."); return name }
	return slices.ContainsFunc(list, func(bad string) bool {
		return bad == host || (!strings.Contains(bad, ".") || !strings.Contains(host, ".")) && short(bad) == short(host)
	})
}

// realNodes compares the number of nodes that the user gave with the nodes of the launcher's
// processes. A simulation has nodes of its own.
func (l *launching) realNodes(s State, given bool) error {
	if l.method != launch.Env || l.want.Backend == "loopback" {
		return nil
	}
	has, w := l.nodesOfRole(), l.want.World
	switch job, sign := launch.JobNodes(s.Getenv); {
	case has > 0 && w.Nodes != has:
		return usagef("give --nodes and --gpus-per-node as the launcher placed the processes, or leave them out; --backend loopback simulates other nodes",
			"%s on %s, but --nodes %d --gpus-per-node %d are asked for: on hardware the nodes are the launcher's", l.role.Text(), plain.Count(has, "node"), w.Nodes, w.GPUsPerNode)
	case s.Getenv(launch.ControlVariable) != "": // zbench started them, on the nodes that are not left out
	case has > 0 && has < job && !given && !l.role.OfSlurm():
		return usagef("let the launcher use all nodes of the job (mpirun --map-by ppr:N:node, torchrun --nnodes), or say that fewer are meant: --nodes "+strconv.Itoa(has),
			"%s on %s, but the job of Slurm has %d (%s): the others would take no part", l.role.Text(), plain.Count(has, "node"), job, sign)
	}
	return nil
}
