package evidence

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/fleet/nodescreen"
	"zbench/bench/answers/fleet/rails"
	"zbench/bench/base/finding"
	"zbench/bench/run/record"
)

// alike is a comparison in which no part is behind.
var alike = []finding.Compared[rails.Component]{{Figures: make([]finding.Figure[rails.Component], 4)}}

// fleet4 is four nodes of four GPUs; times have measured all of it.
func fleet4(v *rails.Verdict) *rails.Verdict {
	for node := range 4 {
		for gpu := range 4 {
			v.Ranking = append(v.Ranking, rails.Ranked{Component: rails.Component{Part: rails.Rail, Node: node, A: gpu}, All: 12})
		}
	}
	return v
}

var names4 = []string{"a", "b", "c", "d"}

func facts(node int, f ...Fact) map[int][]Fact { return map[int][]Fact{node: f} }

// What a node's topology says of a component names it where the times suspect it or its
// rivals, and not where they have measured it well.
func TestTopologyDecides(t *testing.T) {
	port := Fact{Component: rail23, Code: "nic_rate", Says: "NIC x runs its port at 100G of 400G", Bad: true}
	v := fleet4(asked(rail23, gpu23))
	v.Questions[0].Lost = 0.6
	Settle(Input{Verdict: v, Others: Topologies{Facts: facts(2, port), Nodes: 4}.Claims()})
	require.True(t, v.Exactly(rail23), "%+v", v)
	require.Contains(t, v.Findings[0].Reasons, "topology: NIC x runs its port at 100G of 400G")

	v = fleet4(&rails.Verdict{State: finding.Healthy, Compared: alike})
	Settle(Input{Verdict: v, Others: Topologies{Facts: facts(2, port), Nodes: 4}.Claims()})
	require.Equal(t, finding.Unclear, v.State)
	require.Equal(t, []rails.Component{rail23}, v.Questions[0].Candidates)
	require.Contains(t, v.Questions[0].What, "NIC x runs its port at 100G of 400G; its times are not slow")

	// Of another component that is no rival: both stand.
	v = fleet4(found(0.9, link))
	Settle(Input{Verdict: v, Others: Topologies{Facts: facts(2, port), Nodes: 4}.Claims()})
	require.Len(t, v.Findings, 1)
	require.Len(t, v.Questions, 1)

	// What most nodes have in common explains no difference between them.
	v = fleet4(asked(rail23, gpu23))
	same := map[int][]Fact{}
	for node := range 4 {
		f := port
		f.Component.Node = node
		same[node] = []Fact{f}
	}
	Settle(Input{Verdict: v, Others: Topologies{Facts: same, Nodes: 4}.Claims()})
	require.Equal(t, finding.Unclear, v.State)
	require.Len(t, v.Questions, 1)

	// Nodes that were measured as one: the part is a reason for the node.
	v = found(0.9, node2)
	Settle(Input{Verdict: v, Others: OfNodes(Topologies{Facts: facts(2, port), Nodes: 4}.Claims())})
	require.True(t, v.Exactly(node2), "%+v", v)
	require.Contains(t, v.Findings[0].Reasons, "topology: NIC x runs its port at 100G of 400G")

	// Doubts alone are nothing, however many.
	v = fleet4(&rails.Verdict{State: finding.Healthy, Compared: alike})
	Settle(Input{Verdict: v, Others: Topologies{Facts: facts(2, Fact{rail23, "a", "x", false}, Fact{rail23, "b", "y", false}, Fact{rail23, "c", "z", false}), Nodes: 4}.Claims()})
	require.Equal(t, finding.Healthy, v.State)
}

// A GPU that the times suspect and whose node passed a collective of its own is cleared; two
// sources that name rivals are not decided.
func TestTheScreenDecides(t *testing.T) {
	rate := 3e11
	well := &nodescreen.Node{Host: "c", Collective: &nodescreen.Rate{What: "all_reduce", Rate: &rate}}
	screen := func(f ...nodescreen.Deviation) Screens {
		return Screens{Document: &nodescreen.Document{Nodes: 4, Findings: f, Reports: []*nodescreen.Node{well}}, Names: names4, GPUs: 4}
	}
	// The links of the GPU are inside the node: with them well it is the rail.
	v := fleet4(asked(gpu23, rail23))
	Settle(Input{Verdict: v, Others: screen().Claims()})
	require.Equal(t, []rails.Component{rail23}, v.Questions[0].Candidates, "%+v", v)

	v = fleet4(asked(rail23, node2))
	Settle(Input{Verdict: v, Others: screen(nodescreen.Deviation{Host: "c", Rule: "collective", Subject: "node", Message: "all_reduce 20 % below"}).Claims()})
	require.True(t, v.Exactly(node2), "%+v", v)

	// A slow link makes the node's collective slow: no contradiction, the link stays.
	inside := rails.Component{Part: rails.Link, Node: 2, A: 0, B: 1}
	v = fleet4(found(0.9, inside))
	Settle(Input{Verdict: v, Others: screen(nodescreen.Deviation{Host: "c", Rule: "collective", Subject: "node", Message: "all_reduce 20 % below"}).Claims()})
	require.True(t, v.Exactly(inside), "%+v %+v", v.Findings, v.Questions)

	// The times are sure of the rail, the screen of the GPU's memory: cannot tell.
	v = fleet4(found(0.9, rail23))
	other := screen(nodescreen.Deviation{Host: "c.cluster", Rule: "memory", Subject: "GPU 3 (0000:c9:00.0)", Message: "copy 30 % below"})
	other.Document.Reports = nil
	Settle(Input{Verdict: v, Others: other.Claims()})
	require.Equal(t, finding.Unclear, v.State, "%+v", v)
	require.ElementsMatch(t, []rails.Component{rail23, gpu23}, v.Questions[0].Candidates)
}

// Sources that do not decide leave the reference in doubt, if the times do.
func TestADoubtedReferenceStaysSo(t *testing.T) {
	v := fleet4(asked(rail23, gpu23))
	v.Questions[0].All = true
	other := Screens{Document: &nodescreen.Document{Nodes: 4, Findings: []nodescreen.Deviation{{Host: "c", Rule: "memory", Subject: "GPU 3 (x)", Message: "slow"}}}, Names: names4, GPUs: 4}
	port := Topologies{Facts: facts(2, Fact{Component: rail23, Code: "nic_rate", Says: "slow", Bad: true}), Nodes: 4}
	Settle(Input{Verdict: v, Others: slices.Concat(other.Claims(), port.Claims())})
	require.Equal(t, finding.Unclear, v.State, "%+v", v)
	require.Len(t, v.Questions, 1)
	require.True(t, v.Questions[0].All)
}

// RAS names ranks: a dead one is its GPU's, all of a node's are the node's.
func TestRASDecides(t *testing.T) {
	of := func(state record.WitnessRankState, ranks ...int) *record.Witness {
		w := &record.Witness{Source: "RAS", State: record.WitnessDegraded}
		for _, r := range ranks {
			w.Ranks = append(w.Ranks, record.WitnessRank{State: state, Rank: &r, Detail: "no data"})
		}
		return w
	}
	claims := func(w *record.Witness) []Claim {
		out, _ := Services{Answer: w, Names: names4, GPUs: 4}.Claims()
		return out
	}
	v := fleet4(asked(rail23, gpu23))
	Settle(Input{Verdict: v, Others: claims(of(record.RankDead, 11))})
	require.True(t, v.Exactly(gpu23), "%+v", v)
	v = &rails.Verdict{State: finding.NotChecked}
	Settle(Input{Verdict: v, Others: claims(of(record.RankMissing, 8, 9, 10, 11))})
	require.True(t, v.Exactly(node2), "%+v", v)
	// Ranks of another world, or a service that did not answer, say nothing.
	for _, w := range []*record.Witness{of(record.RankDead, 99), {State: record.WitnessAbsent, Reason: "refused"}, nil} {
		v = fleet4(&rails.Verdict{State: finding.Healthy, Compared: alike})
		Settle(Input{Verdict: v, Others: claims(w)})
		require.Equal(t, finding.Healthy, v.State)
	}
}

// A rank whose host is unknown has its place by the order of ranks, which only a communicator of the whole fleet has.
// Others are named as strange.
func TestRASOfAnotherJob(t *testing.T) {
	rank := 3
	w := &record.Witness{State: record.WitnessDegraded, Ranks: []record.WitnessRank{{State: record.RankError, Rank: &rank}}}
	holds := func(claims, strange int) {
		t.Helper()
		c, s := Services{Answer: w, Names: names4, GPUs: 4}.Claims()
		require.Len(t, c, claims)
		require.Len(t, s, strange)
	}
	holds(1, 0)
	w.Communicators = []record.WitnessComm{{Ranks: 32}}
	holds(0, 1)
	w.Communicators = []record.WitnessComm{{ID: "a", Ranks: 32}, {ID: "b", Ranks: 16}}
	w.Ranks[0].Communicator = "a"
	holds(0, 1)
	w.Ranks[0].Host = "c" // whatever the communicator's size
	holds(1, 0)
	w.Ranks[0].Host = "elsewhere"
	holds(0, 1)
}

// The host that RAS prints is named, in whatever order the ranks are numbered: each GPU of each node in a random one.
func TestRASNamesTheHostThatItPrints(t *testing.T) {
	random := rand.New(rand.NewPCG(56, 1))
	for range 50 {
		order := random.Perm(16) // rank to place
		rank, named := random.IntN(16), &rails.Verdict{State: finding.NotChecked}
		place := order[rank]
		w := &record.Witness{
			State: record.WitnessDegraded, Communicators: []record.WitnessComm{{Ranks: 16}},
			Ranks: []record.WitnessRank{{State: record.RankMissing, Rank: &rank, Host: names4[place/4] + ".cluster", PID: 7, GPU: strconv.Itoa(place % 4)}},
		}
		claims, strange := Services{Answer: w, Names: names4, GPUs: 4}.Claims()
		require.Empty(t, strange)
		Settle(Input{Verdict: named, Others: claims})
		require.True(t, named.Exactly(rails.Component{Part: rails.GPU, Node: place / 4, A: place % 4}), "rank %d of %v: %+v", rank, order, named)
		claims, _ = Services{Answer: w, Names: names4}.Claims() // nodes that were measured as one
		named = &rails.Verdict{State: finding.NotChecked}
		Settle(Input{Verdict: named, Others: OfNodes(claims)})
		require.True(t, named.Exactly(rails.Component{Part: rails.Node, Node: place / 4}), "%+v", named)
	}
}

// A process manages several GPUs; the number on the host counts where the process has its own.
func TestRASSpellsGPUs(t *testing.T) {
	for text, want := range map[string][]int{"6": {6}, "4,5": {4, 5}, "7 (NVML 5)": {5}, "": nil} {
		require.Equal(t, want, gpusOf(text), text)
	}
}
