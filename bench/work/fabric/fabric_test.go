package fabric_test

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/collective"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
)

func resolve(t *testing.T, name string, nodes, gpus int) *fabric.Machine {
	t.Helper()
	f, err := fabric.ByName(name)
	require.NoError(t, err)
	m, err := f.Resolve(spec.World{Nodes: nodes, GPUsPerNode: gpus, GPUsPerProcess: 1}, fabric.Conditions{Seed: 1})
	require.NoError(t, err)
	return m
}

func TestEveryFabricLoadsAndResolvesEverywhere(t *testing.T) {
	require.Equal(t, fabric.Default, fabric.Names()[0])
	step := 1
	if testing.Short() {
		step = 7
	}
	names := collective.Names()
	for _, name := range fabric.Names() {
		f, err := fabric.ByName(name)
		require.NoError(t, err)
		require.Equal(t, name, f.Name)
		require.NotEmpty(t, f.Sources)
		for _, m := range f.Models {
			require.NotEmpty(t, m.Source, "%s: every model names its source", name)
		}
		for _, r := range f.Roofs {
			require.NotEmpty(t, r.Source, "%s: every roof names its source", name)
		}
		for nodes := 1; nodes <= f.MaxNodes; nodes += step {
			for gpus := 1; gpus <= f.Node.GPUs; gpus++ {
				m, err := f.Resolve(spec.World{Nodes: nodes, GPUsPerNode: gpus, GPUsPerProcess: 1}, fabric.Conditions{Seed: 1})
				require.NoError(t, err)
				for _, c := range names {
					curve := m.Curves[m.Whole()][c]
					require.Positive(t, curve.B)
					require.Positive(t, curve.Floor)
					require.False(t, math.IsNaN(curve.Time(1<<30)) || math.IsInf(curve.Time(1<<30), 0))
				}
			}
		}
	}
}

// The constants of DESIGN §4, as they come out.
func TestConstants(t *testing.T) {
	of := func(nodes int) fabric.Curve {
		m := resolve(t, "mi300x-pollara", nodes, 8)
		return m.Curves[m.Whole()]["all_reduce"]
	}
	one := of(1)
	require.Equal(t, fabric.Curve{B: 323e9, A: 7.5e-6, R: 65e-6, Floor: 13e-6, K: 1.75}, one)
	two := of(2)
	require.InDelta(t, 361e9, two.B, 1)
	require.InDelta(t, 320e-6, two.R, 1e-12)
	many := of(128)
	require.InDelta(t, 360e9, many.B, 1)
	require.InDelta(t, 12e-6+2*(6.3e-6+10.5e-6*7), many.A, 1e-12)
	require.InDelta(t, 320e-6*math.Pow(64, 0.4), many.R, 1e-12)
}

func TestOneNodeIsTheSameInBothFiles(t *testing.T) {
	for gpus := 1; gpus <= 8; gpus++ {
		require.Equal(t, resolve(t, "mi300x-8gpu", 1, gpus), resolve(t, "mi300x-pollara", 1, gpus))
	}
}

func TestUnmeasuredPartsAreExtrapolated(t *testing.T) {
	doubts := func(collective string, nodes, gpus int) []string {
		m := resolve(t, "mi300x-pollara", nodes, gpus)
		return m.Extrapolated[m.Whole()][collective]
	}
	require.Empty(t, doubts("all_reduce", 1, 8))
	require.Empty(t, doubts("all_reduce", 2, 8))
	require.NotEmpty(t, doubts("all_reduce", 1, 4))
	require.NotEmpty(t, doubts("all_gather", 1, 8))
	require.NotEmpty(t, doubts("all_reduce", 128, 8))
}

// A group's constants are extrapolated or not by what they are made of, whatever
// the whole world's are.
func TestGroupsAreExtrapolatedByThemselves(t *testing.T) {
	f, err := fabric.ByName(fabric.Default)
	require.NoError(t, err)
	m, err := f.Resolve(spec.World{Nodes: 4, GPUsPerNode: 8, GPUsPerProcess: 1}, fabric.Conditions{Groups: []int{4, 8}, Strides: []int{8}, Scales: []int{2}})
	require.NoError(t, err)
	for g, extrapolated := range map[fabric.Group]bool{
		m.Whole(): true, {Ranks: 4}: true, {Ranks: 8}: false, {Ranks: 4, Stride: 8}: true, {Ranks: 16}: false,
	} {
		require.Equal(t, extrapolated, len(m.Extrapolated[g]["all_reduce"]) > 0, "%+v: %v", g, m.Extrapolated[g])
		require.NotEmpty(t, m.Extrapolated[g]["all_gather"])
	}
	said := f.Describe(m).Extrapolated
	require.Equal(t, m.Extrapolated[m.Whole()]["all_reduce"][0], said[0], "the whole world's come first")
	require.Subset(t, said, m.Extrapolated[fabric.Group{Ranks: 4}]["all_reduce"])
	require.Len(t, said, 3+len(collective.Names())-1, "4 GPUs, 1 of 8 GPUs a node, over 2 nodes, and all collectives but one: %v", said)
}

func TestRefusals(t *testing.T) {
	f, err := fabric.ByName(fabric.Default)
	require.NoError(t, err)
	_, err = fabric.ByName("mi300x")
	require.ErrorContains(t, err, "valid are mi300x-pollara, ")
	for _, c := range []struct {
		world spec.World
		says  string
	}{
		{spec.World{Nodes: 0, GPUsPerNode: 8, GPUsPerProcess: 1}, "1 to 1024 nodes, not 0"},
		{spec.World{Nodes: 2000, GPUsPerNode: 8, GPUsPerProcess: 1}, "not 2000"},
		{spec.World{Nodes: 1, GPUsPerNode: 9, GPUsPerProcess: 1}, "1 to 8 GPUs a node, not 9"},
		{spec.World{Nodes: 1, GPUsPerNode: 8, GPUsPerProcess: 3}, "do not divide"},
		{spec.World{Nodes: 1, GPUsPerNode: 8, GPUsPerProcess: 0}, "do not divide"},
	} {
		_, err := f.Resolve(c.world, fabric.Conditions{})
		require.ErrorContains(t, err, c.says)
	}
}

func TestParseNamesTheKey(t *testing.T) {
	good, err := os.ReadFile("data/mi300x-8gpu.yaml")
	require.NoError(t, err)
	for _, name := range fabric.Names() { // in the binary, too, every key has a value
		text, err := os.ReadFile("data/" + name + ".yaml")
		require.NoError(t, err)
		_, err = fabric.Parse(text)
		require.NoError(t, err, name)
	}
	for was, now := range map[string]string{
		"max_nodes: 1":       "max_node: 1",
		"noise: 0.01":        "noise: 3",
		"{min: 1, max: 1}\n": "{min: 2, max: 2}\n",
		"hbm_bytes: 2061":    "hbm_bytes: -2061",
		"gpus: 8\n":          "gpus: eight\n",
	} {
		require.Contains(t, string(good), was)
		_, err := fabric.Parse([]byte(strings.Replace(string(good), was, now, 1)))
		require.Error(t, err, now)
	}
}

// Every row's example is a fault that can be planted, and each has its effect.
func TestEveryFaultCanBePlanted(t *testing.T) {
	f, err := fabric.ByName(fabric.Default)
	require.NoError(t, err)
	w := spec.World{Nodes: 4, GPUsPerNode: 8, GPUsPerProcess: 1}
	o := fabric.Conditions{Groups: []int{2, 8}, Scales: []int{2}}
	healthy, err := f.Resolve(w, o)
	require.NoError(t, err)
	for _, fault := range fabric.Faults() {
		o.Faults = []string{fault.Form}
		broken, err := f.Resolve(w, o)
		require.NoError(t, err, fault.Form)
		if slices.Equal(healthy.NICs, broken.NICs) {
			require.NotEqual(t, string(healthy.Text()), string(broken.Text()), fault.Form)
		}
		require.NotEmpty(t, fault.Does)
	}
}

// What would undo another fault in silence is refused and names it; what adds up is
// not.
func TestFaultsThatClash(t *testing.T) {
	f, err := fabric.ByName(fabric.Default)
	require.NoError(t, err)
	plant := func(faults ...string) error {
		_, err := f.Resolve(spec.World{Nodes: 4, GPUsPerNode: 8, GPUsPerProcess: 1}, fabric.Conditions{Faults: faults})
		return err
	}
	for _, fault := range fabric.Faults() {
		require.ErrorContains(t, plant(fault.Form, fault.Form), "is planted already, by \""+fault.Form, fault.Name)
	}
	for says, pair := range map[string][]string{
		"rail 2 of node 1":                {"slow_rail:node=1,rail=2,left=0.5", "dead_rail:node=1,rail=2"},
		"the link of GPUs 1 and 3":        {"slow_link:node=0,a=1,b=3,left=0.5", "slow_link:node=0,a=3,b=1,left=0.7"},
		"wrong data is planted already":   {"corrupt:node=0,gpu=1,index=5", "missing_rank:node=3,gpu=5"},
		"a hang is planted already":       {"hang:node=0,gpu=1,bytes=1,launch=1", "hang:node=3,gpu=1,bytes=1e6,launch=1"},
		"late GPU 5 of node 3 is planted": {"late_gpu:node=3,gpu=5,seconds=1e-5", "late_gpu:node=3,gpu=5,seconds=2e-5"},
		"node is given twice":             {"dead_rail:node=1,node=2,rail=2"},
		"is not env=NAME:VALUE":           {"corrupt:node=0,gpu=1,index=5,env=NCCL_ALGO"},
		"is not key=number":               {"dead_rail:node=1,rail=2,env=NCCL_ALGO:Ring"},
	} {
		require.ErrorContains(t, plant(pair...), says)
	}
	require.NoError(t, plant("late_gpu:node=3,gpu=5,seconds=1e-5", "late_node:node=3,seconds=1e-5", "late_gpu:node=3,gpu=4,seconds=1e-5",
		"slow_leaf:rail=2,left=0.5", "slow_rail:node=1,rail=2,left=0.3", "dead_rail:node=2,rail=2", "hang:node=0,gpu=1,bytes=1,launch=1", "noise:sigma=0.02"))
}

// A slow link slows the groups that hold both its ends, and no other.
func TestSlowLinkTouchesItsGroups(t *testing.T) {
	f, err := fabric.ByName(fabric.Default)
	require.NoError(t, err)
	w := spec.World{Nodes: 2, GPUsPerNode: 8, GPUsPerProcess: 1}
	o := fabric.Conditions{Groups: []int{2, 8}}
	healthy, err := f.Resolve(w, o)
	require.NoError(t, err)
	o.Faults = []string{"slow_link:node=1,a=2,b=3,left=0.25"}
	broken, err := f.Resolve(w, o)
	require.NoError(t, err)
	for g := range healthy.Curves {
		want := 1.0
		if g.First <= 10 && g.First+g.Ranks > 11 {
			want = 0.25
		}
		require.InEpsilon(t, want, broken.Curves[g]["all_reduce"].B/healthy.Curves[g]["all_reduce"].B, 1e-12, "%+v", g)
	}
}

// A dead rail takes its share, slow ones theirs; inside a node neither matters.
func TestRails(t *testing.T) {
	f, err := fabric.ByName(fabric.Default)
	require.NoError(t, err)
	left := func(faults ...string) (between, inside float64) {
		o := fabric.Conditions{Groups: []int{8}, Faults: faults}
		m, err := f.Resolve(spec.World{Nodes: 2, GPUsPerNode: 8, GPUsPerProcess: 1}, o)
		require.NoError(t, err)
		return m.Curves[m.Whole()]["all_reduce"].B / 361e9, m.Curves[fabric.Group{First: 8, Ranks: 8}]["all_reduce"].B / 323e9
	}
	for _, c := range []struct {
		want   float64
		faults []string
	}{
		{1, nil},
		{7.0 / 8, []string{"dead_rail:node=1,rail=3"}},
		{4.0 / 8, []string{"dead_rail:node=1,rail=0", "dead_rail:node=1,rail=1", "dead_rail:node=1,rail=2", "dead_rail:node=1,rail=3"}},
		{7.0 / 8, []string{"dead_rail:node=1,rail=3", "dead_rail:node=0,rail=3"}},
		{0.5, []string{"slow_leaf:rail=2,left=0.5"}},
		{0.3, []string{"slow_rail:node=0,rail=2,left=0.3", "dead_rail:node=1,rail=3"}},
	} {
		between, inside := left(c.faults...)
		require.InEpsilon(t, c.want, between, 1e-9, "%v", c.faults)
		require.InEpsilon(t, 1, inside, 1e-9)
	}
}

// A launch takes the curve's time, or the host's where one process launches on
// eight GPUs in turn (50 µs, ROCm/rccl issue 1562).
func TestLaunch(t *testing.T) {
	f, err := fabric.ByName(fabric.Default)
	require.NoError(t, err)
	for g, want := range map[int]float64{1: 13e-6, 8: 50e-6} {
		m, err := f.Resolve(spec.World{Nodes: 1, GPUsPerNode: 8, GPUsPerProcess: g}, fabric.Conditions{})
		require.NoError(t, err)
		require.InDelta(t, want, m.Launch(m.Whole(), "all_reduce", 8), 1e-12)
		curve := m.Curves[m.Whole()]["all_gather"]
		require.Equal(t, curve.Time(1<<30), m.Launch(m.Whole(), "all_gather", 1<<30))
		require.Zero(t, m.Launch(fabric.Group{Ranks: 3}, "all_reduce", 8))
	}
}

func TestReadCollVersion(t *testing.T) {
	for text, want := range map[string]int{"2.30.4": 23004, "2.9.6": 20906, "2.22.3": 22203} {
		v, err := fabric.ReadCollVersion(text)
		require.NoError(t, err)
		require.Equal(t, want, v)
	}
	for _, text := range []string{"", "2.30", "2.8.4", "3.1.2", "2.30.4 ", "2.30.-1", "2.30.100", "2.030.4", "2.30.4-1"} {
		_, err := fabric.ReadCollVersion(text)
		require.ErrorContains(t, err, "2.30.4", text)
	}
}
