package native_test

import (
	"math"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/native"
)

// eight is a type of 8 bits of gfx942 as the table of its values: code 0x80 is NaN, there are no infinities and
// no −0 (AMD CDNA 3 ISA guide).
type eight [256]float64

func newEight(fraction, bias int) *eight {
	var e eight
	for code := range e {
		exponent, rest := code&0x7f>>fraction, float64(code&(1<<fraction-1))/float64(int(1)<<fraction)
		v := math.Ldexp(1+rest, exponent-bias)
		if exponent == 0 {
			v = math.Ldexp(rest, 1-bias)
		}
		if code >= 0x80 {
			v = -v
		}
		e[code] = v
	}
	e[0x80] = math.NaN()
	return &e
}

// nearest searches the table: ties go to the even code, what is too large to the largest.
func (e *eight) nearest(v float64) byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0x80
	}
	best := 0
	for code := range 0x80 {
		near, far := math.Abs(e[code]-math.Abs(v)), math.Abs(e[best]-math.Abs(v))
		if near < far || near == far && code%2 == 0 {
			best = code
		}
	}
	if best > 0 && math.Signbit(v) {
		best |= 0x80
	}
	return byte(best)
}

// Every sum, product, largest, least and average of two numbers of 8 bits is what a search of the table of all
// values gives, as RCCL computes it: in float32, then rounded (ROCm/rccl at rocm-6.2.2, src/device/reduce_kernel.h;
// the average of floats multiplies each by 1/ranks first, src/enqueue.cc, hostToDevRedOp).
func TestToolchainFP8(t *testing.T) {
	native.Toolchain(t)
	t.Parallel()
	program := filepath.Join(t.TempDir(), "fp8")
	compile(t, "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, "testdata/fp8_test.c")
	out, err := exec.Command(program).Output() //nolint:gosec // built above
	require.NoError(t, err)
	types := []*eight{newEight(3, 8), newEight(2, 16)}
	const pairs = 1 << 16
	require.Len(t, out, len(types)*5*pairs)
	require.InDelta(t, 240, types[0][0x7f], 0)
	require.InDelta(t, 57344, types[1][0x7f], 0)
	for i, e := range types {
		half := func(v float64) float64 { return e[e.nearest(v/2)] }
		for op, f := range []func(x, y float64) float64{
			func(x, y float64) float64 { return x + y },
			func(x, y float64) float64 { return x * y },
			math.Max, math.Min,
			func(x, y float64) float64 { return half(x) + half(y) },
		} {
			for pair := range pairs {
				x, y := e[pair>>8], e[pair&0xff]
				if (op == 2 || op == 3) && (math.IsNaN(x) || math.IsNaN(y)) {
					continue // which of the two is taken is not the rounding's
				}
				require.Equal(t, e.nearest(f(x, y)), out[(i*5+op)*pairs+pair], "type %d, operator %d: %#x and %#x", i, op, pair>>8, pair&0xff)
			}
		}
	}
}
