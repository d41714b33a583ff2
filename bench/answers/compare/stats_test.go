package compare

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// p-values of Student's t from tables (Abramowitz & Stegun, table 26.10) and the normal
// distribution.
func TestTwoSided(t *testing.T) {
	for _, x := range []struct{ t, df, p float64 }{
		{12.706, 1, 0.05}, {4.604, 4, 0.01}, {8.610, 4, 0.001}, {3.169, 10, 0.01}, {2.660, 60, 0.01}, {2.5758, math.Inf(1), 0.01},
	} {
		require.InEpsilon(t, x.p, twoSided(x.t, 1, x.df), 1e-3)
		require.InEpsilon(t, x.t, quantile(1-x.p/2, x.df), 1e-3)
	}
	require.Equal(t, 1.0, twoSided(0, 0, 4))
	require.Equal(t, 0.0, twoSided(1, 0, 4))
	require.InEpsilon(t, 2*math.Pow(10, -10)/2, twoSided(6.4669, 1, math.Inf(1)), 1e-2) // the tail keeps its digits
}

// Holm's example, by hand: p sorted 0.01, 0.02, 0.03, 0.04 become 0.04, 0.06, 0.06, 0.06.
func TestHolm(t *testing.T) {
	tests := []*tested{{p: 0.04}, {p: 0.01}, {p: 0.03}, {p: 0.02}}
	holm(tests, []float64{1, 1, 1, 1})
	for i, want := range []float64{0.06, 0.04, 0.06, 0.06} {
		require.InDelta(t, want, tests[i].adjusted, 1e-12)
	}
	// With weights: 0.01/3 is the least, rejected at α if 4·0.01/3 ≤ α; then 0.02 with all that is left.
	weighted := []*tested{{p: 0.01}, {p: 0.02}}
	holm(weighted, []float64{3, 1})
	require.InDelta(t, 0.04/3, weighted[0].adjusted, 1e-12)
	require.InDelta(t, 0.02, weighted[1].adjusted, 1e-12)
}

// ψ₁(1) = π²/6, ψ₁(½) = π²/2, and the recurrence.
func TestTrigamma(t *testing.T) {
	require.InEpsilon(t, math.Pi*math.Pi/6, trigamma(1), 1e-9)
	require.InEpsilon(t, math.Pi*math.Pi/2, trigamma(0.5), 1e-9)
	for _, x := range []float64{0.1, 0.7, 3, 42} {
		require.InEpsilon(t, trigamma(x+1)+1/(x*x), trigamma(x), 1e-9)
		require.InEpsilon(t, x, inverseTrigamma(trigamma(x)), 1e-6)
	}
}

// observedOf makes a case of residuals.
func observedOf(base, fresh []float64) *observed {
	return &observed{pool: "p", sides: [2][]float64{base, fresh}}
}

// The degrees of freedom: cases that move as one have those of one case, cases whose
// runs are orthogonal have those of all.
func TestDegreesOfFreedomFollowTheCorrelation(t *testing.T) {
	one := observedOf([]float64{1, 2, 4}, []float64{3, 5, 4})
	same := []*observed{one, observedOf([]float64{1, 2, 4}, []float64{3, 5, 4}), observedOf([]float64{1, 2, 4}, []float64{3, 5, 4})}
	p := pools(same)[0]
	require.InDelta(t, 4, p.df, 1e-9)
	require.InEpsilon(t, one.squares()/4, p.variance, 1e-12)
	apart := []*observed{
		observedOf([]float64{1, -1, 0}, []float64{0, 0, 0}), observedOf([]float64{0, 0, 0}, []float64{1, -1, 0}),
		observedOf([]float64{.5, .5, -1}, []float64{0, 0, 0}), observedOf([]float64{0, 0, 0}, []float64{.5, .5, -1}),
	}
	require.InDelta(t, 16, pools(apart)[0].df, 1e-9)
}

// A few cases that changed a lot do not move the common shift.
func TestTheShiftIsOfMostCases(t *testing.T) {
	var cases []*observed
	for i := range 9 {
		c := observedOf([]float64{1, 1, 1}, []float64{1, 1, 1})
		if i < 3 {
			c.sides[1] = []float64{3, 3, 3}
		}
		cases = append(cases, c)
	}
	require.InDelta(t, 0, shift(cases, median).difference(), 1e-12)
	require.Nil(t, common(cases[:3], [2]int{3, 3}, Defaults()), "too few cases")
}

// A digit of an imported log is no evidence: times that all print alike have no variance
// of their own.
func TestRoundingIsAVariance(t *testing.T) {
	c := observedOf([]float64{0, 0, 0}, []float64{0.03, 0.03, 0.03})
	require.Equal(t, 0.0, test(c, noise{0, 4}).p)
	c.rounding = 0.02 * 0.02
	require.Greater(t, test(c, noise{0, 4}).p, 0.1)
}

// The verdict of one test, by its interval and significance.
func TestVerdictOfATest(t *testing.T) {
	for _, x := range []struct {
		difference, lo, hi, adjusted float64
		want                         Verdict
	}{
		{0.05, 0.03, 0.07, 0.001, Slower},
		{-0.05, -0.07, -0.03, 0.001, Faster},
		{0.05, -0.01, 0.11, 0.2, Unclear},
		{-0.05, -0.11, 0.01, 0.2, Unclear},
		{0.001, -0.01, 0.012, 0.9, Same},
		{0.01, 0.009, 0.011, 1e-9, Same},
		{0.015, 0.005, 0.025, 0.001, Unclear},
		{-0.015, -0.025, -0.005, 0.001, Unclear},
	} {
		c := tested{difference: x.difference, lo: x.lo, hi: x.hi, adjusted: x.adjusted}
		require.Equal(t, x.want, c.verdict(Defaults()), "%+v", x)
	}
}

// Variances that are a common one over χ² of some degrees of freedom, over those, have
// that many degrees of freedom of prior; equal ones have infinitely many.
func TestPriorIsThatOfTheVariances(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 18))
	draw := func(df int) *pool {
		p := &pool{}
		for range 4000 {
			scale := 1.0
			if df > 0 {
				sum := 0.0
				for range df {
					z := rng.NormFloat64()
					sum += z * z
				}
				scale = math.Sqrt(float64(df) / sum)
			}
			c := &observed{}
			for range 3 {
				c.sides[0], c.sides[1] = append(c.sides[0], scale*rng.NormFloat64()), append(c.sides[1], scale*rng.NormFloat64())
			}
			p.cases = append(p.cases, c)
		}
		return p
	}
	for _, df := range []int{4, 10} {
		require.InEpsilon(t, df, prior([]*pool{draw(df)}), 0.2)
	}
	require.True(t, math.IsInf(prior([]*pool{draw(0)}), 1))
}
