package native

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Bytes a second of one core, for the loopback's verification.
func BenchmarkKernels(b *testing.B) {
	const bytes = 1 << 20 // stays in the cache, as the loopback's small cases do
	buffer := make([]uint64, bytes/8)
	out := []uint64{0, ^uint64(0), 0, 0}
	for _, c := range []struct {
		name  string
		dtype int
		width int
		op    int
		kind  int
		n     int
	}{
		{"float/sum", 7, 4, 0, KindReduced, 1024},
		{"float/prod", 7, 4, 1, KindReduced, 8},
		{"float/max", 7, 4, 2, KindReduced, 8},
		{"float/avg", 7, 4, 4, KindReduced, 9},
		{"float/copied", 7, 4, 0, KindCopied, 8},
		{"bfloat16/sum", 9, 2, 0, KindReduced, 1024},
		{"int8/sum", 0, 1, 0, KindReduced, 8},
		{"double/sum", 8, 8, 0, KindReduced, 8},
		{"double/max", 8, 8, 2, KindReduced, 8},
		{"float/tiny", 7, 1 << 18, 0, KindReduced, 1024}, // 4 elements: the cost of a launch
		{"uint64/prod", 5, 8, 1, KindReduced, 8},
	} {
		count := int(bytes / c.width)
		b.Run("fill/"+c.name, func(b *testing.B) {
			b.SetBytes(bytes)
			for b.Loop() {
				require.NoError(b, runKernel("zb_fill", line(8, KernelBlock), true,
					address(&buffer[0]), count, c.dtype, c.op, c.kind, 3, c.n, 0, 1))
			}
		})
		b.Run("check/"+c.name, func(b *testing.B) {
			b.SetBytes(bytes)
			for b.Loop() {
				require.NoError(b, runKernel("zb_check", line(8, KernelBlock), true,
					address(&buffer[0]), count, c.dtype, c.op, c.kind, c.n, count, 3, 0, 0, 1, address(&out[0])))
			}
		})
	}
}
