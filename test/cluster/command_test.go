package cluster

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/launch"
)

// The command that --dry-run prints is accepted by the real srun and mpirun as it
// stands: it starts one world of the processes that it promises, with zbench's own
// arguments, the token and NCCL's settings in all of them.
func TestPrintedCommandsAreAccepted(t *testing.T) {
	zbench := built(t)
	const world = "--nodes=2 --ntasks-per-node=8 --gpus-per-node=8"
	for _, c := range []struct {
		name, options string
		// flags are zbench's, around is a command in which the script runs.
		flags, around string
		size, local   int
		has           string
	}{
		{name: "srun in a batch script", options: world, flags: "--launch slurm", size: 16, local: 8},
		{name: "srun of four GPUs a process", options: world, flags: "--launch slurm -g 4", size: 4, local: 2},
		{name: "srun inside a step", options: world, flags: "--launch slurm", around: "srun -N 1 -n 1", size: 16, local: 8, has: "--overlap"},
		{name: "srun in a job that keeps its environment", options: world + " --export=NONE", flags: "--launch slurm", size: 16, local: 8, has: "--export=ALL"},
		{name: "srun with more CPUs", options: "--nodes=2 --exclusive --gpus-per-node=8 --mem-per-cpu=10", flags: "--launch slurm", size: 16, local: 8, has: "--cpus-per-task=8"},
		{name: "srun with options of the user", options: world, flags: "--launch slurm --slurm-args '--label --time=5'", size: 16, local: 8, has: "--label"},
		{name: "mpirun in a batch script", options: world, flags: "--launch mpi", size: 16, local: 8},
		{name: "mpirun with a hostfile", flags: "--hostfile hosts", size: 8, local: 8, has: "-x ZBENCH_LEADER"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			script := filepath.Join(dir, "script")
			write := func(name, text string) {
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700)) //nolint:gosec // they are to be run
			}
			write("hosts", "localhost slots=8\n")
			write("process", "#!/bin/bash\n{ env; echo ARGS=$*; } >$(mktemp "+dir+"/process.XXXXXX)\n")
			write("script", strings.Join([]string{
				"#!/bin/bash", "set -e", "cd " + dir, "cp " + zbench + " zbench",
				"export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 NCCL_DEBUG=WARN OMPI_MCA_rmaps_base_oversubscribe=1",
				"ZBENCH_TOKEN=$(./zbench token); export ZBENCH_TOKEN ZBENCH_LEADER=localhost:21000",
				"./zbench collectives -b 1M -e 2M --dry-run " + c.flags + " | tee dry",
				"cleared=$(sed -n 's/.*cleared: \\([A-Z_ ]*\\).*/\\1/p' dry); unset $cleared",
				"mv process zbench", // the same path
				`eval "$(sed -n 's/^Command *//p' dry)"`,
			}, "\n"))
			var r result
			if c.options != "" {
				r = batch(t, c.options, c.around+" "+script)
			} else {
				r = bash(t, c.around+" "+script)
			}
			require.Zero(t, r.code)
			if c.has != "" {
				require.Contains(t, read(t, dir+"/dry"), c.has)
			}
			roles := rolesOf(t, dir+"/process.*")
			require.Len(t, roles, c.size)
			for rank, got := range roles {
				require.Equal(t, []int{rank, c.size, rank % c.local, c.local}, []int{got.Rank, got.Size, got.Local, got.LocalSize})
			}
		})
	}
}

// rolesOf are what processes make of their environments, which they have written to
// files, by rank.
func rolesOf(t *testing.T, pattern string) []launch.Role {
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	var roles []launch.Role
	tokens, leaders := map[string]bool{}, map[string]bool{}
	for _, f := range files {
		vars := map[string]string{}
		for line := range strings.SplitSeq(read(t, f), "\n") {
			name, value, _ := strings.Cut(line, "=")
			vars[name] = value
		}
		role, err := launch.Detect(func(name string) string { return vars[name] })
		require.NoError(t, err)
		require.NoError(t, launch.CheckToken(vars["ZBENCH_TOKEN"]))
		require.Equal(t, "WARN", vars["NCCL_DEBUG"])
		require.Contains(t, vars["ARGS"], "collectives")
		require.Contains(t, vars["ARGS"], "--launch env")
		tokens[vars["ZBENCH_TOKEN"]], leaders[role.Leader.Host+":"+strconv.Itoa(role.Leader.Port)] = true, true
		roles = append(roles, role)
	}
	require.Len(t, tokens, 1)
	require.Len(t, leaders, 1)
	slices.SortFunc(roles, func(a, b launch.Role) int { return a.Rank - b.Rank })
	return roles
}
