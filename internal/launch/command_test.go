package launch_test

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/launch"
)

// environ is a recorded environment as a process has it.
func environ(vars map[string]string) []string {
	var list []string
	for name, value := range vars {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}

// start is a world of 2 nodes of 8 processes, started from a recorded environment.
func start(t *testing.T, m launch.Method, file string, changes ...string) launch.Start {
	t.Helper()
	vars := recorded(t, file, changes...)
	role, err := launch.Detect(lookup(vars))
	require.NoError(t, err)
	return launch.Start{
		Method: m, Role: role, Nodes: 2, Processes: 8, GPUs: launch.GPUs(lookup(vars)), Program: []string{"/opt/zbench"},
		Args: []string{"collectives", "--launch", "env", "-b", "1M"}, Key: "k", Environ: environ(vars),
	}
}

func one(t *testing.T, s launch.Start) launch.Line {
	t.Helper()
	lines, err := launch.Command(s)
	require.NoError(t, err)
	require.Len(t, lines, 1)
	return lines[0]
}

func TestSrunInABatchScript(t *testing.T) {
	line := one(t, start(t, launch.Slurm, "batch"))
	require.Equal(t, "srun --nodes=2 --ntasks=16 --ntasks-per-node=8 --gpus-per-node=8 --gpu-bind=none --cpus-per-task=1 --cpu-bind=none "+
		"--distribution=block --kill-on-bad-exit=0 --no-kill --mpi=none --propagate=NONE /opt/zbench collectives --launch env -b 1M", strings.Join(line.Argv, " "))
	require.Empty(t, line.Unset)
	require.Equal(t, []launch.Var{{Name: "ZBENCH_TOKEN", Secret: true}}, line.Set)
}

func TestSrunOptionsThatDependOnTheJob(t *testing.T) {
	for _, c := range []struct {
		name, file string
		changes    []string
		edit       func(*launch.Start)
		has, lacks []string
	}{
		{name: "the shell of salloc is a step", file: "salloc-shell", edit: func(s *launch.Start) { s.Processes = 2 }, has: []string{"--overlap", "--gpus-per-node=8"}},
		{name: "a batch script is no step", file: "batch", lacks: []string{"--overlap", "--export=ALL"}},
		{name: "a job without GPUs", file: "batch", changes: []string{"SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE"}, lacks: []string{"--gpus-per-node=8"}},
		{name: "unknown CPUs", file: "salloc-command", lacks: []string{"--cpus-per-task=1"}},
		{name: "several CPUs a process", file: "batch", changes: []string{"SLURM_CPUS_ON_NODE=190"}, has: []string{"--cpus-per-task=23"}},
		{name: "sbatch --export=NONE", file: "batch", changes: []string{"SLURM_EXPORT_ENV=NONE"}, has: []string{"--export=ALL"}},
		{name: "the user's own --export=ALL", file: "batch", edit: func(s *launch.Start) { s.SlurmArgs = []string{"--export=ALL"} }, has: []string{"--export=ALL"}},
		{name: "options of the user", file: "batch", edit: func(s *launch.Start) { s.SlurmArgs = []string{"-p", "gpu", "--time=30"} }, has: []string{"-p", "gpu", "--time=30"}},
		{
			name: "options as srun reads them", file: "batch",
			edit: func(s *launch.Start) {
				s.SlurmArgs = []string{"-vQl", "-pgpu", "-t", "30", "--qos", "high", "-I", "--nice", "--exclusive=user", "--export", "ALL", "--spank=x"}
			},
			has: []string{"-vQl", "-pgpu", "-t", "30", "--qos", "high", "-I", "--nice", "--exclusive=user", "--export", "ALL", "--spank=x"}, lacks: []string{"--"},
		},
		{
			name: "an option that zbench does not know", file: "batch", edit: func(s *launch.Start) { s.SlurmArgs = []string{"--spank", "-v"} },
			has: []string{"--spank", "-v"}, lacks: []string{"--"},
		},
		{
			name: "one at the end", file: "batch", edit: func(s *launch.Start) { s.SlurmArgs = []string{"-v", "--spank"} },
			has: []string{"-v", "--spank", "--"},
		},
		{name: "another export of srun alone", file: "batch", changes: []string{"SRUN_EXPORT_ENV=NONE"}, has: []string{"--export=ALL"}},
		{
			name: "pyxis", file: "batch", changes: []string{"NCCL_DEBUG=INFO", "HOME=/h"}, edit: func(s *launch.Start) { s.SlurmArgs = []string{"--container-image=rocm.sqsh"} },
			has: []string{"--container-image=rocm.sqsh", "--container-env=NCCL_DEBUG,ZBENCH_TOKEN"},
		},
		{
			name: "pyxis with the user's variables", file: "batch", edit: func(s *launch.Start) { s.SlurmArgs = []string{"--container-image=a", "--container-env=X"} },
			has: []string{"--container-env=X"}, lacks: []string{"--container-env=ZBENCH_TOKEN"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, launch.Slurm, c.file, c.changes...)
			if c.edit != nil {
				c.edit(&s)
			}
			argv := one(t, s).Argv
			program := slices.Index(argv, "/opt/zbench")
			for _, a := range c.has {
				require.Equal(t, 1, strings.Count(" "+strings.Join(argv[:program], " ")+" ", " "+a+" "), "%s in %v", a, argv)
			}
			for _, a := range c.lacks {
				require.NotContains(t, argv, a)
			}
		})
	}
}

func TestSrunClearsWhatAStepInherits(t *testing.T) {
	line := one(t, start(t, launch.Slurm, "batch", "SLURM_MEM_PER_NODE=4000", "SLURM_MEM_PER_CPU=500", "SLURM_CPU_BIND=quiet,none", "SLURM_CPU_BIND_TYPE=none", "SLURM_GPUS_PER_TASK=1", "SLURM_REMOTE_CWD=/tmp", "SLURM_STDINMODE=none"))
	require.ElementsMatch(t, []string{"SLURM_MEM_PER_CPU", "SLURM_MEM_PER_NODE", "SLURM_CPU_BIND", "SLURM_CPU_BIND_TYPE", "SLURM_GPUS_PER_TASK", "SLURM_REMOTE_CWD", "SLURM_STDINMODE"}, line.Unset)
}

func TestSrunIsRefused(t *testing.T) {
	args := func(list ...string) func(*launch.Start) { return func(s *launch.Start) { s.SlurmArgs = list } }
	for _, c := range []struct {
		name, file string
		changes    []string
		edit       func(*launch.Start)
		says       string
	}{
		{"Apptainer", "batch", []string{"APPTAINER_CONTAINER=/img.sif"}, nil, "APPTAINER_CONTAINER=/img.sif.*apptainer exec"},
		{"Singularity", "batch", []string{"SINGULARITY_CONTAINER=/img.sif"}, nil, "SINGULARITY_CONTAINER"},
		{"more nodes than the job", "batch", nil, func(s *launch.Start) { s.Nodes = 3 }, "3 nodes .--nodes. are more than the 2 of the job .SLURM_JOB_ID=1"},
		{"too few CPUs", "batch-plain", nil, nil, "SLURM_CPUS_ON_NODE=1.*--exclusive"},
		{"no nodes", "batch", nil, func(s *launch.Start) { s.Nodes = 0 }, "0 nodes"},
		{"another number of tasks", "batch", nil, args("-n", "4"), "zbench sets -n itself"},
		{"attached", "batch", nil, args("-n4"), "zbench sets -n itself"},
		{"long", "batch", nil, args("--ntasks=4"), "zbench sets --ntasks itself"},
		{"another distribution", "batch", nil, args("--distribution=cyclic"), "zbench sets --distribution itself"},
		{"no environment", "batch", nil, args("--export=NONE"), "--export=NONE.*neither ZBENCH_TOKEN nor NCCL"},
		{"a part of the environment", "batch", nil, args("--export=PATH"), "--export=PATH"},
		{"the token", "batch", nil, args("--export=ALL,ZBENCH_TOKEN=1234"), "stays out of command lines"},
		{"no option", "batch", nil, args("gpu"), `"gpu" is no option`},
		{"a program behind a flag", "batch", nil, args("--label", "true"), `"true" is no option of srun: srun would run it in place of zbench`},
		{"a program behind a value", "batch", nil, args("-p", "gpu", "true"), `"true" is no option`},
		{"a program behind the end of options", "batch", nil, args("--", "true"), `"--" ends srun's options`},
		{"a second component", "batch", nil, args(":", "-n1"), `":" is no option`},
		{"a value that is missing", "batch", nil, args("--partition"), "srun's --partition takes a value, and there is none: srun would take zbench for it"},
		{"a letter's value that is missing", "batch", nil, args("-vp"), "srun's -p takes a value"},
		{"a value of a flag", "batch", nil, args("--label=1"), "srun's --label takes no value"},
		{"an abbreviation", "batch", nil, args("--distr=cyclic"), "srun may read --distr as --distribution: write options in full"},
		{"joined letters", "batch", nil, args("-vn4"), "zbench sets -n itself"},
		{"an unknown letter", "batch", nil, args("-vy"), `-y \(in "-vy"\) is not an option of srun that zbench knows`},
		{"an unknown option with a word", "batch", nil, args("--spank", "true"), `whether "true" is its value .*: write --spank=true`},
		{"another folder", "batch", nil, args("--chdir", "/tmp"), "--chdir would start the processes in another folder, where --out"},
		{"another folder by its letter", "batch", nil, args("-D/tmp"), "-D would start the processes in another folder"},
		{"another input", "batch", nil, args("--input=none"), "--input takes the processes' standard input"},
		{"a terminal", "batch", nil, args("--pty"), "--pty takes the processes' standard input"},
		{"nothing started", "batch", nil, args("--test-only"), "with --test-only srun starts nothing"},
		{"another group of components", "batch", nil, args("--het-group=1"), "with --het-group srun would start other processes"},
		{"the environment, in two words", "batch", nil, args("--export", "NONE"), "--export=NONE"},
		{"a file of variables", "batch", nil, args("--export-file=x"), "neither ZBENCH_TOKEN"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, launch.Slurm, c.file, c.changes...)
			if c.edit != nil {
				c.edit(&s)
			}
			_, err := launch.Command(s)
			require.Error(t, err)
			require.Regexp(t, c.says, err.Error())
			require.NotContains(t, err.Error(), "1234")
		})
	}
}

func TestMpirun(t *testing.T) {
	s := start(t, launch.MPI, "", "NCCL_DEBUG=INFO", "NCCL_IB_HCA=bnxt", "ZBENCH_TOKEN=1234", "LD_LIBRARY_PATH=/x", "HOME=/h", "NCCL_EMPTY=", "OWN=1", "UNSET=", "ZBENCH_PASS=,OWN,UNSET")
	s.Hostfile, s.Hosts = "hosts", []launch.Host{{Name: "a", Slots: 8}, {Name: "b", Slots: 8}}
	line := one(t, s)
	require.Equal(t, "mpirun -np 16 --hostfile hosts --map-by ppr:8:node --bind-to none -x LD_LIBRARY_PATH -x NCCL_DEBUG -x NCCL_IB_HCA -x OWN -x ZBENCH_PASS -x ZBENCH_TOKEN -x ZBENCH_LEADER "+
		"/opt/zbench collectives --launch env -b 1M", strings.Join(line.Argv, " "))
	require.Len(t, line.Set, 2)
	require.Regexp(t, "^a:2[0-9]{4}$", line.Set[1].Value)
	s.Nodes = 3
	_, err := launch.Command(s)
	require.ErrorContains(t, err, "3 nodes (--nodes) are more than the 2 of hosts")
	s.Hostfile, s.Hosts = "", nil
	_, err = launch.Command(s)
	require.ErrorContains(t, err, "--hostfile")
	s.Nodes = 1
	require.NotContains(t, one(t, s).Argv, "--hostfile")
}

// A parent whose derived port is another program's tells its processes a free one. Where each process derives
// the port, or another node does, no process looks: they would not agree.
func TestAParentPassesATakenPortBy(t *testing.T) {
	leaderOf := func(file string, taken func(int) bool) string {
		s := start(t, launch.Local, file)
		s.Nodes, s.Taken = max(s.Role.Nodes, 1), taken
		lines, err := launch.Command(s)
		require.NoError(t, err)
		ports := map[string]bool{}
		for _, line := range lines {
			ports[line.Set[slices.IndexFunc(line.Set, func(v launch.Var) bool { return v.Name == launch.LeaderVariable })].Value] = true
		}
		require.Len(t, ports, 1, "all get the same")
		return slices.Collect(maps.Keys(ports))[0]
	}
	derived := leaderOf("", nil)
	require.Equal(t, derived, leaderOf("", func(int) bool { return false }))
	first := 0
	require.NotEqual(t, derived, leaderOf("", func(port int) bool {
		first = cmp.Or(first, port)
		return port == first
	}))
	require.Equal(t, derived, "127.0.0.1:"+strconv.Itoa(first))
	require.Equal(t, leaderOf("pytorchjob", nil), leaderOf("pytorchjob", func(int) bool { return true }))
}

// The processes that a parent starts recognise themselves as the ranks of one world.
func TestLocalProcessesAreOneWorld(t *testing.T) {
	for _, file := range []string{"", "pytorchjob", "salloc-shell", "batch"} {
		s := start(t, launch.Local, file)
		if s.Role.Start != launch.Local {
			s.Nodes = 1
		}
		lines, err := launch.Command(s)
		require.NoError(t, err)
		require.Len(t, lines, s.Processes)
		first := s.Processes * max(s.Role.Node, 0)
		for i, line := range lines {
			require.Equal(t, append(s.Program, s.Args...), line.Argv)
			vars := recorded(t, file)
			for _, v := range line.Set {
				vars[v.Name] = v.Value
			}
			got, err := launch.Detect(lookup(vars))
			require.NoError(t, err, file)
			require.Equal(t, []int{first + i, s.Nodes * s.Processes, i, s.Processes, s.Nodes}, []int{got.Rank, got.Size, got.Local, got.LocalSize, got.Nodes})
			require.NotEmpty(t, got.Leader.Host)
			require.Equal(t, launch.Rank, got.Kind)
			method, err := launch.Choose(got, nil, launch.Asked{Method: launch.Env})
			require.NoError(t, err)
			require.Equal(t, launch.Env, method)
		}
	}
	s := start(t, launch.Local, "")
	_, err := launch.Command(s)
	require.ErrorContains(t, err, "2 nodes need --launch slurm or --launch mpi")
}

// No argument of any command has the token.
func TestNoCommandShowsTheToken(t *testing.T) {
	const token = "5ec2e7"
	for _, m := range []launch.Method{launch.Slurm, launch.MPI, launch.Local} {
		s := start(t, m, "batch", "ZBENCH_TOKEN="+token)
		if m == launch.Local {
			s.Nodes = 1
		}
		lines, err := launch.Command(s)
		require.NoError(t, err)
		for _, line := range lines {
			require.NotContains(t, strings.Join(line.Argv, " "), token)
			for _, v := range line.Set {
				require.NotContains(t, v.Value, token)
			}
		}
	}
}

func TestChoose(t *testing.T) {
	alone, batch := launch.Role{Kind: launch.Alone}, launch.Role{Kind: launch.Parent, Start: launch.Slurm, Nodes: 2}
	shell := launch.Role{Kind: launch.Parent, Start: launch.Slurm, Nodes: 2, Size: 1, InStep: true}
	pod := launch.Role{Kind: launch.Parent, Start: launch.Local, Nodes: 2}
	rank, only := launch.Role{Kind: launch.Rank, By: "srun", Size: 16}, launch.Role{Kind: launch.Rank, Size: 1}
	for _, c := range []struct {
		name  string
		role  launch.Role
		asked launch.Asked
		want  launch.Method // "" is an error
	}{
		{"nothing at all", alone, launch.Asked{Method: launch.Auto}, launch.Inproc},
		{"a hostfile", alone, launch.Asked{Method: launch.Auto, Hostfile: true}, launch.MPI},
		{"a hostfile in a job", batch, launch.Asked{Method: launch.Auto, Hostfile: true}, launch.MPI},
		{"a job", batch, launch.Asked{Method: launch.Auto}, launch.Slurm},
		{"a shell in a job", shell, launch.Asked{Method: launch.Auto}, launch.Slurm},
		{"a simulation in a job", batch, launch.Asked{Method: launch.Auto, Simulated: true}, launch.Inproc},
		{"a simulation in a job, by srun", batch, launch.Asked{Method: launch.Slurm, Simulated: true}, launch.Slurm},
		{"a pod", pod, launch.Asked{Method: launch.Auto}, launch.Local},
		{"a rank", rank, launch.Asked{Method: launch.Auto}, launch.Env},
		{"a rank's simulation", rank, launch.Asked{Method: launch.Auto, Simulated: true}, launch.Env},
		{"a rank with a hostfile", rank, launch.Asked{Method: launch.Auto, Hostfile: true}, launch.Env},
		{"a rank alone", rank, launch.Asked{Method: launch.Inproc}, launch.Inproc},
		{"a rank that would start ranks", rank, launch.Asked{Method: launch.Local}, ""},
		{"a rank that would start steps", rank, launch.Asked{Method: launch.Slurm}, ""},
		{"the only process", only, launch.Asked{Method: launch.Auto}, launch.Inproc},
		{"the only process as a rank", only, launch.Asked{Method: launch.Env}, launch.Inproc},
		{"the only task as a rank", shell, launch.Asked{Method: launch.Env}, launch.Inproc},
		{"no rank", alone, launch.Asked{Method: launch.Env}, ""},
		{"a batch script is no rank", batch, launch.Asked{Method: launch.Env}, ""},
		{"srun without a job", alone, launch.Asked{Method: launch.Slurm}, ""},
		{"srun without a job, dry", alone, launch.Asked{Method: launch.Slurm, Dry: true}, launch.Slurm},
		{"unknown", alone, launch.Asked{Method: "ssh"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := launch.Choose(c.role, nil, c.asked)
			require.Equal(t, c.want, got)
			require.Equal(t, c.want == "", err != nil)
		})
	}
	failed := errors.New("WORLD_SIZE=16")
	_, err := launch.Choose(launch.Role{}, failed, launch.Asked{Method: launch.Auto})
	require.ErrorIs(t, err, failed)
	got, err := launch.Choose(launch.Role{}, failed, launch.Asked{Method: launch.Inproc})
	require.NoError(t, err)
	require.Equal(t, launch.Inproc, got)
	_, err = launch.Choose(alone, nil, launch.Asked{Method: launch.Slurm, Nodes: 128})
	require.ErrorContains(t, err, "salloc --nodes=128")
}
