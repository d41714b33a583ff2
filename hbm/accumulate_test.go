package hbm

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
)

// Each type and role, at sizes that nothing divides: the sum is that of float64,
// rounded once, to the last bit.
func TestAccumulateAgainstTheReference(t *testing.T) {
	d := openNorms(t)
	for _, ty := range normTypes {
		for _, shape := range [][2]int64{{1, 1}, {1, 7}, {3, 65}, {1, 4097}, {70, 1024}} {
			for _, role := range []string{record.Fused, record.Unfused, record.Copy} {
				k := measured(t, d, accumulateCase{ty, shape[0], shape[1], role}, 1)
				require.Equal(t, record.OK, k.Status, "%s: %s", k.Key, k.Reason)
				require.Equal(t, role == record.Copy && shape[1] == 1, k.Verified.Elements == 0, k.Key)
				require.Nil(t, k.Timing, "the loopback's kernels are not timed")
			}
		}
	}
}

// What is counted is what the kernels read and write.
func TestAccumulateCounts(t *testing.T) {
	d := openNorms(t)
	for role, want := range map[string]int64{record.Fused: 64 * 10, record.Unfused: 64 * 18, record.Copy: 64 * 10} {
		require.Equal(t, want, d.Planned(accumulateCase{normTypes[0], 4, 16, role})[0].Moved, role)
	}
}

// A bit that flips in the sum is found, with its place; without it nothing is.
func TestAccumulateFindsAPlantedElement(t *testing.T) {
	c := accumulateCase{normTypes[0], 3, 65, record.Fused}
	d := openNorms(t)
	require.Equal(t, record.VerifiedOK, measured(t, d, c, 1).Verified.State)
	require.NoError(t, d.Close())
	for byteAt, index := range map[int]int64{0: 0, 4*69 + 1: 69, 4*194 + 3: 194} {
		d := openNorms(t, fmt.Sprintf("store 0 %d", byteAt))
		k := measured(t, d, c, 1)
		require.Equal(t, record.WrongData, k.Status)
		require.Equal(t, index, k.Verified.First.Index)
		require.Equal(t, int64(1), *k.Verified.Wrong)
		require.NoError(t, d.Close())
	}
}
