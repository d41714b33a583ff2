package experiments

import (
	"flag"
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/stat"
	"zbench/test/longtest"
)

// full runs every experiment at its full size, judges it by the bars themselves
// and prints the tables of docs/EXPERIMENTS.md and of RESULTS.md.
var full = flag.Bool("full", false, "run the experiments at full size and print their tables")

const (
	fullSeeds  = 1000
	smallSeeds = fullSeeds / 20
)

func TestStoppingAtATwentieth(t *testing.T) {
	longtest.OneGoroutine(t)
	require.Empty(t, Stopping(smallSeeds).Failures(true))
}

func TestFull(t *testing.T) {
	if !*full {
		t.Skip("-args -full")
	}
	r := Stopping(fullSeeds)
	fmt.Printf("%s\n%s\n%s", r.Markdown(), Rules(fullSeeds).Choices(), FixedTable(FixedN(fullSeeds), fullSeeds))
	require.Empty(t, r.Failures(false))
}

// The chosen estimator keeps its word without stopping, too.
func TestFixedNAtATwentieth(t *testing.T) {
	longtest.OneGoroutine(t)
	for _, c := range FixedN(smallSeeds) {
		if c.Estimator != "stat.EffectiveN" || c.N < 30 {
			continue
		}
		made := smallSeeds - c.NoInterval
		switch c.Noise.Name {
		case "independent":
			require.True(t, Bar{Rate: 0.93}.Plausible(c.Covered, made), "%+v", c)
		case "ρ = 0.5", "ρ = 0.5, 2 % outliers ×3":
			require.True(t, Bar{Rate: 0.85}.Plausible(c.Covered, made), "%+v", c)
		}
	}
}

// An experiment that cannot fail shows nothing: a rule that takes the samples
// for independent must be seen to break its promise.
func TestTheBarsNoticeABrokenMethod(t *testing.T) {
	n := Noise{Name: "lognormal", Shape: Lognormal, Sigma: 0.02, Rho: 0.9}
	row := stopping(n, stat.DefaultRule(), smallSeeds)
	require.False(t, Bar{Rate: 0.85}.Plausible(row.Plain, smallSeeds), "%d", row.Plain)
	report := Report{Seeds: smallSeeds, Rows: []Row{{Noise: n, Flagged: 38, Flags: &Bar{Rate: 0.95}}}}
	require.Len(t, report.Failures(true), 1)
	report.Rows[0].Flagged = 45
	require.Empty(t, report.Failures(true))
	require.Len(t, report.Failures(false), 1)
}

// atMost against the sum in whole numbers: P = Σ C(n,i) aⁱ (b−a)ⁿ⁻ⁱ / bⁿ.
func TestBinomialTail(t *testing.T) {
	for _, x := range []struct {
		k, n int
		a, b int64
	}{{0, 50, 93, 100}, {38, 50, 93, 100}, {45, 50, 17, 20}, {49, 50, 1, 2}, {5, 6, 1, 50}, {870, 1000, 9, 10}} {
		sum, c := new(big.Int), big.NewInt(1)
		a, rest := big.NewInt(x.a), big.NewInt(x.b-x.a)
		for i := 0; i <= x.k; i++ {
			term := new(big.Int).Exp(a, big.NewInt(int64(i)), nil)
			term.Mul(term, c).Mul(term, new(big.Int).Exp(rest, big.NewInt(int64(x.n-i)), nil))
			sum.Add(sum, term)
			c.Mul(c, big.NewInt(int64(x.n-i))).Quo(c, big.NewInt(int64(i+1)))
		}
		want, _ := new(big.Rat).SetFrac(sum, new(big.Int).Exp(big.NewInt(x.b), big.NewInt(int64(x.n)), nil)).Float64()
		require.InEpsilon(t, want, atMost(x.k, x.n, float64(x.a)/float64(x.b)), 1e-9, "%+v", x)
	}
}

func TestBarsAreJudgedFromTheirSide(t *testing.T) {
	atMost, atLeast := Bar{Rate: 0.02, AtMost: true}, Bar{Rate: 0.95}
	require.True(t, atMost.Plausible(3, 50))
	require.False(t, atMost.Plausible(10, 50))
	require.True(t, atLeast.Plausible(45, 50))
	require.False(t, atLeast.Plausible(35, 50))
	require.True(t, atMost.Holds(20, 1000))
	require.False(t, atMost.Holds(21, 1000))
	require.True(t, atLeast.Holds(950, 1000))
	require.False(t, atLeast.Holds(949, 1000))
}

// The planted truth is the truth: half of the samples lie below Operation, and
// their spread is the level.
func TestLongNoisesHaveTheMedianAndTheSpreadTheyClaim(t *testing.T) {
	longtest.Only(t)
	const size = 100_000
	for _, n := range Noises() {
		series, _ := n.source(1).take(nil, 0, size)
		below := 0
		for _, v := range series {
			if v < Operation {
				below++
			}
		}
		// Four standard deviations of a binomial share of as many samples as
		// theory says are independent.
		independent := size * (1 - n.Rho) / (1 + n.Rho)
		require.InDelta(t, 0.5, float64(below)/size, 2/math.Sqrt(independent), n.Name)
		spread := (stat.Quantile(series, 0.8413) - stat.Quantile(series, 0.1587)) / 2 / Operation
		require.InEpsilon(t, n.Sigma, spread, 0.12, n.Name)
	}
}
