package rails

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/finding"
)

// Without anything to compare with there is no verdict: not a pass.
func TestWithoutAReferenceNothingIsChecked(t *testing.T) {
	require.Equal(t, finding.NotChecked, Judge(Data{}).State)
	require.Equal(t, finding.NotChecked, Judge(Data{Fleet: Fleet{Nodes: 2, GPUs: 1}}).State)
	f := Fleet{Nodes: 2, GPUs: 1}
	_, timings := flat(t, f, Bounds{}, even)
	v := Judge(Data{Fleet: f, Timings: timings})
	require.Equal(t, finding.NotChecked, v.State)
	require.NotEmpty(t, v.Unchecked)
}

// Two nodes: it can be told which rail is slow, not on which of them.
func TestTwoNodesAreAQuestion(t *testing.T) {
	f := Fleet{Nodes: 2, GPUs: 8}
	_, timings := flat(t, f, Bounds{}, func(x Pair, k Kind) float64 {
		if k == Network && x.A.GPU == 4 {
			return 1.5
		}
		return 1
	})
	v := Judge(Data{Fleet: f, Timings: timings})
	require.Equal(t, finding.Unclear, v.State, "%+v", v.Findings)
	require.ElementsMatch(t, []Component{{Part: Rail, Node: 0, A: 4}, {Part: Rail, Node: 1, A: 4}, {Part: Leaf, A: 4, B: -1}}, v.Questions[0].Candidates)
}

// A fleet that is slow as a whole is healthy among itself; a profile tells.
func TestAProfileFindsAFleetThatIsSlow(t *testing.T) {
	f := Fleet{Nodes: 8, GPUs: 8}
	_, timings := flat(t, f, Bounds{}, even)
	require.Equal(t, finding.Healthy, Judge(Data{Fleet: f, Timings: timings}).State)
	v := Judge(Data{Fleet: f, Timings: timings, Profile: &Profile{Network: 0.7e-3, Source: "the vendor's figure"}})
	require.Equal(t, finding.Unclear, v.State)
	require.Contains(t, v.Questions[0].What, "below the vendor's figure")
	require.InDelta(t, 0.3, v.Questions[0].Lost, 0.01)
}

// Without times within nodes a slow NIC may be its GPU.
func TestWithoutLinksANICMayBeItsGPU(t *testing.T) {
	f := Fleet{Nodes: 16, GPUs: 4}
	bad := Place{9, 1}
	_, timings := flat(t, f, Bounds{}, func(x Pair, k Kind) float64 {
		if k == Network && (x.A == bad || x.B == bad) {
			return 1.3
		}
		return 1
	})
	var network []Timing
	for _, x := range timings {
		if x.Kind != XGMI {
			network = append(network, x)
		}
	}
	v := Judge(Data{Fleet: f, Timings: network})
	require.Equal(t, finding.Unclear, v.State)
	require.Equal(t, []Component{{Part: Rail, Node: 9, A: 1}, {Part: GPU, Node: 9, A: 1}}, v.Questions[0].Candidates)
}

// Times that no clock gives are left out, and no data panic.
func TestHostileTimes(t *testing.T) {
	f := Fleet{Nodes: 4, GPUs: 2}
	_, timings := flat(t, f, Bounds{}, even)
	for i := range timings {
		switch i % 5 {
		case 0:
			timings[i].Seconds = nil
		case 1:
			timings[i].Seconds = []float64{math.NaN(), math.Inf(1), -1, 0}
		case 2:
			timings[i].Seconds = []float64{math.MaxFloat64, math.SmallestNonzeroFloat64}
		}
	}
	Judge(Data{Fleet: f, Timings: timings})
	Judge(Data{Fleet: f, Timings: timings[:1]})
}

// A node that is named already explains the slow samples of its rails and links: they are not
// named again as faults that come and go.
func TestAFaultIsNamedOnce(t *testing.T) {
	f := Fleet{Nodes: 32, GPUs: 8}
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var slow [1000][5]bool
		for round := range slow {
			for i := range slow[round] {
				slow[round][i] = rng.Float64() < 0.45
			}
		}
		_, timings := measured(t, f, Bounds{Seed: seed}, func(round int, r Round, i int) []float64 {
			x, s := r.Pairs[i], make([]float64, 5)
			for i := range s {
				s[i] = 1e-3 * math.Exp(0.01*rng.NormFloat64())
				if slow[round][i] && r.Kind != Rings && (x.A.Node == 3 || x.B.Node == 3) {
					s[i] *= 4
				}
			}
			return s
		})
		v := Judge(Data{Fleet: f, Timings: timings})
		named := false
		for _, x := range v.Findings {
			named = named || x.Component == Component{Part: Node, Node: 3}
		}
		if named {
			require.Len(t, v.Findings, 1, "seed %d: %+v", seed, v.Findings)
		}
		for _, x := range v.Findings {
			require.Equal(t, 3, x.Component.Node, "%+v", x)
			require.Greater(t, x.Lost, 0.02, "%+v", x)
		}
	}
}
