package fabric_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
)

// strided resolves the default fabric on four nodes with strides and faults.
func strided(t *testing.T, strides []int, faults ...string) *fabric.Machine {
	t.Helper()
	f, err := fabric.ByName(fabric.Default)
	require.NoError(t, err)
	m, err := f.Resolve(spec.World{Nodes: 4, GPUsPerNode: 8, GPUsPerProcess: 1}, fabric.Conditions{Strides: strides, Faults: faults})
	require.NoError(t, err)
	return m
}

// A group of ranks that lie apart has the constants of its own nodes and GPUs: of
// one GPU a node it is on one rail.
func TestStridedGroups(t *testing.T) {
	m := strided(t, []int{2, 8, 16})
	f, err := fabric.ByName(fabric.Default)
	require.NoError(t, err)
	for stride, w := range map[int]spec.World{
		2: {Nodes: 4, GPUsPerNode: 4, GPUsPerProcess: 1}, 8: {Nodes: 4, GPUsPerNode: 1, GPUsPerProcess: 1}, 16: {Nodes: 2, GPUsPerNode: 1, GPUsPerProcess: 1},
	} {
		alone, err := f.Resolve(w, fabric.Conditions{})
		require.NoError(t, err)
		for first := range stride {
			require.Equal(t, alone.Curves[alone.Whole()], m.Curves[fabric.Group{First: first, Ranks: 32 / stride, Stride: stride}], "stride %d from %d", stride, first)
		}
	}
	require.Len(t, m.Curves, 1+2+8+16)
	require.Contains(t, string(m.Text()), "\ncurve all_reduce 3 4 8 ")
	for _, s := range []int{0, 1, 3, 32, 64} {
		_, err := f.Resolve(spec.World{Nodes: 4, GPUsPerNode: 8, GPUsPerProcess: 1}, fabric.Conditions{Strides: []int{s}})
		require.ErrorContains(t, err, "must divide")
	}
}

// A fault takes from the groups that use what is broken, and from no other.
func TestFaultsOfStridedGroups(t *testing.T) {
	healthy := strided(t, []int{2, 8, 16})
	for fault, left := range map[string]func(g fabric.Group) float64{
		"slow_rail:node=2,rail=3,left=0.5": func(g fabric.Group) float64 {
			return half(g.Ranks == 32 || g.Stride == 2 && g.First == 1 || g.Stride == 8 && g.First == 3 || g.Stride == 16 && g.First == 3)
		},
		"slow_leaf:rail=3,left=0.5": func(g fabric.Group) float64 {
			return half(g.Ranks == 32 || g.Stride > 0 && 3%g.Stride == g.First%8%g.Stride && (g.Stride == 2 || g.First%8 == 3))
		},
		"slow_link:node=1,a=1,b=3,left=0.5": func(g fabric.Group) float64 {
			return half(g.Ranks == 32 || g.Stride == 2 && g.First == 1)
		},
	} {
		broken := strided(t, []int{2, 8, 16}, fault)
		for g := range healthy.Curves {
			require.InEpsilon(t, left(g), broken.Curves[g]["all_reduce"].B/healthy.Curves[g]["all_reduce"].B, 1e-12, "%s, %+v", fault, g)
		}
	}
	// The traffic of dead rails takes those of the group's other GPUs on the node; a
	// GPU that is alone there takes the NIC of another, and both groups share it.
	for _, c := range []struct {
		faults []string
		left   func(g fabric.Group) float64
	}{
		{[]string{"dead_rail:node=2,rail=3"}, func(g fabric.Group) float64 {
			switch {
			case g.Ranks == 32:
				return 7.0 / 8
			case g.Stride == 2 && g.First == 1:
				return 3.0 / 4
			}
			return half((g.Stride == 8 || g.Stride == 16) && (g.First == 2 || g.First == 3))
		}},
		{[]string{"dead_rail:node=2,rail=3", "dead_rail:node=2,rail=2"}, func(g fabric.Group) float64 {
			switch {
			case g.Ranks == 32:
				return 6.0 / 8
			case g.Stride == 2:
				return 3.0 / 4
			}
			return half((g.Stride == 8 || g.Stride == 16) && g.First < 4)
		}},
	} {
		broken := strided(t, []int{2, 8, 16}, c.faults...)
		for g := range healthy.Curves {
			require.InEpsilon(t, c.left(g), broken.Curves[g]["all_reduce"].B/healthy.Curves[g]["all_reduce"].B, 1e-12, "%v, %+v", c.faults, g)
		}
	}
}

func half(when bool) float64 {
	if when {
		return 0.5
	}
	return 1
}

// Groups that run at once share NICs where these are fewer than the GPUs.
func TestStridedGroupsShareNICs(t *testing.T) {
	f, err := fabric.ByName(fabric.Default)
	require.NoError(t, err)
	w := spec.World{Nodes: 4, GPUsPerNode: 8, GPUsPerProcess: 1}
	rate := func(nics int, g fabric.Group) float64 {
		few := *f
		few.Node.NICs = nics
		m, err := few.Resolve(w, fabric.Conditions{Strides: []int{4, 8}})
		require.NoError(t, err)
		return m.Curves[g]["all_reduce"].B
	}
	one, two := fabric.Group{First: 3, Ranks: 4, Stride: 8}, fabric.Group{First: 3, Ranks: 8, Stride: 4}
	require.InEpsilon(t, rate(8, one)/4, rate(2, one), 1e-9, "eight groups on two NICs: a quarter of one each")
	require.InEpsilon(t, 2*rate(2, one), rate(2, two), 1e-9, "four groups: half of one each")
	require.InEpsilon(t, 1, rate(16, one)/rate(8, one), 1e-9)
}
