package launch

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/hardware/backend"
)

// Start describes a world of processes to start.
type Start struct {
	Method Method
	Role   Role
	// Nodes is the number of nodes. Processes is the number of processes per node. GPUs is
	// the number of GPUs per node that srun requests; 0 requests none.
	Nodes, Processes, GPUs int
	// Program has the words that start this program. Args are the arguments of each process.
	Program []string
	Args    []string
	// SlurmArgs are additional options of srun.
	SlurmArgs []string
	// Hostfile is the name of Open MPI's hostfile; Hosts are its lines.
	Hostfile string
	Hosts    []Host
	// Kept lists the hosts on which mpirun may start processes; empty means all.
	Kept []Host
	// Simulated is true if the loopback simulates the nodes. All their processes may then run on
	// this host.
	Simulated bool
	// Key names the run and determines the leader's port.
	Key string
	// Taken reports whether another program on this host listens at a port of the
	// loopback interface; nil checks nothing.
	Taken func(port int) bool
	// Environ has the variables of this process as NAME=value.
	Environ []string
}

// Var is an environment variable that is set for the processes.
type Var struct {
	Name, Value string
	// Secret is true if the value must never be shown.
	Secret bool
}

// Number returns a variable whose value is a number.
func Number(name string, n int) Var { return Var{Name: name, Value: strconv.Itoa(n)} }

// Line is a command that starts processes.
type Line struct {
	Argv []string
	// Set and Unset are the variables that the command's process gets or loses, relative to this
	// process.
	Set   []Var
	Unset []string
	// Notes are tasks that are left to the user.
	Notes []string
}

// Command returns the command lines that start the world: one line for srun or mpirun, or one line
// per process on this node. No argument contains the secret: srun passes on the environment, and
// mpirun passes on the variables named by -x.
func Command(s Start) ([]Line, error) {
	if s.Nodes < 1 || s.Processes < 1 {
		return nil, fmt.Errorf("%d nodes of %d processes: both must be 1 or more", s.Nodes, s.Processes)
	}
	starters := map[Method]func(Start) ([]Line, error){Slurm: srun, MPI: mpirun, Local: local}
	start, ok := starters[s.Method]
	if !ok {
		return nil, fmt.Errorf("--launch %s starts no processes", s.Method)
	}
	return start(s)
}

// env returns the value of a variable in Environ.
func (s Start) env(name string) string {
	for _, v := range s.Environ {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// secret is the variable with the token, whose value is filled in later.
var secret = Var{Name: TokenVariable, Secret: true}

// srun reads the variables in `inherited` as options. If another step or the batch job has set
// them, they contradict the options that zbench gives.
var inherited = []string{
	"SLURM_MEM_PER_CPU", "SLURM_MEM_PER_GPU", "SLURM_MEM_PER_NODE", "SLURM_MEM_BIND",
	"SLURM_CPU_BIND", "SLURM_CPU_BIND_LIST", "SLURM_CPU_BIND_TYPE", "SLURM_CPU_BIND_VERBOSE",
	"SLURM_GPU_BIND", "SLURM_GPUS_PER_TASK", "SLURM_NTASKS_PER_GPU", "SLURM_TRES_PER_TASK", "SLURM_HOSTFILE",
	"SLURM_REMOTE_CWD", "SLURM_WORKING_DIR", "SLURM_STDINMODE",
}

// containers are variables that are set inside a container. srun starts processes on the
// hosts, outside of that container.
var containers = []string{"APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"}

func srun(s Start) ([]Line, error) {
	if err := s.fitsJob(); err != nil {
		return nil, err
	}
	options, err := checkSlurmArgs(s.SlurmArgs)
	if err != nil {
		return nil, err
	}
	given := func(name string) bool {
		return slices.ContainsFunc(options, func(o srunOption) bool { return o.name == name })
	}
	line := Line{Argv: []string{
		"srun", option("--nodes", s.Nodes), option("--ntasks", s.Nodes*s.Processes), option("--ntasks-per-node", s.Processes),
	}, Set: []Var{secret}}
	if s.GPUs > 0 {
		line.Argv = append(line.Argv, option("--gpus-per-node", s.GPUs))
	}
	line.Argv = append(line.Argv, "--gpu-bind=none")
	if cpus := numberOf(cpuVariable)(s.env); cpus > 0 {
		line.Argv = append(line.Argv, option("--cpus-per-task", cpus/s.Processes))
	}
	line.Argv = append(line.Argv, "--cpu-bind=none", "--distribution=block", "--kill-on-bad-exit=0", "--no-kill", "--mpi=none", "--propagate=NONE")
	if s.Role.InStep {
		line.Argv = append(line.Argv, "--overlap")
	}
	if cmp.Or(s.env("SLURM_EXPORT_ENV"), s.env("SRUN_EXPORT_ENV")) != "" && !given("export") {
		line.Argv = append(line.Argv, "--export=ALL") // --export=NONE of a batch job would withhold the token
	}
	line.contain(s, given)
	line.Argv = append(line.Argv, s.SlurmArgs...)
	if n := len(options); n > 0 && options[n-1].guessed {
		line.Argv = append(line.Argv, "--") // an unknown option may take a value after all; the value is then "--", not the program
	}
	line.Argv = slices.Concat(line.Argv, s.Program, s.Args)
	line.Unset = slice.Where(inherited, func(name string) bool { return s.env(name) != "" })
	return []Line{line}, nil
}

// cpuVariable has the number of the job's CPUs on this node.
const cpuVariable = "SLURM_CPUS_ON_NODE"

// fitsJob refuses a world that srun cannot start from here.
func (s Start) fitsJob() error {
	for _, name := range containers {
		if image := s.env(name); image != "" {
			return fmt.Errorf("%s=%s: zbench runs in a container, and srun would start its processes outside. Start them inside: srun … apptainer exec %s zbench %s",
				name, image, image, strings.Join(s.Args, " "))
		}
	}
	if n := s.Role.Nodes; n > 0 && s.Nodes > n {
		return fmt.Errorf("%d nodes (--nodes) are more than the %d of the job (%s)", s.Nodes, n, strings.Join(s.Role.Signs, ", "))
	}
	if cpus := numberOf(cpuVariable)(s.env); cpus > 0 && cpus < s.Processes {
		return fmt.Errorf("%s=%d: the job has %s on a node for %d processes; take the allocation with --exclusive, or with --cpus-per-task",
			cpuVariable, cpus, count(cpus, "CPU"), s.Processes)
	}
	return nil
}

// contain adds pyxis's options. The variables of an image override the job's variables unless
// --container-env names them.
func (l *Line) contain(s Start, given func(option string) bool) {
	if !given("container-image") {
		return
	}
	if !given("container-env") {
		l.Argv = append(l.Argv, "--container-env="+strings.Join(s.passed(), ","))
	}
	l.Notes = append(l.Notes, "the container must have "+strings.Join(s.Program, " ")+" and the result folder under the same paths (--container-mounts)")
}

// prefixes and names select the variables that `mpirun -x` passes to the processes. Open MPI passes
// on only its own variables.
var (
	prefixes = []string{"NCCL_", "RCCL_", "HSA_", "ZBENCH_"}
	names    = append(backend.Hiding(), "GPU_MAX_HW_QUEUES", "LD_LIBRARY_PATH", "NO_COLOR", "ROCM_PATH")
)

// PassVariable lists further variables to pass on, separated by commas: the ones in which a variant or an
// environment of a soak differs from others.
const PassVariable = "ZBENCH_PASS"

// passed() returns the names of the variables that are passed on, including the token's.
func (s Start) passed() []string {
	list, names := []string{TokenVariable}, slices.Concat(names, strings.Split(s.env(PassVariable), ","))
	for _, v := range s.Environ {
		name, value, _ := strings.Cut(v, "=")
		ours := slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
		if value != "" && (ours || slices.Contains(names, name)) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func mpirun(s Start) ([]Line, error) {
	if s.Hostfile == "" && s.Role.Start != Slurm && s.Nodes > 1 {
		return nil, fmt.Errorf("%d nodes need a --hostfile for mpirun: there is no Slurm allocation", s.Nodes)
	}
	if n := len(s.Hosts); n > 0 && s.Nodes > n {
		return nil, fmt.Errorf("%d nodes (--nodes) are more than the %d of %s", s.Nodes, n, s.Hostfile)
	}
	line := Line{Argv: []string{"mpirun", "-np", strconv.Itoa(s.Nodes * s.Processes)}, Set: []Var{secret}}
	passed := s.passed()
	if len(s.Kept) > 0 {
		line.Argv, s.Hosts = append(line.Argv, "--host", hostList(s.Kept, s.Processes)), s.Kept
	} else if s.Hostfile != "" {
		line.Argv = append(line.Argv, "--hostfile", s.Hostfile)
	}
	if len(s.Hosts) > 0 {
		leader := Leader{Host: s.Hosts[0].Name, Port: Port(s.Key, "", nil)}
		line.Set = append(line.Set, Var{Name: LeaderVariable, Value: leader.String()})
		if !slices.Contains(passed, LeaderVariable) {
			passed = append(passed, LeaderVariable)
		}
	}
	line.Argv = append(line.Argv, "--map-by", "ppr:"+strconv.Itoa(s.Processes)+":node", "--bind-to", "none")
	for _, name := range passed {
		line.Argv = append(line.Argv, "-x", name)
	}
	line.Argv = slices.Concat(line.Argv, s.Program, s.Args)
	return []Line{line}, nil
}

// local returns the command lines for the processes of this node. There are three cases: there is a
// single node; this is one of several nodes, and each of them has a parent process of its own; or
// the nodes are simulated, and all their processes run here.
func local(s Start) ([]Line, error) {
	node, nodes, here := 0, 1, 1
	var leader Leader
	switch {
	case s.Role.Kind == Parent && s.Role.Start == Local:
		node, nodes, leader = s.Role.Node, s.Role.Nodes, s.Role.Leader
	case s.Simulated:
		nodes, here = s.Nodes, s.Nodes
	}
	if leader.Port == 0 { // all processes run here and get the port from this process
		leader = Leader{Host: "127.0.0.1", Port: Port(s.Key, "", s.Taken)}
	}
	if s.Nodes != nodes {
		return nil, fmt.Errorf("--launch local starts processes on this node; %s need --launch slurm or --launch mpi with a --hostfile", count(s.Nodes, "node"))
	}
	var lines []Line
	for i := range here * s.Processes {
		lines = append(lines, Line{Argv: slices.Concat(s.Program, s.Args), Set: []Var{
			secret,
			Number("ZBENCH_RANK", node*s.Processes+i),
			Number("ZBENCH_WORLD_SIZE", nodes*s.Processes),
			Number("ZBENCH_LOCAL_RANK", i%s.Processes),
			Number("ZBENCH_LOCAL_SIZE", s.Processes),
			Number("ZBENCH_NODE", node+i/s.Processes),
			Number("ZBENCH_NODES", nodes),
			{Name: LeaderVariable, Value: leader.String()},
		}})
	}
	return lines, nil
}

// Environ returns the environment of the command's process as NAME=value: `base` with the command's
// changes. `token` is the value of the secret variables.
func (l Line) Environ(base []string, token string) []string {
	changed := append(slice.Map(l.Set, func(v Var) string { return v.Name }), l.Unset...)
	list := slice.Where(base, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return !slices.Contains(changed, name)
	})
	for _, v := range l.Set {
		if v.Secret {
			v.Value = token
		}
		list = append(list, v.Name+"="+v.Value)
	}
	return list
}

// option returns an option with a number as its value.
func option(name string, n int) string { return name + "=" + strconv.Itoa(n) }

// String returns the command for a shell. It begins with the variables that differ between the
// processes of a node; secrets are left out.
func (l Line) String() string {
	var words []string
	for _, v := range l.Set {
		if l.Shown(v) {
			words = append(words, v.Name+"="+plain.Shell(v.Value))
		}
	}
	return strings.Join(append(words, plain.Shell(l.Argv...)), " ")
}

// Shown reports whether String contains the variable. String contains it only for a local process,
// and only if it is no secret.
func (l Line) Shown(v Var) bool {
	local := len(l.Argv) > 0 && l.Argv[0] != "srun" && l.Argv[0] != "mpirun"
	return local && !v.Secret
}
