package cluster

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A soak within an allocation starts the worlds of each environment over all of its nodes, one after another. The
// variable that takes turns reaches every process, also one that is no library's, and nothing stays behind.
func TestSoakOfEnvironmentsInAnAllocation(t *testing.T) {
	zbench := built(t)
	const (
		world = "--nodes=2 --ntasks-per-node=4 --gpus-per-node=4"
		// Rank 5 is on the second node: its process must have the variable.
		soak = `$ZBENCH_BIN soak --backend loopback --sizes 64K --attempts 96 --launches 1 -q --out $OUT --vary OWN=on,off --fault stale_send:node=1,gpu=1,first=1,env=OWN:on`
	)
	for _, c := range []struct{ name, options, run string }{
		{"srun in a batch script", world, soak + " --launch slurm"},
		{"srun with salloc", "", "salloc " + world + " bash -c '" + soak + " --launch slurm'"},
		{"mpirun in a batch script", world, soak + " --launch mpi"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			env := []string{
				"ZBENCH_BIN=" + zbench, "OUT=" + dir + "/run", "TMPDIR=" + dir,
				"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_rmaps_base_oversubscribe=1",
			}
			var r result
			if c.options == "" {
				r = bash(t, c.run, env...)
			} else {
				r = batch(t, c.options, c.run, env...)
			}
			require.Positive(t, r.code, "wrong data, and found")
			var d struct {
				Complete               bool
				Attempts, Wrong, Fired int
				Senders                []struct{ Ranks []int }
				Arms                   []struct {
					Factor, Level string
					Wrong         int
					Named         bool
				}
			}
			require.NoError(t, json.Unmarshal([]byte(read(t, filepath.Join(dir, "run", "soak.json"))), &d))
			require.True(t, d.Complete)
			require.Equal(t, 96, d.Attempts)
			require.Positive(t, d.Wrong)
			require.Len(t, d.Senders, 1)
			require.Equal(t, []int{5}, d.Senders[0].Ranks)
			wrong := map[string]int{}
			for _, a := range d.Arms {
				if a.Factor == "OWN" {
					wrong[a.Level] = a.Wrong
					require.Equal(t, a.Level == "on", a.Named, "%+v", a)
				}
			}
			require.Equal(t, map[string]int{"on": d.Wrong, "off": 0}, wrong)
			nothingLeft(t, zbench, dir)
		})
	}
}
