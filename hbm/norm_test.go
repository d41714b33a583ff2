package hbm

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/memory"
	"zbench/bench/record"
	"zbench/bench/stat"
	"zbench/internal/native"
)

func openNorms(t testing.TB, faults ...string) *Driver {
	t.Helper()
	d, err := Open(Config{
		Native: native.Options{Backend: "loopback", Machine: HostMachine(false, faults), Getenv: func(string) string { return "" }},
		Seed:   7, Norms: true,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	require.NoError(t, d.AllocateBytes(64<<20))
	return d
}

// Every norm, type and way of sharing a row, at shapes that nothing divides: the
// sum to the last bit, the result to one unit in the last place of the narrow
// types.
func TestNormsAgainstTheReference(t *testing.T) {
	d := openNorms(t)
	shapes := [][2]int64{{1, 1}, {63, 65}, {65, 63}, {1, 4097}, {3, 1024}, {2, 8192}, {2, 65536}, {1, 65535}, {4097, 1}, {5, 64}}
	if testing.Short() {
		shapes = shapes[:3]
	}
	for _, n := range norms {
		for _, ty := range normTypes {
			for _, shape := range shapes {
				for _, role := range []string{memory.Fused, memory.Unfused, memory.Copy} {
					c := NormCase{n, ty, shape[0], shape[1], role}
					r, err := d.MeasureNorm(c, stat.Fixed(1))
					require.NoError(t, err, c.Key())
					require.Equal(t, record.OK, r[0].Status, "%s: %s", c.Key(), r[0].Reason)
					require.Nil(t, r[0].Timing, "the loopback's kernels are not timed")
					require.Positive(t, r[0].Verified.Elements)
				}
			}
		}
	}
}

// A bit that flips in the sum is found, with its place; without it nothing is.
func TestNormFindsAPlantedElement(t *testing.T) {
	for _, role := range []string{memory.Fused, memory.Unfused, memory.Copy} {
		d := openNorms(t)
		r, err := d.MeasureNorm(NormCase{norms[0], normTypes[0], 3, 65, role}, stat.Fixed(1))
		require.NoError(t, err)
		require.Equal(t, record.VerifiedOK, r[0].Verified.State, "%s without a fault", role)
		require.NoError(t, d.Close())
	}
	c := NormCase{norms[0], normTypes[0], 3, 65, memory.Fused}
	for byteAt, index := range map[int]int64{0: 0, 65*2 + 8: 69} {
		d := openNorms(t, fmt.Sprintf("store 0 %d", byteAt))
		r, err := d.MeasureNorm(c, stat.Fixed(1))
		require.NoError(t, err)
		require.Equal(t, record.WrongData, r[0].Status)
		require.Equal(t, index, r[0].Verified.First.Index)
		require.Equal(t, int64(1), r[0].Verified.Wrong)
		require.NoError(t, d.Close())
	}
}

// The sum is compared as bits: -0 is not 0, in either direction, though the two
// are equal as numbers.
func TestNormSumIsComparedAsBits(t *testing.T) {
	zero, minus := []float64{0}, []float64{math.Copysign(0, -1)}
	for _, ty := range normTypes {
		c := NormCase{norms[0], ty, 1, 1, memory.Fused}
		for _, one := range []struct {
			got, want []float64
			wrong     int64
		}{{zero, zero, 0}, {minus, minus, 0}, {minus, zero, 1}, {zero, minus, 1}} {
			v := memory.Verified{ULP: new(float64)}
			c.compare(&v, 0, one.got, zero, one.want, zero)
			require.Equal(t, one.wrong, v.Wrong, "%v %v", one.got, one.want)
		}
		require.True(t, math.Signbit(round(ty, minus[0])), ty.Name)
	}
}
