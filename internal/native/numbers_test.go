package native

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// floatBits are floats in which rounding to 16 bits can go wrong: every sign and
// exponent, with mantissas at and beside every tie of f16 and bf16; every pattern
// of the low 16 bits; and some that are drawn.
func floatBits() []uint32 {
	var all []uint32
	for top := range uint32(1 << 19) {
		for _, tail := range []uint32{0, 1, 0xfff, 0x1000, 0x1001, 0x1fff} {
			all = append(all, top<<13|tail)
		}
	}
	for top := range uint32(1 << 16) {
		for _, tail := range []uint32{0, 1, 0x7fff, 0x8000, 0x8001, 0xffff} {
			all = append(all, top<<16|tail)
		}
		all = append(all, top)
	}
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // test data
	for range 1 << 20 {
		all = append(all, rng.Uint32())
	}
	return all
}

// nearest is a float with so many bits of fraction, by float64 arithmetic: steps
// of 2^(e - fraction) from the least normal exponent on, which a tie leaves even.
// Not for a NaN.
func nearest(bits uint32, fraction, least int) uint16 {
	v, sign := float64(math.Float32frombits(bits)), uint16(bits>>16&0x8000)
	infinite := float64(uint32(2-2*least+1) << fraction)
	switch {
	case v == 0:
		return sign
	case math.IsInf(v, 0):
		return sign | uint16(infinite)
	}
	e := max(math.Ilogb(v), least)
	steps := math.RoundToEven(math.Ldexp(math.Abs(v), fraction-e)) + math.Ldexp(float64(e-least), fraction)
	return sign | uint16(min(steps, infinite))
}

// halfBits and brainBits are what a float narrows to. A NaN becomes the one of its
// sign in f16, and keeps its upper bits in bf16.
func halfBits(bits uint32) uint16 {
	if bits&0x7fffffff > 0x7f800000 {
		return uint16(bits>>16&0x8000) | 0x7e00
	}
	return nearest(bits, 10, -14)
}

func brainBits(bits uint32) uint16 {
	if bits&0x7fffffff > 0x7f800000 {
		return uint16(bits>>16) | 64
	}
	return nearest(bits, 7, -126)
}

// widened is a half as the bits of a float; a NaN keeps its sign and payload and
// comes out quiet.
func widened(half uint16) uint32 {
	sign := uint32(half&0x8000) << 16
	if half&0x7fff > 0x7c00 {
		return sign | 0x7fc00000 | uint32(half&0x3ff)<<13
	}
	return sign | math.Float32bits(float32(HalfValue(half&0x7fff)))
}

// converted is what a build of number.h makes of floats: four words each, as
// testdata/number_test.cc has them.
func converted(t *testing.T, compiler, flag string, in []uint32) []uint32 {
	t.Helper()
	program := filepath.Join(t.TempDir(), "number")
	Compile(t, "", compiler, flag, "-O2", "-std=c++17", "-Wall", "-Wextra", "-Werror", "testdata/number_test.cc", "-o", program)
	var text bytes.Buffer
	require.NoError(t, binary.Write(&text, binary.LittleEndian, in))
	cmd := exec.Command(program)
	cmd.Stdin = &text
	raw, err := cmd.Output()
	require.NoError(t, err)
	words := make([]uint32, 4*len(in))
	require.NoError(t, binary.Read(bytes.NewReader(raw), binary.LittleEndian, words))
	return words
}

// Conversions hold at every tie, subnormal, infinity and NaN against float64
// arithmetic, as the host makes them and as AMD's code does, whose f16 is the
// compiler's: the same bits. Only what a signalling NaN widens to may differ in the
// quiet bit, which no narrowing shows.
func TestToolchainNumbersRound(t *testing.T) {
	Toolchain(t)
	in := floatBits()
	for _, of := range []struct{ name, compiler, flag string }{{"host", "c++", "-DHOST"}, {"amd", "clang-19", "-DZB_AMD"}} {
		t.Run(of.name, func(t *testing.T) {
			if _, err := exec.LookPath(of.compiler); err != nil {
				t.Skip(of.compiler + " is not installed")
			}
			got := converted(t, of.compiler, of.flag, in)
			wrong := 0
			for i, bits := range in {
				w, low := got[4*i:4*i+4], uint16(bits)
				half, brain := halfBits(bits), brainBits(bits)
				if low&0x7fff > 0x7c00 {
					w[1] |= 1 << 22
				}
				want := [4]uint32{uint32(half) | uint32(brain)<<16, widened(low), bits << 16, uint32(half^brain) | (0x3c00^0x3f80)<<16}
				if [4]uint32(w) != want {
					if wrong++; wrong < 10 {
						t.Errorf("%#08x: f16 and bf16, the low half widened as each, narrow2: %#08x, want %#08x", bits, w, want)
					}
				}
			}
			require.Zero(t, wrong, "of %d", len(in))
		})
	}
}
