package rails

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// An end that met slow ends most of the time is cleared by the others.
func TestAnEndAmongSlowOnes(t *testing.T) {
	slow := func(i int) bool { return i > 8 }
	var edges []edge
	for a := range 12 {
		for b := a + 1; b < 12; b++ {
			if a == 0 && b > 2 && !slow(b) {
				continue
			}
			y := 0.0
			if slow(a) || slow(b) {
				y = 0.2
			}
			edges = append(edges, edge{a, b, y})
		}
	}
	e := solve(12, edges)
	for i := range 12 {
		require.Equal(t, slow(i), e.sure(i), "end %d: %+v", i, e.of[i])
	}
	require.Equal(t, 2, e.of[0].clear)
	require.Zero(t, e.of[0].agree)
	require.InDelta(t, 0, e.of[0].loss, 1e-9)
	require.InDelta(t, 0.2, e.of[10].loss, 1e-9)
}
