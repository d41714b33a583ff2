package launch_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/launch"
	"zbench/test/project"
)

// recorded is an environment from testdata/launchers, with changes: NAME=value sets, NAME unsets.
func recorded(t *testing.T, file string, changes ...string) map[string]string {
	t.Helper()
	vars := map[string]string{}
	if file != "" {
		text := project.Read(t, "testdata/launchers/"+file)
		require.True(t, strings.HasPrefix(text, "# recorded on ") || strings.HasPrefix(text, "# by "), "%s names no source", file)
		changes = append(strings.Split(text, "\n"), changes...)
	}
	for _, line := range changes {
		name, value, set := strings.Cut(line, "=")
		switch {
		case line == "" || line[0] == '#':
		case set:
			vars[name] = value
		default:
			delete(vars, name)
		}
	}
	return vars
}

func lookup(vars map[string]string) launch.Getenv {
	return func(name string) string { return vars[name] }
}

func TestDetectRecordedEnvironments(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range []struct {
		name, file string
		changes    []string
		want       launch.Role
		leader     string
	}{
		{name: "plain", want: launch.Role{Kind: launch.Alone}},
		{name: "a world of one needs no launcher", changes: []string{"WORLD_SIZE=1"}, want: launch.Role{Kind: launch.Alone}},
		{name: "batch script", file: "batch", want: launch.Role{Kind: launch.Parent, Start: launch.Slurm, Node: -1, Nodes: 2}},
		{name: "batch script without tasks", file: "batch-plain", want: launch.Role{Kind: launch.Parent, Start: launch.Slurm, Node: -1, Nodes: 2}},
		{
			name: "batch script that exports the size for its steps", file: "batch", changes: []string{"WORLD_SIZE=16", "MASTER_ADDR=node1"},
			want: launch.Role{Kind: launch.Parent, Start: launch.Slurm, Node: -1, Nodes: 2},
		},
		{
			name: "the only task of Slurm's PMIx", file: "srun-one", changes: []string{"PMIX_RANK=0"},
			want: launch.Role{Kind: launch.Parent, Start: launch.Slurm, Node: -1, Nodes: 2, Size: 1, InStep: true},
		},
		{name: "salloc's command", file: "salloc-command", want: launch.Role{Kind: launch.Parent, Start: launch.Slurm, Node: -1, Nodes: 2}},
		{name: "salloc's shell", file: "salloc-shell", want: launch.Role{Kind: launch.Parent, Start: launch.Slurm, Node: -1, Nodes: 2, Size: 1, InStep: true}},
		{name: "step of one task", file: "srun-one", want: launch.Role{Kind: launch.Parent, Start: launch.Slurm, Node: -1, Nodes: 2, Size: 1, InStep: true}},
		{name: "srun", file: "srun", want: launch.Role{Kind: launch.Rank, Rank: 9, Size: 16, Local: 1, LocalSize: 8, Node: 1, Nodes: 2}, leader: "node1"},
		{name: "srun inside a step", file: "srun-overlap", want: launch.Role{Kind: launch.Rank, Rank: 9, Size: 16, Local: 4, LocalSize: 8, Node: 1, Nodes: 2}, leader: "node1"},
		{name: "srun with PMI-2", file: "srun-pmi2", want: launch.Role{Kind: launch.Rank, Rank: 1, Size: 2, LocalSize: 1, Node: 1, Nodes: 2}, leader: "node1"},
		{name: "srun from a login node", file: "srun-login", want: launch.Role{Kind: launch.Rank, Rank: 1, Size: 2, LocalSize: 1, Node: 1, Nodes: 2}, leader: "node1"},
		{name: "srun --export=NONE", file: "srun-export-none", want: launch.Role{Kind: launch.Rank, Size: 2, LocalSize: 1, Nodes: 2}, leader: "node1"},
		{name: "srun on one node", file: "srun-cyclic", want: launch.Role{Kind: launch.Rank, Rank: 2, Size: 4, Local: 2, LocalSize: 4, Nodes: 1}, leader: "127.0.0.1"},
		{
			name: "srun with a script's RANK", file: "srun", changes: []string{"RANK=9", "WORLD_SIZE=16", "LOCAL_RANK=1", "MASTER_ADDR=node1"},
			want: launch.Role{Kind: launch.Rank, Rank: 9, Size: 16, Local: 1, Node: -1}, leader: "node1",
		},
		{
			name: "srun with a script's RANK and no LOCAL_RANK", file: "srun", changes: []string{"RANK=9", "WORLD_SIZE=16"},
			want: launch.Role{Kind: launch.Rank, Rank: 9, Size: 16, Local: 1, LocalSize: 8, Node: 1, Nodes: 2}, leader: "node1",
		},
		{name: "mpirun", file: "mpirun", want: launch.Role{Kind: launch.Rank, Rank: 1, Size: 2, Local: 1, LocalSize: 2, Node: -1, Nodes: 1}, leader: "127.0.0.1"},
		{name: "mpirun -np 1", file: "mpirun-one", want: launch.Role{Kind: launch.Rank, Size: 1, LocalSize: 1, Node: -1, Nodes: 1}, leader: "127.0.0.1"},
		{name: "mpirun in a batch script", file: "mpirun-in-batch", want: launch.Role{Kind: launch.Rank, Rank: 3, Size: 4, Local: 3, LocalSize: 4, Node: -1, Nodes: 1}, leader: "127.0.0.1"},
		{name: "mpirun on two nodes of a job", file: "mpirun-in-batch-pernode", want: launch.Role{Kind: launch.Rank, Rank: 2, Size: 4, LocalSize: 2, Node: -1, Nodes: 2}, leader: "node1"},
		{name: "mpirun in a step of one", file: "mpirun-in-srun", want: launch.Role{Kind: launch.Rank, Rank: 1, Size: 2, Local: 1, LocalSize: 2, Node: -1, Nodes: 1}, leader: "127.0.0.1"},
		{name: "Open MPI 5", file: "mpirun5", want: launch.Role{Kind: launch.Rank, Rank: 9, Size: 16, Local: 1, LocalSize: 8, Node: -1}},
		{
			name: "Open MPI with the leader given", file: "mpirun5", changes: []string{"ZBENCH_LEADER=head:4000"},
			want: launch.Role{Kind: launch.Rank, Rank: 9, Size: 16, Local: 1, LocalSize: 8, Node: -1}, leader: "head",
		},
		{name: "MPICH", file: "mpich", want: launch.Role{Kind: launch.Rank, Rank: 1, Size: 2, Local: 1, LocalSize: 2, Node: -1}, leader: "127.0.0.1"},
		{name: "torchrun", file: "torchrun", want: launch.Role{Kind: launch.Rank, Rank: 9, Size: 16, Local: 1, LocalSize: 8, Node: 1, Nodes: 2}, leader: "node1"},
		{name: "torchrun in Slurm", file: "torchrun-in-slurm", want: launch.Role{Kind: launch.Rank, Rank: 9, Size: 16, Local: 1, LocalSize: 8, Node: 1, Nodes: 2}, leader: "node1"},
		{name: "PyTorchJob", file: "pytorchjob", want: launch.Role{Kind: launch.Parent, Start: launch.Local, Node: 1, Nodes: 2, LocalSize: 8}, leader: "job-master-0"},
		{name: "PyTorchJob of an old operator", file: "pytorchjob-old", want: launch.Role{Kind: launch.Parent, Start: launch.Local, Node: 1, Nodes: 2}, leader: "job-master-0"},
		{
			name: "torchrun in a PyTorchJob", file: "pytorchjob", changes: []string{"RANK=9", "WORLD_SIZE=16", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=8", "GROUP_RANK=1", "GROUP_WORLD_SIZE=2"},
			want: launch.Role{Kind: launch.Rank, Rank: 9, Size: 16, Local: 1, LocalSize: 8, Node: 1, Nodes: 2}, leader: "job-master-0",
		},
		{
			name: "ZBENCH_* of a script", changes: []string{"ZBENCH_RANK=1", "ZBENCH_WORLD_SIZE=2", "ZBENCH_LOCAL_RANK=0", "ZBENCH_LEADER=a:4000"},
			want: launch.Role{Kind: launch.Rank, Rank: 1, Size: 2, Node: -1}, leader: "a",
		},
		{
			name: "ZBENCH_* of a script under srun", file: "srun", changes: []string{"ZBENCH_RANK=9", "ZBENCH_WORLD_SIZE=16", "ZBENCH_LOCAL_RANK=1", "ZBENCH_LEADER=a:4000"},
			want: launch.Role{Kind: launch.Rank, Rank: 9, Size: 16, Local: 1, Node: -1}, leader: "a",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			seen[c.file] = true
			got, err := launch.Detect(lookup(recorded(t, c.file, c.changes...)))
			require.NoError(t, err)
			require.Equal(t, c.leader, got.Leader.Host)
			if got.Kind != launch.Alone {
				require.NotEmpty(t, got.By)
				require.NotEmpty(t, got.Signs)
				for _, sign := range got.Signs {
					require.Contains(t, got.Text(), sign)
				}
			}
			got.Signs, got.By, got.Leader = nil, "", launch.Leader{}
			require.Equal(t, c.want, got)
		})
	}
	files, err := os.ReadDir(project.File(t, "testdata/launchers"))
	require.NoError(t, err)
	for _, f := range files {
		require.True(t, seen[f.Name()] || strings.HasSuffix(f.Name(), "-in-each-task"), "%s is in no test", f.Name())
	}
}

// What does not add up to one world is refused, and the variables are named.
func TestDetectRefusesWhatIsNotOneWorld(t *testing.T) {
	for _, c := range []struct {
		name, file string
		changes    []string
		names      []string
	}{
		{"mpirun in each of two tasks", "mpirun-in-each-task", nil, []string{"OMPI_COMM_WORLD_SIZE=2", "SLURM_STEP_NUM_TASKS=2"}},
		{
			"mpirun in each of two tasks, where both give the same rank", "mpirun-in-each-task",
			[]string{"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_LOCAL_RANK=1"},
			[]string{"OMPI_COMM_WORLD_SIZE=2", "SLURM_STEP_NUM_TASKS=2"},
		},
		{
			"mpirun in each of two tasks, on several nodes", "mpirun-in-each-task",
			[]string{"OMPI_COMM_WORLD_SIZE=16", "OMPI_COMM_WORLD_LOCAL_SIZE=8", "OMPI_MCA_orte_num_nodes=2"},
			[]string{"OMPI_COMM_WORLD_SIZE=16", "SLURM_STEP_NUM_TASKS=2"},
		},
		{"torchrun in each of two tasks", "torchrun-in-each-task", nil, []string{"WORLD_SIZE=8", "SLURM_STEP_NUM_TASKS=2"}},
		{"MPICH in each of two tasks", "srun-login", []string{"PMI_RANK=0", "PMI_SIZE=2", "MPI_LOCALRANKID=0", "MPI_LOCALNRANKS=2"}, []string{"PMI_SIZE=2", "SLURM_STEP_NUM_TASKS=2"}},
		{"torchrun in each process of mpirun", "mpirun", []string{"RANK=3", "LOCAL_RANK=3", "WORLD_SIZE=4", "GROUP_WORLD_SIZE=1", "LOCAL_WORLD_SIZE=4"}, []string{"WORLD_SIZE=4", "OMPI_COMM_WORLD_SIZE=2"}},
		{"a local world in each of two tasks", "srun-login", []string{"ZBENCH_RANK=0", "ZBENCH_WORLD_SIZE=8", "ZBENCH_LOCAL_RANK=0", "ZBENCH_NODES=1"}, []string{"ZBENCH_WORLD_SIZE=8", "SLURM_STEP_NUM_TASKS=2"}},
		{"a size alone", "", []string{"WORLD_SIZE=16"}, []string{"WORLD_SIZE=16"}},
		{"a rank alone", "", []string{"RANK=0"}, []string{"RANK=0"}},
		{"a local rank alone", "", []string{"LOCAL_RANK=0"}, []string{"LOCAL_RANK=0"}},
		{"a PMI without a local rank", "", []string{"PMI_RANK=0", "PMI_SIZE=2"}, []string{"PMI_SIZE=2"}},
		{"a PMIx server alone", "", []string{"PMIX_RANK=0", "PMIX_NAMESPACE=x"}, []string{"PMIX_RANK=0"}},
		{"Flux", "", []string{"FLUX_JOB_SIZE=8", "FLUX_TASK_RANK=1"}, []string{"FLUX_JOB_SIZE=8"}},
		{"another size in a step", "srun", []string{"WORLD_SIZE=8"}, []string{"WORLD_SIZE=8", "SLURM_STEP_NUM_TASKS=16"}},
		{"another rank in a step", "srun-login", []string{"RANK=0", "WORLD_SIZE=8", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=8"}, []string{"WORLD_SIZE=8", "SLURM_STEP_NUM_TASKS=2"}},
		{"a node of another launcher in a job", "batch", []string{"RANK=0", "WORLD_SIZE=2", "MASTER_ADDR=a"}, []string{"WORLD_SIZE=2", "SLURM_JOB_ID=1"}},
		{"no number of processes", "", []string{"ZBENCH_RANK=0"}, []string{"ZBENCH_RANK=0", "ZBENCH_WORLD_SIZE"}},
		{"no rank", "mpirun", []string{"OMPI_COMM_WORLD_RANK"}, []string{"OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_RANK"}},
		{"Open MPI's rank alone", "", []string{"OMPI_COMM_WORLD_RANK=0"}, []string{"OMPI_COMM_WORLD_RANK=0: mpirun", "OMPI_COMM_WORLD_SIZE and OMPI_COMM_WORLD_LOCAL_RANK are not set"}},
		{"Open MPI's rank alone in a job", "batch", []string{"OMPI_COMM_WORLD_RANK=0"}, []string{"OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE and OMPI_COMM_WORLD_LOCAL_RANK are not set"}},
		{"Open MPI without the local rank", "mpirun", []string{"OMPI_COMM_WORLD_LOCAL_RANK"}, []string{"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_LOCAL_RANK is not set"}},
		{"MPICH's local size alone", "", []string{"MPI_LOCALNRANKS=2"}, []string{"MPI_LOCALNRANKS=2", "PMI_RANK and PMI_SIZE and MPI_LOCALRANKID are not set"}},
		{"a script's size alone", "", []string{"ZBENCH_WORLD_SIZE=2"}, []string{"ZBENCH_WORLD_SIZE=2", "ZBENCH_RANK and ZBENCH_LOCAL_RANK are not set"}},
		{"torchrun without the size", "torchrun", []string{"WORLD_SIZE"}, []string{"RANK=9", "LOCAL_RANK=1", "WORLD_SIZE is not set"}},
		{"a task of Slurm without its step", "", []string{"SLURM_PROCID=0"}, []string{"SLURM_PROCID=0", "SLURM_STEP_NUM_TASKS is not set"}},
		{"a task of Slurm without its step, in the job", "batch", []string{"SLURM_PROCID=3"}, []string{"SLURM_PROCID=3", "SLURM_STEP_NUM_TASKS is not set"}},
		{"a local task of Slurm without its step", "batch", []string{"SLURM_LOCALID=1"}, []string{"SLURM_LOCALID=1"}},
		{"a step without the task", "srun", []string{"SLURM_PROCID"}, []string{"SLURM_STEP_NUM_TASKS=16", "SLURM_PROCID is not set"}},
		{"a rank alone in a job", "batch", []string{"RANK=0"}, []string{"RANK=0", "SLURM_JOB_ID=1", "world of its own"}},
		{"a local rank alone in a job", "batch", []string{"LOCAL_RANK=0"}, []string{"LOCAL_RANK=0", "SLURM_JOB_ID=1"}},
		{"PMIx alone in a job", "batch", []string{"PMIX_RANK=0"}, []string{"PMIX_RANK=0", "SLURM_JOB_ID=1"}},
		{"another task's PMIx in a step of one", "srun-one", []string{"PMIX_RANK=1"}, []string{"PMIX_RANK=1", "SLURM_JOB_ID="}},
		{"torchrun on more nodes than the job", "batch", []string{"RANK=9", "WORLD_SIZE=24", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=8", "GROUP_RANK=1", "GROUP_WORLD_SIZE=3"}, []string{"torchrun has 3 nodes (GROUP_WORLD_SIZE=3)", "SLURM_JOB_NUM_NODES=2"}},
		{"mpirun on more nodes than the job", "mpirun-in-batch-pernode", []string{"OMPI_MCA_orte_num_nodes=4", "OMPI_COMM_WORLD_SIZE=8"}, []string{"OMPI_MCA_orte_num_nodes=4", "SLURM_JOB_NUM_NODES=2"}},
		{"Flux in a job", "batch", []string{"FLUX_JOB_SIZE=8"}, []string{"FLUX_JOB_SIZE=8", "SLURM_JOB_ID=1"}},
		{"Flux in a step of one", "srun-one", []string{"FLUX_TASK_RANK=3"}, []string{"FLUX_TASK_RANK=3"}},
		{"a node of another launcher in a step of one", "srun-one", []string{"RANK=0", "WORLD_SIZE=2", "MASTER_ADDR=a"}, []string{"WORLD_SIZE=2", "world of its own"}},
		{"Open MPI 5 without its variables, in a PyTorchJob", "pytorchjob", []string{"PMIX_RANK=0"}, []string{"PMIX_RANK=0", "RANK=1"}},
		{"a rank beyond the size", "mpirun", []string{"OMPI_COMM_WORLD_RANK=2"}, []string{"OMPI_COMM_WORLD_RANK=2"}},
		{"a rank on the node beyond the rank", "mpirun", []string{"OMPI_COMM_WORLD_RANK=0"}, []string{"OMPI_COMM_WORLD_LOCAL_RANK=1"}},
		{"more on the node than in the world", "mpirun", []string{"OMPI_COMM_WORLD_LOCAL_SIZE=9"}, []string{"OMPI_COMM_WORLD_LOCAL_SIZE"}},
		{"no number", "mpirun", []string{"OMPI_COMM_WORLD_SIZE=two"}, []string{"OMPI_COMM_WORLD_SIZE=two"}},
		{"a negative number", "srun", []string{"SLURM_PROCID=-1"}, []string{"SLURM_PROCID=-1"}},
		{"a heterogeneous job", "srun", []string{"SLURM_HET_SIZE=2"}, []string{"SLURM_HET_SIZE=2"}},
		{"a PyTorchJob without its first node", "pytorchjob", []string{"MASTER_ADDR"}, []string{"MASTER_ADDR"}},
		{"a PyTorchJob's node beyond the last", "pytorchjob-old", []string{"RANK=2"}, []string{"RANK=2"}},
		{"a malformed leader", "srun", []string{"ZBENCH_LEADER=a:b"}, []string{"ZBENCH_LEADER=a:b"}},
		{"a malformed list of nodes", "srun", []string{"SLURM_STEP_NODELIST=node["}, []string{"node["}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := launch.Detect(lookup(recorded(t, c.file, c.changes...)))
			require.Error(t, err)
			for _, name := range c.names {
				require.ErrorContains(t, err, name)
			}
		})
	}
}

// All processes of a world derive one address, and it is no ephemeral or reserved port.
func TestLeaderIsTheSameInAllProcesses(t *testing.T) {
	first, err := launch.Detect(lookup(recorded(t, "srun")))
	require.NoError(t, err)
	other, err := launch.Detect(lookup(recorded(t, "srun", "SLURM_PROCID=0", "SLURM_LOCALID=0", "SLURM_NODEID=0")))
	require.NoError(t, err)
	require.Equal(t, first.Leader, other.Leader)
	for _, change := range []string{"SLURM_JOB_ID=2", "SLURM_STEP_ID=1"} {
		next, err := launch.Detect(lookup(recorded(t, "srun", change)))
		require.NoError(t, err)
		require.NotEqual(t, first.Leader.Port, next.Leader.Port, change)
	}
}
