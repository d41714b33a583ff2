package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A process on each node measures its eight GPUs, whoever starts it; the slow one is named with its node.
func TestPeakOfAllNodes(t *testing.T) {
	zbench := built(t)
	const gemm = " gemm --peak --choices 1 --backend loopback --max-time 0.01 --fault slow_compute:node=1,gpu=5,left=0.85 -q --out $OUT"
	for name, run := range map[string]string{
		"srun of zbench":  "srun --ntasks-per-node=1 $ZBENCH_BIN" + gemm,
		"zbench with mpi": "$ZBENCH_BIN" + gemm + " --launch mpi",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			r := batch(t, "--nodes=2 --ntasks-per-node=1 --gpus-per-node=8", run, "ZBENCH_BIN="+zbench, "OUT="+dir+"/run", "ZBENCH_TOKEN="+token, "TMPDIR="+dir,
				"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_rmaps_base_oversubscribe=1")
			require.Equal(t, 1, r.code, "the job fails: %s", r.errors)
			require.Contains(t, r.out, "Slow: GPU 5 of node1 reaches")
			require.Contains(t, read(t, dir+"/run/run.json"), `"processes": 2`)
			nothingLeft(t, zbench, dir)
		})
	}
}
