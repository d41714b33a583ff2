package hbm

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
	"zbench/internal/native"
)

func openNorms(t testing.TB, faults ...string) *Driver {
	t.Helper()
	files, err := filepath.Glob("../internal/native/kernels/*.hip")
	require.NoError(t, err)
	for i, f := range files {
		files[i] = filepath.Base(f)
	}
	d, err := Open(Config{
		Native: native.Choice{Backend: "loopback", Machine: HostMachine(false, faults, testHost), Getenv: func(string) string { return "" }},
		Seed:   7, Files: files,
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
	shapes := [][2]int64{{1, 1}, {63, 65}, {65, 63}, {1, 4097}, {3, 1024}, {2, 8192}, {2, 65536}, {1, 65535}, {257, 1}, {5, 64}}
	if testing.Short() {
		shapes = shapes[:3]
	}
	for _, n := range norms {
		for _, ty := range normTypes {
			for _, shape := range shapes {
				for _, role := range []string{record.Fused, record.Unfused, record.Copy} {
					c := NormCase{n, ty, shape[0], shape[1], role}
					k := measured(t, d, c, 1)
					require.Equal(t, record.OK, k.Status, "%s: %s", c.Key(), k.Reason)
					require.Nil(t, k.Timing, "the loopback's kernels are not timed")
					require.Positive(t, k.Verified.Elements)
				}
			}
		}
	}
}

// A bit that flips in the sum is found, with its place; without it nothing is.
func TestNormFindsAPlantedElement(t *testing.T) {
	for _, role := range []string{record.Fused, record.Unfused, record.Copy} {
		d := openNorms(t)
		k := measured(t, d, NormCase{norms[0], normTypes[0], 3, 65, role}, 1)
		require.Equal(t, record.VerifiedOK, k.Verified.State, "%s without a fault", role)
		require.NoError(t, d.Close())
	}
	c := NormCase{norms[0], normTypes[0], 3, 65, record.Fused}
	for byteAt, index := range map[int]int64{0: 0, 65*2 + 8: 69} {
		d := openNorms(t, fmt.Sprintf("store 0 %d", byteAt))
		k := measured(t, d, c, 1)
		require.Equal(t, record.WrongData, k.Status)
		require.Equal(t, index, k.Verified.First.Index)
		require.Equal(t, int64(1), *k.Verified.Wrong)
		require.NoError(t, d.Close())
	}
}

// The sum is compared as bits: -0 is not 0, in either direction, though the two
// are equal as numbers.
func TestNormSumIsComparedAsBits(t *testing.T) {
	zero, minus := []float64{0}, []float64{math.Copysign(0, -1)}
	for _, ty := range normTypes {
		c := NormCase{norms[0], ty, 1, 1, record.Fused}
		for _, one := range []struct {
			got, want []float64
			wrong     int64
		}{{zero, zero, 0}, {minus, minus, 0}, {minus, zero, 1}, {zero, minus, 1}} {
			v := verified(0, 0)
			v.ULP = new(float64)
			c.compare(&v, 0, one.got, zero, one.want, zero)
			require.Equal(t, one.wrong, *v.Wrong, "%v %v", one.got, one.want)
		}
		require.True(t, math.Signbit(round(ty, minus[0])), ty.Name)
	}
}

// Where a launch may have few threads, as many share a row as hold it: rows of
// every length a power of two long are held whole by the least of them.
func TestNormThreadsOfARow(t *testing.T) {
	for _, ty := range normTypes {
		for hidden, want := range map[int64][2]int64{
			1024: {256, 256}, 1032: {256, 64}, 2048: {256, 64}, 2056: {256, 128}, 4096: {256, 128}, 8192: {256, 256},
			8200: {1024, 512}, 16384: {1024, 512}, 16392: {1024, 1024}, 65536: {1024, 1024},
			2049: {256, 256}, 16385: {1024, 1024}, // element by element
		} {
			c := NormCase{norms[0], ty, 1, hidden, record.Fused}
			_, all, _ := c.way(32, false)
			_, few, _ := c.way(32, true)
			require.Equal(t, want, [2]int64{all, few}, "%s of %d", ty.Name, hidden)
		}
	}
	_, block, _ := NormCase{norms[0], normTypes[0], 1, 2048, record.Fused}.way(64, true)
	require.Equal(t, int64(128), block, "two waves at the least")
}

// The same norms with few threads a row give what the reference does.
func TestNormsWithFewThreads(t *testing.T) {
	d := openNorms(t)
	for _, u := range d.units {
		u.few = true
	}
	for _, n := range norms {
		for _, ty := range normTypes {
			for _, hidden := range []int64{1032, 2048, 4104, 8200} {
				k := measured(t, d, NormCase{n, ty, 2, hidden, record.Fused}, 1)
				require.Equal(t, record.OK, k.Status, "%s of %d %s: %s", n.Name, hidden, ty.Name, k.Reason)
			}
		}
	}
}
