package stat

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBinomialTail(t *testing.T) {
	for _, c := range []struct {
		k, n int
		p    float64
		want float64
	}{
		{10, 10, 0.5, math.Pow(0.5, 10)},
		{9, 10, 0.5, 11 * math.Pow(0.5, 10)},
		{3, 4, 0.25, 13.0 / 256},
		{5, 4, 0.5, 0},
		{2, 4, 0.5, 1}, // at the mean: not computed
		{60, 100, 0.5, 0.02844396682049039},
	} {
		require.InEpsilon(t, 1+c.want, 1+BinomialTail(c.k, c.n, c.p), 1e-12, "%+v", c)
	}
	require.Zero(t, BinomialTail(1_000_000, 1_000_000, 1.0/1024), "an underflow is zero, not NaN")
	require.InDelta(t, math.Pow(1.0/8, 12), BinomialTail(12, 12, 1.0/8), 1e-20)
}
