package cluster

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// token is the secret of the tests' runs.
var token = strings.Repeat("5a", 32)

// few is a sweep of three collectives at three sizes, in and out of place.
const few = " collectives --backend loopback -b 1K -e 1M -f 32 -q"

// alone are the folders of the sweep in one process, by number of nodes.
var alone sync.Map

// inOneProcess is the folder of the sweep of nodes of 8 GPUs in one process.
func inOneProcess(t *testing.T, zbench string, nodes int) string {
	t.Helper()
	if dir, ok := alone.Load(nodes); ok {
		return dir.(string) //nolint:forcetypeassert // a folder is all that is put there
	}
	dir, err := os.MkdirTemp("", "zbench-cluster-alone") //nolint:usetesting // other tests use it, too
	require.NoError(t, err)
	r := bash(t, fmt.Sprintf("%s %s --launch inproc --nodes %d --out %s/run", zbench, few, nodes, dir))
	require.Zero(t, r.code)
	alone.Store(nodes, dir+"/run")
	return dir + "/run"
}

func TestMain(m *testing.M) {
	code := m.Run()
	alone.Range(func(_, dir any) bool {
		_ = os.RemoveAll(filepath.Dir(dir.(string))) //nolint:forcetypeassert // as above
		return true
	})
	os.Exit(code)
}

// way is one of starting the processes of a sweep.
type way struct {
	name  string
	nodes int
	// options are sbatch's; without any the script runs as on a login node. run has the
	// sweep for $SWEEP and the number of nodes for $NODES.
	options, run string
}

const (
	// The launcher starts zbench.
	rootMPI = "mpirun --allow-run-as-root --oversubscribe -x ZBENCH_TOKEN "
	// As torchrun starts its processes, eight for each node.
	torchrun = `for i in $(seq 0 7); do
  RANK=$((8 * NODE + i)) WORLD_SIZE=16 LOCAL_RANK=$i LOCAL_WORLD_SIZE=8 GROUP_RANK=$NODE GROUP_WORLD_SIZE=2 \
    MASTER_PORT=29400 TORCHELASTIC_RUN_ID=none $SWEEP & all="$all $!"
done`
	wait = `
for p in $all; do wait $p || code=$?; done; exit ${code:-0}`
)

var ways = []way{
	{"local processes", 1, "", "$SWEEP --launch local --gpus-per-node 8"},
	{"mpirun of zbench", 2, "", rootMPI + "-np 16 $SWEEP --nodes 2"},
	{"mpirun without a secret", 2, "", "unset ZBENCH_TOKEN; mpirun --allow-run-as-root --oversubscribe -np 16 $SWEEP --nodes 2"},
	{"zbench with a hostfile", 1, "", "echo localhost slots=8 >hosts; $SWEEP --hostfile hosts"},
	{"torchrun's variables", 2, "", "export MASTER_ADDR=127.0.0.1; for NODE in 0 1; do " + torchrun + "; done" + wait},
	{
		"torchrun's variables in a step", 2, "--nodes=2 --ntasks-per-node=1 --exclusive",
		"export MASTER_ADDR=node1; srun bash -c 'NODE=$SLURM_PROCID; " + torchrun + wait + "'",
	},
	{
		"a PyTorchJob's variables", 2, "", "export MASTER_ADDR=127.0.0.1 MASTER_PORT=23456 PET_NNODES=2 PET_NPROC_PER_NODE=8 WORLD_SIZE=16\n" +
			"for n in 0 1; do RANK=$n PET_NODE_RANK=$n $SWEEP --launch local & all=\"$all $!\"; done" + wait,
	},
	{"mpirun in a batch script", 2, "--nodes=2 --ntasks-per-node=8 --gpus-per-node=8", rootMPI + "--npernode 8 $SWEEP --nodes 2"},
	{"srun of zbench", 8, "--nodes=8 --ntasks-per-node=8 --gpus-per-node=8", "srun $SWEEP"},
	{"zbench with srun, in a step", 2, "--nodes=2 --ntasks-per-node=8 --gpus-per-node=8", "srun -N 1 -n 1 $SWEEP --launch slurm"},
}

// Figures do not depend on how many processes run the sweep, or on who started them.
func TestSweepsAreTheSameInSeveralProcesses(t *testing.T) {
	zbench := built(t)
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			want, dir := inOneProcess(t, zbench, w.nodes), t.TempDir()
			out := dir + "/run"
			env := []string{
				"SWEEP=" + zbench + few + " --out " + out, "ZBENCH_TOKEN=" + token, "TMPDIR=" + dir,
				"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_rmaps_base_oversubscribe=1",
			}
			var r result
			if w.options == "" {
				r = bash(t, w.run, env...)
			} else {
				r = batch(t, w.options, w.run, env...)
			}
			require.Zero(t, r.code)
			sameFigures(t, want, out)
			nothingLeft(t, zbench, dir)
		})
	}
}

// Two launchers that make two worlds are refused by every process, and none writes a
// folder.
func TestTwoWorldsAreRefused(t *testing.T) {
	zbench := built(t)
	for name, starting := range map[string]string{
		"mpirun in each task":   ownSession(rootMPI + "--mca plm ^slurm --mca ras ^slurm -np 2 $SWEEP"),
		"torchrun in each task": "env RANK=0 LOCAL_RANK=0 WORLD_SIZE=4 LOCAL_WORLD_SIZE=4 GROUP_RANK=0 GROUP_WORLD_SIZE=1 MASTER_ADDR=localhost MASTER_PORT=1 $SWEEP",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			r := batch(t, "--nodes=2 --ntasks-per-node=1 --exclusive", "srun -n 2 "+starting, "SWEEP="+zbench+few+" --out "+dir+"/run", "ZBENCH_TOKEN="+token, "TMPDIR="+dir)
			require.NotZero(t, r.code)
			require.Contains(t, strings.Join(strings.Fields(r.errors), " "), "two launchers do not add up to one world")
			require.NoDirExists(t, dir+"/run")
			nothingLeft(t, zbench, dir)
		})
	}
}

// sameFigures holds two folders equal in all that was timed, to the last digit.
func sameFigures(t *testing.T, want, got string) {
	t.Helper()
	require.Equal(t, read(t, want+"/results.csv"), read(t, got+"/results.csv"))
	require.NotEmpty(t, figures(t, want))
	require.Equal(t, figures(t, want), figures(t, got))
}

// figures are the results of a record: more digits than the CSV has, the late ranks, the
// warnings.
func figures(t *testing.T, dir string) []any {
	t.Helper()
	var doc struct {
		Results []any `json:"results"`
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, dir+"/results.json")), &doc))
	return doc.Results
}

// nothingLeft holds that no zbench runs on and that none left a file in its temporary
// folder, where the processes of a simulation meet.
func nothingLeft(t *testing.T, zbench, dir string) {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	require.NoError(t, err)
	for _, link := range links {
		program, err := os.Readlink(link)
		require.False(t, err == nil && program == zbench, "%s still runs", link)
	}
	files, err := filepath.Glob(dir + "/zbench-*")
	require.NoError(t, err)
	require.Empty(t, files)
}
