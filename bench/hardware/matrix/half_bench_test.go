package matrix

import "testing"

// A square of 4,096 elements a side, as a step of Newton–Schulz has it.
func BenchmarkTransposed(b *testing.B) {
	const side = 4096
	h := Half{Rows: side, Cols: side, Stride: side, Raw: make([]byte, 2*side*side)}
	b.SetBytes(int64(len(h.Raw)))
	b.Run("copy", func(b *testing.B) {
		for b.Loop() {
			h.Transposed()
		}
	})
	b.Run("compare", func(b *testing.B) {
		for b.Loop() {
			h.NotTransposeOf(h)
		}
	})
}
