package hbm

import (
	"math"
	"math/bits"
)

// mix is the finaliser of splitmix64 (Steele, Lea & Flood 2014), the same as in
// kernels/mix.h.
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// value returns element i of an input array, equal to kernels/data.hip in every
// bit. Values are nearly normal with standard deviation 1.155 and |value| < 4.
func value(t Type, seed uint64, array, i uint64) float64 {
	h := mix(mix(seed^array) ^ i)
	sum := int64(h&0xffff+h>>16&0xffff+h>>32&0xffff+h>>48) - 131070
	low := h * 0x9e3779b97f4a7c15
	if t.Bytes == 4 {
		return float64(sum<<6+int64(low>>58)) * 0x1p-21
	}
	return float64(sum<<34+int64(low>>30)) * 0x1p-49
}

// want() returns the expected element i of a stream.
func want(s Stream, t Type, seed uint64, zeros bool, i uint64) float64 {
	x, y, fill := value(t, seed, 0, i), value(t, seed, 1, i), scalar
	if zeros {
		x, y, fill = 0, 0, 0
	}
	v := [...]float64{fill, x, fill * x, x + y, x + fill*y}[s.op]
	if t.Bytes == 4 {
		return float64(float32(v)) // with float32 inputs the sum in double is exact
	}
	return v
}

// encode returns the bits of a value in the type.
func encode(t Type, v float64) uint64 {
	if t.Bytes == 4 {
		return uint64(math.Float32bits(float32(v)))
	}
	return math.Float64bits(v)
}

// arrayGap returns the gap before array k in bytes: about 100 KiB per array, in whole vectors. It
// keeps the arrays from starting at the same cache set and memory channel.
func arrayGap(k int) int64 { return int64(k) * (97<<10 + 768) }

// roundUp rounds n up to a multiple of a power of two.
func roundUp(n, to int64) int64 {
	return (n + to - 1) >> bits.TrailingZeros64(uint64(to)) << bits.TrailingZeros64(uint64(to))
} //nolint:gosec // positive
