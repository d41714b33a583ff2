package bisect

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// drawn are readings of variants at increasing times with gaps.
func drawn(rng *rand.Rand, n, variants int) []reading {
	out, at := make([]reading, n), 0
	for i := range out {
		at += 1 + rng.IntN(3)
		out[i] = reading{rng.IntN(variants), at, rng.NormFloat64()}
	}
	return out
}

// dense is generalised least squares as a textbook has it: the covariance of all readings,
// inverted, with a level that is free. It returns y'Py and X'Py, X'PX, where P takes the
// level out.
func dense(readings []reading, variants int, wander float64) (yy float64, xy []float64, xx *mat.Dense) {
	n := len(readings)
	v := mat.NewSymDense(n, nil)
	y, x, one := mat.NewVecDense(n, nil), mat.NewDense(n, variants, nil), mat.NewVecDense(n, nil)
	for i, a := range readings {
		for j, b := range readings[:i+1] {
			c := wander * float64(min(a.at, b.at)-readings[0].at)
			if i == j {
				c++
			}
			v.SetSym(i, j, c)
		}
		y.SetVec(i, a.log)
		x.Set(i, a.variant, 1)
		one.SetVec(i, 1)
	}
	var w, p, o mat.Dense
	_ = w.Inverse(v)
	o.Mul(&w, one)
	p.Mul(&o, o.T())
	p.Scale(-1/mat.Sum(&w), &p)
	p.Add(&w, &p)
	var py mat.VecDense
	py.MulVec(&p, y)
	var b mat.VecDense
	b.MulVec(x.T(), &py)
	var px, c mat.Dense
	px.Mul(&p, x)
	c.Mul(x.T(), &px)
	return mat.Dot(y, &py), b.RawVector().Data, &c
}

// The filter takes out level and drift as generalised least squares do.
func TestWhitenIsGeneralisedLeastSquares(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		variants, wander := 2+rng.IntN(5), math.Exp(2*rng.NormFloat64()-1)
		readings := drawn(rng, 2+rng.IntN(20), variants)
		n := whiten(readings, variants, wander)
		yy, xy, xx := dense(readings, variants, wander)
		require.InDelta(t, yy, n.squares, 1e-9)
		require.InDeltaSlice(t, xy, n.by, 1e-9)
		for u := range variants {
			for v := range variants {
				require.InDelta(t, xx.At(u, v), n.cross[u][v], 1e-9)
			}
		}
	}
}

// What a hypothesis leaves is the same by sums of columns and by its effects one by one; and
// the fit leaves less than any hypothesis.
func TestResiduals(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		variants := 3 + rng.IntN(4)
		n := whiten(drawn(rng, 30, variants), variants, 0.1)
		n.gather()
		f := n.solve()
		h := hypothesis{first: 1 + rng.IntN(variants-2)}
		level, later := rng.NormFloat64(), rng.NormFloat64()
		h.second = h.first + 1 + rng.IntN(variants-h.first-1)
		want := n.squares
		effect := func(v int) float64 {
			switch {
			case v >= h.second:
				return later
			case v >= h.first:
				return level
			}
			return 0
		}
		for u := range variants {
			want -= 2 * effect(u) * n.by[u]
			for v := range variants {
				want += effect(u) * effect(v) * n.cross[u][v]
			}
		}
		s := h.of(n)
		got := s.residual([2]float64{level, later})
		require.InDelta(t, want, got, 1e-9)
		require.LessOrEqual(t, f.squares, got+1e-9)
	}
}

// The rows of readings to come are those that whiten gives once they are there.
func TestAhead(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	readings := drawn(rng, 12, 4)
	before := whiten(readings, 4, 0.3)
	at := readings[11].at + 1
	rows := before.ahead(at, 3, 1)
	after := whiten(append(readings, reading{3, at, 0.5}, reading{1, at + 1, -0.5}), 4, 0.3)
	for u := range 4 {
		for v := range 4 {
			got := before.cross[u][v] + rows[0][u]*rows[0][v] + rows[1][u]*rows[1][v]
			require.InDelta(t, after.cross[u][v], got, 1e-12)
		}
	}
}

// Two variants against each other have the difference and the precision of the whole fit.
func TestBetween(t *testing.T) {
	n := whiten(drawn(rand.New(rand.NewPCG(7, 8)), 25, 4), 4, 0.2)
	f := n.solve()
	for a := range 4 {
		for b := a + 1; b < 4; b++ {
			pair := f.between(a, b).solve()
			require.InDelta(t, f.effects[b]-f.effects[a], pair.effects[1], 1e-9)
			require.InDelta(t, f.squares, pair.squares, 1e-9)
			require.Equal(t, f.df, pair.df)
		}
	}
}

// The weights of all hypotheses in which some variant is slow sum to 1.
func TestWeightsOfHypotheses(t *testing.T) {
	for _, list := range [][]hypothesis{ordered(2, 0.02), ordered(3, 0.02), ordered(8, 0.05), either(0.02)} {
		sum := 0.0
		for _, h := range list {
			sum += math.Exp(h.logPrior)
			require.Positive(t, h.first)
		}
		require.InDelta(t, 1, sum, 1e-9)
	}
}
