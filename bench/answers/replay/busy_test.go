package replay

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Messages that others on the network lengthen are counted, and what comes in stretches is told from what does
// not; noise and sizes of their own are no busy network.
func TestABusyNetworkIsTold(t *testing.T) {
	const seeds = 100
	for _, x := range []struct {
		part, times float64
		stretch     int
		noise       float64
	}{{0, 1, 1, 0.03}, {0, 1, 1, 0.1}, {0, 1, 1, 0.2}, {0.1, 2, 4, 0.03}, {0.3, 3, 1, 0.03}, {0.3, 3, 8, 0.03}, {0.3, 3, 8, 0.1}, {0.7, 3, 4, 0.03}, {0.7, 3, 4, 0.1}} {
		stretches := 0
		for seed := range seeds {
			r := rand.New(rand.NewPCG(uint64(seed), 3)) //nolint:gosec // test data
			var kinds [2][][]float64
			for kind := range kinds {
				for range messageRounds {
					var own []float64
					slow := false
					for i := range 40 {
						if i%x.stretch == 0 {
							slow = r.Float64() < x.part
						}
						took := float64(1+i%2) * 1e-3 * math.Exp(x.noise*r.NormFloat64())
						if slow {
							took *= x.times
						}
						own = append(own, took)
					}
					kinds[kind] = append(kinds[kind], own)
				}
			}
			b := busyOf(kinds)
			if x.part == 0 {
				require.Nil(t, b, "%+v: %+v", x, b)
				continue
			}
			require.NotNil(t, b, "%+v", x)
			require.InDelta(t, x.part, float64(b.Slow)/float64(b.Of), 0.3)
			require.InEpsilon(t, x.times, b.Times, 0.05+3*x.noise)
			if b.Stretches {
				stretches++
				require.Contains(t, b.finding("25 MiB").Text, "They follow each other")
			}
		}
		require.Equal(t, x.part > 0 && x.stretch > 1, stretches > seeds/2, "%+v: %d", x, stretches)
	}
}
