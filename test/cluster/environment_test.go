package cluster

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/internal/launch"
	"zbench/test/project"
)

var update = flag.Bool("update", false, "rewrite the recorded environments")

// of names the variables of a launcher; site are those that tell of this machine.
var (
	of   = regexp.MustCompile(`^(SLURMD?_|OMPI_|PMIX_|PMI_|MPI_|ENVIRONMENT=)`)
	site = regexp.MustCompile(`(HOST|HOSTNAME|DIR|USER|UID|GID|PID|PORT|ADDR|ADDR_PATTERN|CONF|CLUSTER|CLUSTER_NAME|PRIO_PROCESS|FD|LOCATION|PATH|` +
		`COMMAND|ARGV|UNIX_SOCKET|URI\d*|MODULE_PATH|wdir|session_dir|SECURITY_MODE|tmpdir_base|regex|transports|uri)=`)
	// numbered variables differ from run to run, and are kept with the value that they
	// had when they were recorded.
	numbered = regexp.MustCompile(`(jobid|NAMESPACE|PMIX_ID|JOB_NAME|JOB_?ID|STEP_?ID|PMI_JOBID)=`)
)

// recording is an environment of internal/launch and how it comes to be.
type recording struct {
	// file is its name there, about what its first line says.
	file, about string
	// options are sbatch's; without any the script runs as on a login node.
	options string
	// script runs "record" as the process whose environment it is. Each process does so.
	script string
	// which is the process that is kept, by the variable that numbers it.
	which string
}

const (
	tasks = "--nodes=2 --ntasks-per-node=8 --gpus-per-node=8"
	plain = "--nodes=2 --gpus-per-node=8"
	mpi   = "mpirun --allow-run-as-root --oversubscribe "
)

var recorded = []recording{
	{"batch", "a batch script of 2 nodes with 8 tasks each", tasks, "record", ""},
	{"batch-plain", "the same without a number of tasks", plain, "record", ""},
	{"srun", "srun in a batch script, task 9 of 16", tasks, "srun --distribution=block --mpi=none record", "SLURM_PROCID=9"},
	{"srun-one", "srun -n 1 in a batch script of 2 nodes", tasks, "srun -N 1 -n 1 record", ""},
	{"srun-overlap", "srun --overlap inside a step, task 9 of 16", tasks, "srun -N 1 -n 1 srun --overlap -N 2 --ntasks-per-node=8 -n 16 record", "SLURM_PROCID=9"},
	{"srun-pmi2", "srun --mpi=pmi2 in a batch script, task 1 of 2", tasks, "srun -n 2 --ntasks-per-node=1 --mpi=pmi2 record", "SLURM_PROCID=1"},
	{"srun-cyclic", "srun -m cyclic, task 2 of 4", "--nodes=1 --exclusive", "srun -n 4 -m cyclic record", "SLURM_PROCID=2"},
	{"srun-export-none", "srun --export=NONE, task 0 of 2", plain, "srun -n 2 --export=NONE /bin/bash $RECORD", "SLURM_PROCID=0"},
	{"srun-login", "srun from a login node, task 1 of 2", "", "srun -N 2 -n 2 record", "SLURM_PROCID=1"},
	{"salloc-command", "a command of salloc on a login node", "", "salloc -N 2 --ntasks-per-node=2 --gpus-per-node=8 record", ""},
	{"salloc-shell", "the shell of salloc as a step (use_interactive_step)", "", "{ sleep 1; echo record; echo exit; } | script -qec 'salloc -N 2 --ntasks-per-node=2 --gpus-per-node=8' /dev/null", ""},
	{"mpirun", "mpirun -np 2, rank 1", "", mpi + "-np 2 record", "OMPI_COMM_WORLD_RANK=1"},
	{"mpirun-one", "mpirun -np 1", "", mpi + "-np 1 record", ""},
	{"mpirun-in-batch", "mpirun -np 4 in a batch script, all on the first node, rank 3", tasks, mpi + "-np 4 record", "OMPI_COMM_WORLD_RANK=3"},
	{"mpirun-in-batch-pernode", "mpirun --npernode 2 in a batch script of 2 nodes, rank 2", tasks, mpi + "--npernode 2 record", "OMPI_COMM_WORLD_RANK=2"},
	{
		"mpirun-in-each-task", "mpirun -np 2 in each of 2 tasks: two worlds, rank 0 of the second", plain,
		"srun -n 2 " + ownSession(mpi+"--mca plm ^slurm --mca ras ^slurm -np 2 record"), "SLURM_PROCID=1 OMPI_COMM_WORLD_RANK=0",
	},
	{"mpirun-in-srun", "mpirun -np 2 in a step of one task, rank 1", "--nodes=1 --exclusive", "srun -n 1 " + mpi + "--mca plm ^slurm --mca ras ^slurm -np 2 record", "OMPI_COMM_WORLD_RANK=1"},
}

// The environments that internal/launch is tested with are those of the real launchers:
// the same variables with the same values, and the same role.
func TestEnvironmentsAreRecorded(t *testing.T) {
	built(t)
	for _, r := range recorded {
		t.Run(r.file, func(t *testing.T) {
			got := r.run(t)
			file := filepath.Join(project.File(t, "testdata/launchers"), r.file)
			var want []string
			if text, err := os.ReadFile(file); err == nil {
				want = strings.Split(strings.TrimSpace(string(text)), "\n")
				want = want[1:]
			}
			if *update {
				write(t, file, r, want, got)
				return
			}
			require.NotEmpty(t, want, file)
			require.Equal(t, masked(want), masked(got))
			require.Equal(t, role(want), role(got))
		})
	}
}

// allIdle waits until every node has ended its last job.
func allIdle(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		states, err := exec.CommandContext(t.Context(), "sinfo", "--noheader", "--Node", "--format=%T").Output()
		return err == nil && strings.ReplaceAll(string(states), "idle\n", "") == ""
	}, 2*time.Minute, 100*time.Millisecond)
}

// run is the environment that a recording gives today, the launcher's variables alone.
func (r recording) run(t *testing.T) []string {
	dir := t.TempDir()
	script := filepath.Join(dir, "record")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/bash\n/usr/bin/env >"+dir+"/env.$$.new && mv "+dir+"/env.$$.new $(mktemp "+dir+"/env.XXXXXX)\n"), 0o700)) //nolint:gosec // it is to be run
	text := "export TMPDIR=" + dir + " PATH=" + dir + ":$PATH RECORD=" + script + "\n" + r.script
	allIdle(t) // or the launcher takes other nodes than in the recording
	end := result{}
	if r.options != "" {
		end = batch(t, r.options, text)
	} else {
		end = bash(t, text)
	}
	require.Zero(t, end.code)
	files, err := filepath.Glob(dir + "/env.*")
	require.NoError(t, err)
	for _, f := range files {
		all := strings.Split(read(t, f), "\n")
		here := func(v string) bool { return slices.Contains(all, v) }
		if !slices.ContainsFunc(strings.Fields(r.which), func(v string) bool { return !here(v) }) {
			return ours(all)
		}
	}
	require.Fail(t, "no process was the one to record", "%d files", len(files))
	return nil
}

// ours are the launcher's variables, sorted, without what tells of this machine.
func ours(all []string) []string {
	var kept []string
	for _, v := range all {
		if of.MatchString(v) && (numbered.MatchString(v) || !site.MatchString(v)) {
			kept = append(kept, v)
		}
	}
	slices.Sort(kept)
	return kept
}

// masked has no value where that differs from run to run.
func masked(vars []string) []string {
	var out []string
	for _, v := range vars {
		if name, _, _ := strings.Cut(v, "="); numbered.MatchString(v) {
			v = name + "=…"
		}
		out = append(out, v)
	}
	slices.Sort(out)
	return out
}

// role is what zbench makes of variables, less what holds a number of a job.
func role(vars []string) string {
	r, err := launch.Detect(func(name string) string {
		for _, v := range vars {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	})
	if err != nil {
		return "refused"
	}
	r.Signs, r.Leader.Port = nil, 0
	return r.Text() + " led from " + r.Leader.Host
}

// write keeps the numbers of a recording, so that nothing but a change shows.
func write(t *testing.T, file string, r recording, want, got []string) {
	old := map[string]string{}
	for _, v := range want {
		name, value, _ := strings.Cut(v, "=")
		old[name] = value
	}
	for i, v := range got {
		if name, _, _ := strings.Cut(v, "="); numbered.MatchString(v) && old[name] != "" {
			got[i] = name + "=" + old[name]
		}
	}
	on := "Slurm 22.05"
	switch {
	case strings.HasPrefix(r.file, "mpirun-in"):
		on += " and Open MPI 4.1.4"
	case strings.HasPrefix(r.file, "mpirun"):
		on = "Open MPI 4.1.4"
	}
	text := "# recorded on " + on + ": " + r.about + "\n" + strings.Join(got, "\n") + "\n"
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
}
