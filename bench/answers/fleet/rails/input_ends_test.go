package rails

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/finding"
)

// square is a matrix of nodes with 2 % noise, without some of its pairs.
func square(seed uint64, n int, gaps float64, both bool, left func(from, to int) float64) *Matrix {
	rng := rand.New(rand.NewPCG(seed, 1))
	m := &Matrix{}
	for i := range n {
		name := "n" + strconv.Itoa(i)
		m.Names, m.Nodes, m.At = append(m.Names, name), append(m.Nodes, name), append(m.At, Place{i, -1})
	}
	for from := range n {
		for to := range n {
			if from == to || !both && from > to || rng.Float64() < gaps {
				continue
			}
			m.Values = append(m.Values, Value{from, to, 46e9 * math.Exp(0.02*rng.NormFloat64()) * left(from, to)})
		}
	}
	return m
}

func whole(int, int) float64 { return 1 }

// A node, a direction of a node and a pair are named, and nothing else; without the fault
// nothing is.
func TestMatricesNameTheOutlier(t *testing.T) {
	for seed := range uint64(20) {
		for _, both := range []bool{false, true} {
			require.Equal(t, finding.Healthy, Judge(square(seed, 24, 0.3, both, whole).Data()).State, "seed %d", seed)
			v := judgedMatrix(square(seed, 24, 0.3, both, func(a, b int) float64 {
				if a == 7 || b == 7 {
					return 0.85
				}
				return 1
			}))
			require.True(t, v.Exactly(Component{Part: Node, Node: 7}), "seed %d: %+v %+v", seed, v.Findings, v.Questions)
			v = judgedMatrix(square(seed, 24, 0, both, func(a, b int) float64 {
				if min(a, b) == 3 && max(a, b) == 11 {
					return 0.6
				}
				return 1
			}))
			require.True(t, v.Exactly(Component{Part: Path, Node: 3, Peer: 11}), "seed %d: %+v %+v", seed, v.Findings, v.Questions)
		}
		v := judgedMatrix(square(seed, 24, 0.3, true, func(a, _ int) float64 {
			if a == 7 {
				return 0.8
			}
			return 1
		}))
		require.True(t, v.Exactly(Component{Part: Node, Node: 7}), "seed %d: %+v %+v", seed, v.Findings, v.Questions)
		require.Contains(t, v.Findings[0].Reasons[0], "only sending")
	}
}

// A node that has values with slow nodes alone is a question, not a finding.
func TestMatricesWithoutACleanPartner(t *testing.T) {
	m := square(1, 12, 0, false, func(a, b int) float64 {
		if a == 0 && b == 1 {
			return 0.5
		}
		return 1
	})
	kept := m.Values[:0]
	for _, v := range m.Values {
		if v.From > 1 || v.From == 0 && v.To == 1 {
			kept = append(kept, v)
		}
	}
	m.Values = kept
	v := Judge(m.Data())
	require.Equal(t, finding.Unclear, v.State, "%+v", v.Findings)
	require.ElementsMatch(t, []Component{{Part: Node, Node: 0}, {Part: Node, Node: 1}}, v.Questions[0].Candidates)
}

func TestSmallMatricesAreNotChecked(t *testing.T) {
	require.Equal(t, finding.NotChecked, Judge((&Matrix{}).Data()).State)
	require.Equal(t, finding.NotChecked, Judge(square(1, 3, 0, false, whole).Data()).State)
}

// calls of a job: in a collective all leave together, each clock is off by its own.
func calls(seed uint64, ranks, n int, late func(rank, k int) float64) []Call {
	rng := rand.New(rand.NewPCG(seed, 2))
	var out []Call
	for k := range n {
		arrival := make([]float64, ranks)
		last := 0.0
		for r := range arrival {
			arrival[r] = math.Abs(3e-6*rng.NormFloat64()) + late(r, k)
			last = max(last, arrival[r])
		}
		for r, at := range arrival {
			clock := float64(r) * 0.1
			out = append(out, Call{r, "all_reduce", 1 << 20, clock + float64(k)*1e-2 + at, last + 300e-6 - at + 1e-6*rng.NormFloat64()})
		}
	}
	return out
}

// The late rank is named whatever the clocks say, always late or sometimes, and its node
// where all of that are late; a job without one is healthy.
func TestTheRankThatArrivesLast(t *testing.T) {
	node := map[int]int{}
	for r := range 16 {
		node[r] = r / 8
	}
	for seed := range uint64(20) {
		v := Arrivals(calls(seed, 16, 40, func(int, int) float64 { return 0 }), node)
		require.Equal(t, finding.Healthy, v.State, "seed %d: %+v", seed, v.Findings)
		for _, late := range []func(r, k int) float64{
			func(r, _ int) float64 { return 100e-6 * b(r == 5) },
			func(r, k int) float64 { return 200e-6 * b(r == 5 && k%3 == 0) },
		} {
			v = Arrivals(calls(seed, 16, 40, late), node)
			require.True(t, v.Exactly(Component{Part: Rank, Node: 0, A: 5}), "seed %d: %+v", seed, v.Findings)
		}
	}
	v := Arrivals(calls(1, 32, 40, func(r, _ int) float64 { return 100e-6 * b(r/4 == 2) }), map[int]int{8: 2, 9: 2, 10: 2, 11: 2, 0: 0, 1: 0, 2: 0, 3: 0})
	require.True(t, v.Exactly(Component{Part: Node, Node: 2}), "%+v", v.Findings)
	require.Equal(t, finding.NotChecked, Arrivals(calls(1, 16, 3, func(int, int) float64 { return 0 }), nil).State)
	require.Equal(t, finding.NotChecked, Arrivals(nil, nil).State)
}

func b(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

func judgedMatrix(m *Matrix) *Verdict { return Judge(m.Data()) }
