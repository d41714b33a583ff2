package launch

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// launcher lists the variables that a launcher sets in its processes.
type launcher struct {
	name string
	// The variables in `own` are set by no other launcher; any one of them shows that this launcher
	// started the process. If `own` is empty, the variables of `rank` and `local` together show it.
	// The variables of `rank`, `size` and `local` must then all be set.
	own                                       []string
	rank, size, local, localSize, node, nodes string
	// tasks is the variable with the list of the number of processes per node.
	tasks string
	// agent is the variable with an address of the launcher's daemon on this node.
	agent string
	// agents returns the number of daemons that started the world's processes, one per node; 0 if
	// unknown. An outer launcher sees the daemons as its own processes.
	agents func(Getenv) int
	// The variables in `key` name the world and determine the leader's port.
	key []string
	// host returns the host of rank 0, "" if the variables do not give it.
	host func(Getenv) (string, error)
}

// slurmName is the launcher srun. A Slurm step with a single task may also be a shell.
// scriptName is zbench itself, or a script that sets the same variables.
const (
	slurmName  = "srun (Slurm)"
	scriptName = "a script (ZBENCH_RANK)"
)

// launchers are listed from the innermost to the outermost, because the processes of mpirun and
// torchrun inherit the variables of the Slurm step that runs their daemons.
//
// Sources: torchrun, PyTorch "torchrun (Elastic Launch)", environment variables; Open MPI 4.1.4,
// MPICH 4.0.2 and Slurm 22.05, recorded (testdata/launchers); Open MPI 5 keeps the
// OMPI_COMM_WORLD_* variables (its manual, "Environment variables").
var launchers = []launcher{
	{
		name: scriptName, own: []string{"ZBENCH_RANK", "ZBENCH_WORLD_SIZE", "ZBENCH_LOCAL_RANK"},
		rank: "ZBENCH_RANK", size: "ZBENCH_WORLD_SIZE", local: "ZBENCH_LOCAL_RANK",
		localSize: "ZBENCH_LOCAL_SIZE", node: "ZBENCH_NODE", nodes: "ZBENCH_NODES", agents: numberOf("ZBENCH_NODES"),
	},
	{
		name: "torchrun",
		rank: "RANK", size: "WORLD_SIZE", local: "LOCAL_RANK",
		localSize: "LOCAL_WORLD_SIZE", node: "GROUP_RANK", nodes: "GROUP_WORLD_SIZE", agents: numberOf("GROUP_WORLD_SIZE"),
		key:  []string{"TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT"},
		host: func(env Getenv) (string, error) { return env("MASTER_ADDR"), nil },
	},
	{
		name: "mpirun (Open MPI)", own: []string{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
		rank: "OMPI_COMM_WORLD_RANK", size: "OMPI_COMM_WORLD_SIZE", local: "OMPI_COMM_WORLD_LOCAL_RANK",
		localSize: "OMPI_COMM_WORLD_LOCAL_SIZE", nodes: "OMPI_MCA_orte_num_nodes", agent: "PMIX_SERVER_URI2", agents: ompiDaemons,
		key: []string{"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}, host: firstOfJob,
	},
	{
		name: "mpiexec (MPICH)", own: []string{"MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
		rank: "PMI_RANK", size: "PMI_SIZE", local: "MPI_LOCALRANKID", localSize: "MPI_LOCALNRANKS",
		key: []string{"SLURM_JOB_ID"}, host: firstOfJob,
	},
	{
		name: slurmName, own: []string{"SLURM_STEP_NUM_TASKS"},
		rank: "SLURM_PROCID", size: "SLURM_STEP_NUM_TASKS", local: "SLURM_LOCALID",
		tasks: "SLURM_STEP_TASKS_PER_NODE", node: "SLURM_NODEID", nodes: "SLURM_STEP_NUM_NODES",
		key:  []string{"SLURM_JOB_ID", "SLURM_STEP_ID"},
		host: func(env Getenv) (string, error) { return firstHost(env("SLURM_STEP_NODELIST")) },
	},
}

// world is the description that one launcher gives of its processes.
type world struct {
	*launcher
	Role
	// agentCount is the value of launcher.agents.
	agentCount int
}

// read returns the world of a launcher, or nil if that launcher did not start this process.
func (l *launcher) read(env Getenv) (*world, error) {
	if !l.started(env) {
		return nil, nil
	}
	if err := l.whole(env); err != nil {
		return nil, err
	}
	w := &world{launcher: l, Role: Role{Kind: Rank, By: l.name, Node: -1}}
	for _, v := range []struct {
		name  string
		to    *int
		shown bool
	}{
		{l.rank, &w.Rank, true},
		{l.size, &w.Size, true},
		{l.local, &w.Local, true},
		{l.localSize, &w.LocalSize, false},
		{l.node, &w.Node, false},
		{l.nodes, &w.Nodes, false},
	} {
		if err := w.take(env, v.name, v.to, v.shown); err != nil {
			return nil, err
		}
	}
	if l.agent != "" {
		w.Agent = env(l.agent)
	}
	if l.agents != nil {
		w.agentCount = l.agents(env)
	}
	if l.tasks != "" {
		w.LocalSize = tasksOn(env(l.tasks), w.Node)
	}
	return w, w.sane()
}

// started() reports whether the launcher started this process.
func (l *launcher) started(env Getenv) bool {
	if len(l.own) == 0 {
		return env(l.rank) != "" && env(l.local) != ""
	}
	return slices.ContainsFunc(l.own, func(name string) bool { return env(name) != "" })
}

// whole() returns an error if only some of the launcher's variables are set. The process could not
// tell its place, and would start a second world.
func (l *launcher) whole(env Getenv) error {
	var has, lacks []string
	for _, name := range []string{l.rank, l.size, l.local} {
		if value := env(name); value != "" {
			has = append(has, name+"="+value)
		} else {
			lacks = append(lacks, name)
		}
	}
	for _, name := range l.own {
		if value := env(name); value != "" && !slices.Contains(has, name+"="+value) {
			has = append(has, name+"="+value)
		}
	}
	if len(lacks) == 0 {
		return nil
	}
	verb := "is"
	if len(lacks) > 1 {
		verb = "are"
	}
	return fmt.Errorf("%s: %s started this process, but %s %s not set: some of a launcher's variables alone give no place in a world",
		strings.Join(has, ", "), l.name, strings.Join(lacks, " and "), verb)
}

// take reads the number in a variable into `to`. If shown is true, messages name the variable.
func (w *world) take(env Getenv, name string, to *int, shown bool) (err error) {
	if name == "" || env(name) == "" {
		return nil
	}
	if *to, err = number(name, env(name)); err == nil && shown {
		w.Signs = append(w.Signs, name+"="+env(name))
	}
	return err
}

// sane() returns an error if the numbers contradict each other.
func (w *world) sane() error {
	list := strings.Join(w.Signs, ", ")
	switch {
	case w.Size < 1 || w.Rank >= w.Size:
		return fmt.Errorf("%s: a rank is from 0 to one less than the number of processes", list)
	case w.Local > w.Rank:
		return fmt.Errorf("%s: a rank on its node is at most the rank in the world", list)
	case w.LocalSize > 0 && (w.Local >= w.LocalSize || w.LocalSize > w.Size):
		return fmt.Errorf("%s, and %d processes on this node (%s): the numbers of processes contradict each other", list, w.LocalSize, cmp.Or(w.localSize, w.tasks))
	case w.Nodes > 0 && (w.Node >= w.Nodes || w.Nodes > w.Size):
		return fmt.Errorf("%s, %s=%d: the numbers of nodes and processes contradict each other", list, w.nodes, w.Nodes)
	}
	return nil
}

// within() returns an error unless one task of the outer launcher, or all of its tasks together,
// started this world. Otherwise each task may have started a separate world.
func (w *world) within(outer *world) error {
	onNode := w.LocalSize == outer.LocalSize || w.LocalSize == 0 || outer.LocalSize == 0
	if outer.Size == 1 || outer.Rank == w.Rank && outer.Size == w.Size && onNode {
		return nil
	}
	fits := outer.Size == w.agentCount
	if w.agentCount == 0 { // unknown: allow the largest possible number of nodes
		most := w.Size
		if w.LocalSize > 0 {
			most = w.Size - w.LocalSize + 1
		}
		fits = outer.Size <= most
	}
	if fits {
		return nil
	}
	return fmt.Errorf("two launchers do not add up to one world: %s (%s), but %s started %d processes (%s), each of which may have started a world of its own",
		w.worldText(), strings.Join(w.Signs, ", "), outer.By, outer.Size, strings.Join(outer.Signs, ", "))
}

func (w *world) worldText() string {
	on := ""
	if w.agentCount > 0 {
		on = " on " + count(w.agentCount, "node")
	}
	return fmt.Sprintf("%s has a world of %s%s", w.By, count(w.Size, "process"), on)
}

// role returns the role with the leader's address. A Slurm step with one task may also be the
// shell of salloc; such a process may start a world.
func (w *world) role(env Getenv) (Role, error) {
	slurm := w.name == slurmName
	if slurm && w.Size == 1 {
		job, err := readJob(env)
		if err != nil {
			return Role{}, err
		}
		if job != nil {
			job.Size, job.InStep = 1, true
			return *job, nil
		}
	}
	if n := env("SLURM_HET_SIZE"); slurm && n != "" && n != "1" {
		return Role{}, fmt.Errorf("SLURM_HET_SIZE=%s: a heterogeneous job numbers the tasks of each component by itself, and zbench needs one numbering", n)
	}
	if n, sign := JobNodes(env); n > 0 && w.Nodes > n && !w.OfSlurm() {
		return Role{}, fmt.Errorf("%s has %s (%s=%d), but the job of Slurm has %d (%s): these are two launchers",
			w.name, count(w.Nodes, "node"), w.nodes, w.Nodes, n, sign)
	}
	var err error
	w.Leader, err = w.leader(env)
	return w.Role, err
}

// ompiDaemons returns the number of Open MPI's daemons, which start the processes, for
// versions up to 4. The variable also counts mpirun itself. It is 1 for the processes on
// mpirun's own node. Open MPI 5 does not give the number.
func ompiDaemons(env Getenv) int {
	if n := numberOf("OMPI_MCA_ess_base_num_procs")(env); n > 1 {
		return n - 1 // mpirun itself is not a daemon
	}
	if env("OMPI_MCA_orte_launch") != "" {
		return 1
	}
	return 0
}

// numberOf returns a function that reads a number from a variable; a malformed number gives 0.
func numberOf(name string) func(Getenv) int {
	return func(env Getenv) int {
		n, err := number(name, env(name))
		if err != nil {
			return 0
		}
		return n
	}
}

// maxNumber is larger than the number of processes of any world.
const maxNumber = 1 << 24

// number reads a count or a rank from a variable's value.
func number(name, value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > maxNumber {
		return 0, fmt.Errorf("%s=%s is not a whole number from 0 to %d", name, value, maxNumber)
	}
	return n, nil
}
