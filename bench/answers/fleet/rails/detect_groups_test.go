package rails

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/finding"
)

// slowNodes slows all links and rails of nodes.
func slowNodes(nodes ...int) func(Pair, Kind) float64 {
	return func(x Pair, k Kind) float64 {
		for _, n := range nodes {
			if k != Rings && (x.A.Node == n || x.B.Node == n) {
				return 2
			}
		}
		return 1
	}
}

// Where no majority tells which nodes are as they should be, the slower ones are candidates and
// no node is known to be well.
func TestGroupsOfNodesAreAQuestion(t *testing.T) {
	for _, x := range []struct {
		nodes int
		slow  []int
	}{{2, []int{0}}, {2, []int{1}}, {4, []int{0, 1}}, {4, []int{1, 2}}, {8, []int{0, 3, 5, 6}}} {
		f := Fleet{Nodes: x.nodes, GPUs: 8}
		_, timings := flat(t, f, Bounds{}, slowNodes(x.slow...))
		v := Judge(Data{Fleet: f, Timings: timings})
		require.Equal(t, finding.Unclear, v.State, "%v: %+v", x, v.Findings)
		require.True(t, v.Questions[0].All)
		for _, n := range x.slow {
			require.Contains(t, v.Questions[0].Candidates, Component{Part: Node, Node: n})
		}
		require.InDelta(t, 0.5, v.Questions[0].Lost, 0.01)
	}
	f := Fleet{Nodes: 3, GPUs: 8}
	_, timings := flat(t, f, Bounds{}, slowNodes(2))
	v := Judge(Data{Fleet: f, Timings: timings})
	require.True(t, v.Exactly(Component{Part: Node, Node: 2}), "%+v %+v", v.Findings, v.Questions)
}

// Without links within nodes, three nodes are told apart by who meets whom in which round, and
// one of their paths is a question.
func TestGroupsOfMeetingsAreAQuestion(t *testing.T) {
	f := Fleet{Nodes: 3, GPUs: 1}
	_, timings := flat(t, f, Bounds{}, slowNodes(1))
	v := Judge(Data{Fleet: f, Timings: timings})
	require.Equal(t, finding.Unclear, v.State)
	require.Equal(t, []Component{{Part: Node, Node: 1}}, v.Questions[0].Candidates)
	_, timings = flat(t, f, Bounds{}, func(x Pair, k Kind) float64 { return 1 + b(k == Network && x.A.Node+x.B.Node == 3) })
	v = Judge(Data{Fleet: f, Timings: timings})
	require.Equal(t, finding.Unclear, v.State)
	require.Equal(t, []Component{{Part: Path, Node: 1, Peer: 2}}, v.Questions[0].Candidates)
	_, timings = flat(t, f, Bounds{}, even)
	require.Equal(t, finding.Healthy, Judge(Data{Fleet: f, Timings: timings}).State)
}

// Half of the rails slow on all nodes leave no reference: a loss of a third is never OK.
func TestGroupsOfNICsAreAQuestion(t *testing.T) {
	for _, nodes := range []int{2, 3, 8} {
		f := Fleet{Nodes: nodes, GPUs: 8}
		_, timings := flat(t, f, Bounds{}, func(x Pair, k Kind) float64 { return 1 + 0.5*b(k != XGMI && x.A.GPU < 4) })
		v := Judge(Data{Fleet: f, Timings: timings})
		require.Equal(t, finding.Unclear, v.State, "%+v", v.Findings)
		require.True(t, v.doubted())
		require.Contains(t, v.Questions[0].Candidates, Component{Part: Rail, Node: 1, A: 3})
	}
}

// What one node or two are compared with is said; a profile is a reference.
func TestWhatFewNodesDoNotTell(t *testing.T) {
	for nodes, says := range map[int][]string{1: {"NICs, rails", "no other node"}, 2: {"no third node"}} {
		f := Fleet{Nodes: nodes, GPUs: 8}
		_, timings := flat(t, f, Bounds{}, even)
		v := Judge(Data{Fleet: f, Timings: timings})
		require.Equal(t, finding.Healthy, v.State)
		require.Len(t, v.Unchecked, len(says))
		for i, said := range says {
			require.Contains(t, v.Unchecked[i], said)
		}
		v = Judge(Data{Fleet: f, Timings: timings, Profile: &Profile{Network: 1e-3, XGMI: 1e-3, Source: "x"}})
		require.Len(t, v.Unchecked, len(says)-1, "a profile says nothing of NICs that sent nothing")
	}
}

// A node whose partners wait for it is late; times of two nodes do not tell that from a slow
// network.
func TestALateNodeOfTwo(t *testing.T) {
	for nodes := range 5 {
		if nodes < 2 {
			continue
		}
		f := Fleet{Nodes: nodes, GPUs: 4}
		_, timings := flat(t, f, Bounds{}, func(x Pair, k Kind) float64 { return 1 + 0.3*b(k == Network && (x.A.Node == 1 || x.B.Node == 1)) })
		for i, x := range timings {
			if x.Kind == Network {
				timings[i].Waited = 3e-4 * (b(x.Pair.B.Node == 1) - b(x.Pair.A.Node == 1))
			}
		}
		v := Judge(Data{Fleet: f, Timings: timings})
		require.True(t, v.Exactly(Component{Part: Node, Node: 1}), "%d nodes: %+v %+v", nodes, v.Findings, v.Questions)
		require.InDelta(t, 0.23, v.Findings[0].Lost, 0.05)
	}
}

// A node has slow samples in its transfers now and then: it is named, and its transfers are not
// named beside it. Slow samples all over the fleet are noise.
func TestAnUnsteadyNode(t *testing.T) {
	for _, nodes := range []int{2, 3, 8} {
		f := Fleet{Nodes: nodes, GPUs: 8}
		for seed := range uint64(5) {
			for _, bad := range []int{-1, 1} {
				rng := rand.New(rand.NewPCG(seed, 9))
				_, timings := measured(t, f, Bounds{Seed: seed}, func(_ int, r Round, i int) []float64 {
					x, s, rate := r.Pairs[i], make([]float64, 5), 0.01
					if r.Kind != Rings && (x.A.Node == bad || x.B.Node == bad) {
						rate = 0.15
					}
					for i := range s {
						s[i] = 1e-3 * math.Exp(0.02*rng.NormFloat64()) * (1 + b(rng.Float64() < rate))
					}
					return s
				})
				v := Judge(Data{Fleet: f, Timings: timings})
				if bad < 0 {
					require.Equal(t, finding.Healthy, v.State, "%d nodes, seed %d: %+v %+v", nodes, seed, v.Findings, v.Questions)
					continue
				}
				require.True(t, v.Exactly(Component{Part: Node, Node: 1}), "%d nodes, seed %d: %+v %+v", nodes, seed, v.Findings, v.Questions)
				require.True(t, v.Findings[0].Intermittent)
				require.InDelta(t, 0.5, v.Findings[0].Lost, 0.03)
			}
		}
	}
}

// Samples of one mode, whatever their tails, are not two groups; two modes six deviations apart
// are, the smaller one from a twentieth of the values.
func TestTwoGroups(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 5))
	for name, draw := range map[string]func() float64{"normal": rng.NormFloat64, "even": func() float64 { return 3 * rng.Float64() }, "exponential": rng.ExpFloat64} {
		for _, n := range []int{66, 300} {
			alarms := 0
			for range 300 {
				values := make([]float64, n)
				for i := range values {
					values[i] = 0.1 * draw()
				}
				if _, _, ok := twoGroups(values, 0, leastLoss); ok {
					alarms++
				}
			}
			require.LessOrEqual(t, alarms, 5, "%s, %d values", name, n)
		}
	}
	for _, high := range []int{10, 50, 90} {
		values := make([]float64, 100)
		for i := range values {
			values[i] = 0.01*rng.NormFloat64() + 0.1*b(i < high)
		}
		slow, gap, ok := twoGroups(values, 0, leastLoss)
		require.True(t, ok)
		require.Len(t, slow, high)
		require.InDelta(t, 0.1, gap, 0.01)
		_, _, ok = twoGroups(values, 0.02, leastLoss)
		require.False(t, ok, "values are not known so well")
		_, _, ok = twoGroups(values, 0, 0.2)
		require.False(t, ok, "the groups hardly differ")
	}
}
