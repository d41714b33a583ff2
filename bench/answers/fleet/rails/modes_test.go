package rails

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/finding"
)

// Two sets of nodes with fast pairs within and slow pairs between them: no node is slow.
func TestSetsOfNodesFarApart(t *testing.T) {
	for seed := range uint64(10) {
		for _, first := range []int{2, 4, 8} {
			v := judgedMatrix(square(seed, 17, 0.05, seed%2 == 0, func(a, b int) float64 {
				if (a < first) != (b < first) {
					return 0.25
				}
				return 1
			}))
			require.Equal(t, finding.Unclear, v.State, "seed %d: %+v", seed, v.Findings)
			require.Contains(t, v.Questions[0].What, "to 2 sets")
			require.True(t, v.Questions[0].All)
			require.GreaterOrEqual(t, len(v.Questions[0].Candidates), 15)
			require.InDelta(t, 0.75, v.Questions[0].Lost, 0.02)
		}
	}
}

// Slow pairs without a pattern are two groups of values.
func TestTwoModesWithoutAPattern(t *testing.T) {
	for seed := range uint64(10) {
		v := judgedMatrix(square(seed, 17, 0, false, func(a, b int) float64 {
			if (a*31+b*17+a*b)%7 < 3 {
				return 0.5
			}
			return 1
		}))
		require.Equal(t, finding.Unclear, v.State, "seed %d: %+v", seed, v.Findings)
		require.True(t, v.doubted(), "%+v", v.Questions)
		rng := rand.New(rand.NewPCG(seed, 6))
		v = judgedMatrix(square(seed, 16, 0, false, func(int, int) float64 { return []float64{1, 0.5, 0.25}[rng.IntN(3)] }))
		require.Equal(t, finding.Unclear, v.State, "three modes, seed %d: %+v", seed, v.Findings)
		require.True(t, v.doubted(), "%+v", v.Questions)
	}
}

// A slow node and a slow pair are findings still, and no groups.
func TestAFindingIsNoMode(t *testing.T) {
	v := judgedMatrix(square(1, 6, 0, false, func(a, b int) float64 {
		if a == 2 || b == 2 {
			return 0.5
		}
		return 1
	}))
	require.True(t, v.Exactly(Component{Part: Node, Node: 2}), "%+v %+v", v.Findings, v.Questions)
}

// Slow pairs that share ends are not said to share none.
func TestSlowPairsThatShareEnds(t *testing.T) {
	some := func(shared bool) *Verdict {
		return judgedMatrix(square(1, 24, 0, false, func(a, b int) float64 {
			if shared && a == 3 && b > 17 || !shared && b == a+1 && a%4 == 0 {
				return 0.5
			}
			return 1
		}))
	}
	v := some(true)
	require.Equal(t, finding.Unclear, v.State, "%+v", v.Findings)
	require.Contains(t, v.Questions[0].What, "6 pairs are slow")
	require.Contains(t, v.Questions[0].What, "1 ends are in several of them, one in 6")
	require.Equal(t, Component{Part: Node, Node: 3}, v.Questions[0].Candidates[0])
	require.Len(t, v.Questions[0].Candidates, 7)
	v = some(false)
	require.Contains(t, v.Questions[0].What, "they share no end")
	require.Len(t, v.Questions[0].Candidates, 6)
}
