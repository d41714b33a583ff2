package stat

import (
	"encoding/json"
	"math"
	"math/big"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"
)

// cut against all 2ⁿ ways for samples to lie below or above the median.
func TestCutByCountingEveryCase(t *testing.T) {
	for n := MinInterval; n <= 18; n++ {
		missed := make([]int, n+1) // by a lower end of rank k: fewer than k below
		for mask := range uint32(1) << n {
			for k := bits.OnesCount32(mask) + 1; k <= n; k++ {
				missed[k]++
			}
		}
		k := cut(n)
		all := float64(int(1) << n)
		require.LessOrEqual(t, float64(missed[k])/all, 0.025, n)
		require.Greater(t, float64(missed[k+1])/all, 0.025, n)
	}
}

// In whole numbers where 0.5ⁿ is 0 in floating point.
func TestCutDoesNotUnderflow(t *testing.T) {
	for _, n := range []int{1074, 1075, 1076, 3000} {
		sum, c, k := new(big.Int), big.NewInt(1), 0
		limit := new(big.Int).Quo(new(big.Int).Lsh(big.NewInt(1), uint(n)), big.NewInt(40))
		for ; sum.Add(sum, c).Cmp(limit) <= 0; k++ {
			c.Mul(c, big.NewInt(int64(n-k))).Quo(c, big.NewInt(int64(k+1)))
		}
		require.Equal(t, k, cut(n))
	}
}

func TestMedianIntervalWidensWithCorrelation(t *testing.T) {
	for n := MinInterval; n < 300; n += 1 + n/25 { // even and odd
		places := make([]float64, n)
		for i := range places {
			places[i] = float64(i)
		}
		plainLo, plainHi, ok := medianInterval(places)
		require.True(t, ok)
		for nEff := 1.0; nEff <= float64(n); nEff += 0.75 {
			lo, hi, ok := MedianInterval(places, nEff)
			require.Equal(t, nEff >= MinInterval, ok)
			if !ok {
				continue
			}
			require.LessOrEqual(t, lo, plainLo)
			require.GreaterOrEqual(t, hi, plainHi)
			require.Equal(t, float64(n-1), lo+hi)
			m := math.Floor(nEff)
			require.LessOrEqual(t, (lo+1)/float64(n), float64(cut(int(m)))/m)
		}
		lo, _, _ := MedianInterval(places, math.Inf(1))
		require.Equal(t, plainLo, lo, "no more than n")
	}
}

func TestSummaryUsesTheEffectiveN(t *testing.T) {
	s := autoregression(2, 300, 0.5)
	sum := Summarize(s)
	require.Equal(t, EffectiveN(s), *sum.NEff)
	lo, hi, _ := MedianInterval(s, *sum.NEff)
	require.Equal(t, []float64{lo, hi}, []float64{*sum.Lo, *sum.Hi})
	require.Nil(t, Summarize(s[:5]).NEff)
	require.NotNil(t, Summarize(s[:6]).NEff)
	text, err := json.Marshal(Summarize(s[:5]))
	require.NoError(t, err)
	require.Contains(t, string(text), `"n":5,"n_eff":null,"median":`)
}
