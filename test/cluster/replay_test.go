package cluster

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// steps are a sweep of the allocation and steps of a trainer on its ranks.
const steps = `$ZBENCH_BIN collectives all_reduce --backend loopback --sizes 1M,4M,16M,64M,256M,1G --place in -c 0 --max-time 0.002 -q --out $OUT/sweep $HOW && ` +
	`$ZBENCH_BIN replay $OUT/sweep --framework ddp --preset llama3-8b --step-ms 120 --settings 100M --block 1 -q --out $OUT/replay $HOW`

// Every process of the allocation takes the steps, and nothing stays behind.
func TestReplayInAnAllocation(t *testing.T) {
	zbench := built(t)
	for _, how := range []string{"slurm", "mpi"} {
		t.Run(how, func(t *testing.T) {
			dir := t.TempDir()
			r := batch(t, "--nodes=2 --ntasks-per-node=8 --gpus-per-node=8", steps, "ZBENCH_BIN="+zbench, "OUT="+dir, "HOW=--launch "+how, "TMPDIR="+dir,
				"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_rmaps_base_oversubscribe=1")
			require.Zero(t, r.code)
			var d struct {
				Ranks    int
				Settings []struct {
					Difference struct{ Verdict string }
				}
			}
			text, err := os.ReadFile(dir + "/replay/replay.json")
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(text, &d))
			require.Equal(t, 16, d.Ranks)
			require.Len(t, d.Settings, 3)
			require.Equal(t, "faster", d.Settings[1].Difference.Verdict)
			nothingLeft(t, zbench, dir)
		})
	}
}
