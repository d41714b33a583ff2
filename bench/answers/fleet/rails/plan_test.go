package rails

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/finding"
)

// measured takes every round of a plan; seconds are those of the round's pair i.
func measured(t *testing.T, f Fleet, o Bounds, seconds func(round int, r Round, i int) []float64) (rounds []Round, timings []Timing) {
	t.Helper()
	p := NewPlan(f, o)
	for {
		r, more := p.Next(timings)
		if !more {
			return rounds, timings
		}
		require.Less(t, len(rounds), 1000)
		for i, x := range r.Pairs {
			timings = append(timings, Timing{Round: len(rounds), Kind: r.Kind, Pair: x, Seconds: seconds(len(rounds), r, i)})
		}
		rounds = append(rounds, r)
	}
}

// flat measures every round of a plan as if all were equal, but for one pair of places.
func flat(t *testing.T, f Fleet, o Bounds, slow func(Pair, Kind) float64) (rounds []Round, timings []Timing) {
	t.Helper()
	return measured(t, f, o, func(round int, r Round, i int) []float64 {
		s := 1e-3 * (1 + 1e-4*float64((i*7919+round*31)%17)) * slow(r.Pairs[i], r.Kind)
		return []float64{s, s, s, s, s}
	})
}

func even(Pair, Kind) float64 { return 1 }

// All pairs of a round are disjoint, links are complete, and the rounds between nodes are
// about log₂N with partners that differ.
func TestPlansOfAllSizes(t *testing.T) {
	for nodes := range 34 {
		for _, gpus := range []int{1, 2, 3, 8} {
			t.Run(fmt.Sprint(nodes, gpus), func(t *testing.T) {
				rounds, _ := flat(t, Fleet{Nodes: nodes, GPUs: gpus}, Bounds{Seed: 3}, even)
				network, links, met := 0, map[Pair]int{}, map[[2]int]int{}
				for _, r := range rounds {
					used := map[Place]bool{}
					if r.Kind == Rings {
						network++
						require.Len(t, r.Pairs, gpus)
						continue
					}
					for _, x := range r.Pairs {
						require.False(t, used[x.A] || used[x.B] || x.A == x.B)
						used[x.A], used[x.B] = true, true
						if r.Kind == XGMI {
							require.Equal(t, x.A.Node, x.B.Node)
							links[Pair{Place{x.A.Node, min(x.A.GPU, x.B.GPU)}, Place{x.A.Node, max(x.A.GPU, x.B.GPU)}}]++
							continue
						}
						require.Equal(t, x.A.GPU, x.B.GPU)
						met[[2]int{min(x.A.Node, x.B.Node), max(x.A.Node, x.B.Node)}]++
					}
					if r.Kind == Network {
						network++
						require.GreaterOrEqual(t, len(used), (nodes-nodes%2)*gpus, "all nodes take part but one of an odd number")
					}
				}
				require.Len(t, links, nodes*gpus*(gpus-1)/2)
				if nodes > 4 {
					for pair, n := range met {
						require.Equal(t, gpus, n, "nodes %v meet once", pair)
					}
				}
				require.LessOrEqual(t, network, 20)
			})
		}
	}
}

// A suspect is measured again with nodes that are not suspect, within 20 rounds.
func TestSuspectsAreConfirmed(t *testing.T) {
	bad := Place{5, 2}
	slow := func(x Pair, k Kind) float64 {
		if k == Network && (x.A == bad || x.B == bad) {
			return 1.25
		}
		return 1
	}
	f := Fleet{Nodes: 32, GPUs: 8}
	healthy, _ := flat(t, f, Bounds{}, even)
	rounds, timings := flat(t, f, Bounds{}, slow)
	require.Greater(t, len(rounds), len(healthy))
	v := Judge(Data{Fleet: f, Timings: timings})
	require.True(t, v.Exactly(Component{Part: Rail, Node: 5, A: 2}), "%+v %+v", v.Findings, v.Questions)
	require.InDelta(t, 0.2, v.Findings[0].Lost, 0.01)
}

// A slow link of the first pass is measured again before it is named: with that pass alone
// it is a question.
func TestLinksAreConfirmedBeforeTheyAreNamed(t *testing.T) {
	slow := func(x Pair, k Kind) float64 {
		if k == XGMI && x.A.Node == 3 && min(x.A.GPU, x.B.GPU) == 1 && max(x.A.GPU, x.B.GPU) == 6 {
			return 1.3
		}
		return 1
	}
	f := Fleet{Nodes: 8, GPUs: 8}
	rounds, timings := flat(t, f, Bounds{}, slow)
	within := 0
	for _, r := range rounds {
		if r.Kind == XGMI {
			within++
		}
	}
	require.Equal(t, 7+AllPasses-1, within, "only the round with the link is repeated")
	want := Component{Part: Link, Node: 3, A: 1, B: 6}
	v := Judge(Data{Fleet: f, Timings: timings})
	require.True(t, v.Exactly(want), "%+v %+v", v.Findings, v.Questions)
	require.Contains(t, v.Findings[0].Reasons[0], fmt.Sprintf(" of %d passes; ", AllPasses))
	var first []Timing
	for _, x := range timings {
		if x.Kind != XGMI || x.Round < 7 {
			first = append(first, x)
		}
	}
	v = Judge(Data{Fleet: f, Timings: first})
	require.Equal(t, finding.Unclear, v.State)
	require.Equal(t, []Component{want}, v.Questions[0].Candidates)
}
