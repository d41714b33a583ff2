package gemm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
)

// The lines are in the form that PyTorch reads: its own reader of PyTorch 2.6 and 2.14 made these matrices of them.
func TestUntunedLines(t *testing.T) {
	for text, want := range map[string]string{
		"8192x4096x2048/TN": "GemmTunableOp_BFloat16_TN,tn_4096_8192_2048_ld_2048_2048_4096\n",
		"300x200x100/NN":    "GemmTunableOp_BFloat16_NN,nn_200_300_100_ld_200_100_200\n",
		"300x200x100/NT":    "GemmTunableOp_BFloat16_NT,nt_200_300_100_ld_200_300_200\n",
		"30x20x10x4/TN":     "GemmStridedBatchedTunableOp_BFloat16_TN,tn_20_30_10_B_4_ld_10_10_20\n",
	} {
		s, err := ParseShape(text)
		require.NoError(t, err)
		require.Equal(t, want, s.tunable("BFloat16"), text)
	}
}

// A product is listed if its first choice is at least 2 % slower than the best.
func TestUntunedAreSlowFirstChoices(t *testing.T) {
	rec := &record.Record{}
	rate := func(cols int64, dtype string, choice int, v float64) {
		k := record.Kernel{Kernel: Kernel, Dtype: dtype, Role: record.Choice, Shape: record.Shape{Rows: 64, Cols: cols, Depth: 32, Layout: TN, Count: 1}}
		k.Status, k.Config.Choice, k.Metrics.Effective = record.OK, choice, &v
		rec.Kernels = append(rec.Kernels, k)
	}
	for _, dtype := range []string{BF16, F32, FP8} {
		rate(100, dtype, 1, 98.1)
		rate(100, dtype, 2, 100)
		rate(200, dtype, 1, 97.9)
		rate(200, dtype, 2, 100)
	}
	require.Equal(t, "GemmTunableOp_BFloat16_TN,tn_200_64_32_ld_32_32_200\nGemmTunableOp_float_TN,tn_200_64_32_ld_32_32_200\n", Untuned(rec))
	require.Empty(t, Untuned(&record.Record{}))
}
