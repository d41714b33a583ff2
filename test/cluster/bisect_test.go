package cluster

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// search is a bisection of three variants, of which the last two are slower at 16 MiB, and
// of one whose sweep hangs. Every child is a sweep of all processes of the allocation.
const search = `$ZBENCH_BIN bisect all_reduce all_gather --backend loopback --sizes 4M,16M,64M --place out -c 0 --max-time 0.002 -q --out $OUT \
  --variant 7.0= --variant "7.1=$SLOW" --variant "7.2=$SLOW" --variant "hangs=--fault hang:node=1,gpu=3,bytes=1e6,launch=2"`

// A search within an allocation starts each child over all of its nodes, one after another,
// and names the first slow variant; what hangs is left out, and nothing stays behind.
func TestBisectInAnAllocation(t *testing.T) {
	zbench := built(t)
	const world = "--nodes=2 --ntasks-per-node=8 --gpus-per-node=8"
	for _, c := range []struct{ name, options, run string }{
		{"srun in a batch script", world, search + " --launch slurm"},
		{"srun with salloc", "", "salloc " + world + " bash -c '" + search + " --launch slurm'"},
		{"mpirun in a batch script", world, search + " --launch mpi"},
		{"in a step", world, "srun -N 1 -n 1 bash -c '" + search + " --launch slurm'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			env := []string{
				"ZBENCH_BIN=" + zbench, "OUT=" + dir + "/run", "SLOW=--fault dip:from=16e6,to=17e6,times=1.1", "TMPDIR=" + dir,
				"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_rmaps_base_oversubscribe=1",
			}
			var r result
			if c.options == "" {
				r = bash(t, c.run, env...)
			} else {
				r = batch(t, c.options, c.run, env...)
			}
			require.Zero(t, r.code)
			firstSlow(t, dir+"/run", 16)
			nothingLeft(t, zbench, dir)
		})
	}
}

// firstSlow checks what the search found, and that its children ran on so many GPUs.
func firstSlow(t *testing.T, dir string, gpus int) {
	t.Helper()
	var d struct {
		Verdict string
		GPUs    int
		First   struct {
			Variant, After string
			Cases          int
		}
		Variants []struct {
			Name    string
			LeftOut bool `json:"left_out"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, dir+"/bisect.json")), &d))
	require.Equal(t, "slower", d.Verdict)
	require.Equal(t, gpus, d.GPUs)
	require.Equal(t, "7.1", d.First.Variant)
	require.Equal(t, "7.0", d.First.After)
	require.Equal(t, 2, d.First.Cases)
	for _, v := range d.Variants {
		require.Equal(t, v.Name == "hangs", v.LeftOut, v.Name)
	}
	require.FileExists(t, dir+"/report.html")
	children, err := filepath.Glob(dir + "/children/*/results.json")
	require.NoError(t, err)
	require.NotEmpty(t, children)
	for _, child := range children {
		text, err := os.ReadFile(child)
		require.NoError(t, err)
		var rec struct{ World struct{ Ranks, Nodes int } }
		require.NoError(t, json.Unmarshal(text, &rec))
		require.Equal(t, gpus, rec.World.Ranks, child)
		require.Equal(t, 2, rec.World.Nodes, child)
	}
}
