package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/test/longtest"
)

// Pairs of single runs of the loopback: without a change none misses the gate, whatever the noise; a fourfold
// time, of one size or of all, always does.
func TestLongGateOfSingleRuns(t *testing.T) {
	longtest.Only(t)
	besideScripts(t)
	const clean, slow = 6, 4 // each noise and each number of GPUs
	run := func(i, seed int, more ...string) string {
		out := filepath.Join(t.TempDir(), "run")
		line := []string{"collectives", "all_reduce", "--gpus-per-node", fmt.Sprint(2 + i%2), "--nodes", "1", "-b", "64K", "-e", "16M", "-f", "4", "-c", "0", "--max-time", "0.001", "-q", "--seed", fmt.Sprint(seed), "--out", out}
		if sigma := []float64{0.01, 0.05, 0.2}[i%3]; i%3 > 0 {
			line = append(line, "--fault", fmt.Sprintf("noise:sigma=%g", sigma))
		}
		code, stderr := zbench(t, osFS{}, slices.Concat(line, more)...)
		require.Contains(t, []int{exit.OK, exit.Regression, exit.Want}, code, stderr) // a dip is a fault of the run itself; so noisy a run may be unclear
		return out
	}
	for i := range clean {
		code, _, stderr := printed(t, "compare", run(i, 2*i+1), run(i, 2*i+2), "--fail-on", "slower:5%")
		require.Equal(t, exit.Want, code, "%d: %s", i, stderr)
	}
	for i := range slow {
		dip := []string{"dip:from=1e6,to=2e6,times=4", "dip:from=1,to=1e9,times=4"}[i%2]
		code, _, stderr := printed(t, "compare", run(i, 2*i+1001), run(i, 2*i+1002, "--fault", dip), "--fail-on", "slower:5%")
		require.Equal(t, exit.Regression, code, "%d %s: %s", i, dip, stderr)
	}
}
