package native

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/matrix"
)

// A batch in one launch has the bits that each has alone.
func TestKernelMuonBatch(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 2))
	for _, tile := range tiles {
		for _, p := range []product{gram(rng, tile, 5, 65, 130), square(rng, tile, 3, 129), full(rng, tile, 4, 65, 130, 65)} {
			p.check(t, loops)
			c, transposed := p.launch(t, loops)
			for b := range p.a.batch {
				one := p
				one.a, one.b = p.a.one(b), p.b.one(b)
				if p.beta != 0 {
					one.s = p.s.one(b)
				}
				alone, flipped := one.launch(t, loops)
				require.Equal(t, c.one(b).bits, alone.bits)
				if !p.symmetric {
					require.Equal(t, transposed.one(b).bits, flipped.bits)
				}
			}
		}
	}
}

// A triangle's result is symmetric to the last bit whatever comes in: what is
// above the diagonal of S is not looked at.
func TestKernelMuonSymmetric(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 4))
	for _, tile := range tiles {
		p := square(rng, tile, 1, 200)
		p.s = newHalves(1, 200, 200).random(rng)
		c, _ := p.launch(t, loops)
		want, slack := p.reference(0)
		got := c.dense(0)
		for i := range 200 {
			for j := range i {
				require.Equal(t, c.bits[c.index(0, i, j)], c.bits[c.index(0, j, i)], "element %d, %d", i, j)
				want.Set(j, i, want.At(i, j))
				slack.Set(j, i, slack.At(i, j))
			}
		}
		require.LessOrEqual(t, relative(got, want, slack), rounded)
	}
}

// Ties go to even, and what is no number stays none.
func TestKernelMuonRounding(t *testing.T) {
	const ulp = 0x1p-7
	for _, c := range []struct{ sum, want float64 }{
		{1 + ulp/2, 1},
		{1 + ulp + ulp/2, 1 + 2*ulp},
		{-1 - ulp/2, -1},
		{-1 - ulp - ulp/2, -1 - 2*ulp},
		{1 + ulp/2 + ulp/128, 1 + ulp},
		{1 + ulp/2 - ulp/128, 1},
		{math.Inf(1), math.Inf(1)},
		{math.NaN(), math.NaN()},
	} {
		p := product{tile: 64, alpha: 1, a: newHalves(1, 1, 3), b: newHalves(1, 1, 3)}
		high := matrix.RoundBF16(c.sum)
		if !math.IsInf(c.sum, 0) && !math.IsNaN(c.sum) {
			high = math.Trunc(c.sum/ulp) * ulp
		}
		rest := c.sum - high
		if math.IsNaN(rest) {
			rest = 0
		}
		for i := range 8 {
			p.a.bits[i], p.b.bits[i] = 0, 0
		}
		p.a.bits[0], p.a.bits[2] = matrix.ToBF16(float32(high)), matrix.ToBF16(float32(rest))
		p.b.bits[0], p.b.bits[2] = matrix.ToBF16(1), matrix.ToBF16(1)
		got, _ := p.launch(t, loops)
		if math.IsNaN(c.want) {
			require.True(t, math.IsNaN(float64(matrix.FromBF16(got.bits[0]))))
			continue
		}
		require.Equal(t, c.want, float64(matrix.FromBF16(got.bits[0])), "%v", c.sum)
	}
}
