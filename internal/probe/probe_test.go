package probe_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/fleet/nodescreen"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/internal/native"
	"zbench/internal/probe"
)

// node is one simulated node with faults.
func node(t testing.TB, gpus int, faults ...string) probe.Config {
	t.Helper()
	f, err := fabric.ByName(fabric.Default)
	require.NoError(t, err)
	m, err := f.Resolve(spec.World{Nodes: 1, GPUsPerNode: gpus, GPUsPerProcess: gpus}, fabric.Conditions{Seed: 5, Faults: faults, Pairs: true})
	require.NoError(t, err)
	return probe.Simulated(*m)
}

func TestDevices(t *testing.T) {
	gpus, facts, err := probe.Devices(node(t, 7).Native)
	require.NoError(t, err)
	require.Len(t, gpus, 7)
	require.Equal(t, "MI300X", gpus[6].Name)
	require.NotEmpty(t, facts)
	_, _, err = probe.Devices(native.Choice{Backend: "loopback", Machine: []byte("x")})
	require.ErrorContains(t, err, "machine file")
}

// The model's rate is what is measured; a GPU whose memory has lost 15 % shows it, and the
// other seven do not.
func TestMemoryShowsTheSlowGPU(t *testing.T) {
	ctx := context.Background()
	for _, left := range []float64{1, 0.85} {
		c := node(t, 8, "noise:sigma=0.02", fmt.Sprintf("slow_hbm:node=0,gpu=5,left=%g", left))
		gpus, _, err := probe.Devices(c.Native)
		require.NoError(t, err)
		for i, g := range probe.Memory(ctx, c, gpus) {
			want := 4.11e12
			if i == 5 {
				want *= left
			}
			require.Empty(t, g.Memory.Error)
			require.InEpsilon(t, want, *g.Memory.Rate, 0.02, "GPU %d", i)
			require.Equal(t, probe.Samples, g.Memory.Samples)
			require.Equal(t, "copy 64 KiB", g.Memory.What)
		}
	}
}

// The product fills the units and its result is checked; a GPU whose units have lost 15 % shows it.
func TestProductsShowTheSlowGPU(t *testing.T) {
	ctx := context.Background()
	for _, left := range []float64{1, 0.85} {
		c := node(t, 4, fmt.Sprintf("slow_compute:node=0,gpu=2,left=%g", left))
		gpus, _, err := probe.Devices(c.Native)
		require.NoError(t, err)
		require.Empty(t, probe.Products(ctx, c, gpus))
		for i, g := range gpus {
			want := 698e12
			if i == 2 {
				want *= left
			}
			require.Empty(t, g.Product.Error)
			require.InEpsilon(t, want, *g.Product.Rate, 0.01, "GPU %d", i)
			require.Equal(t, probe.Samples, g.Product.Samples)
			require.Equal(t, "bfloat16 9728x8192x8256/TN", g.Product.What)
		}
	}
	c := node(t, 4)
	c.Native.Machine = append(c.Native.Machine, "fault store 2 31\n"...)
	gpus, _, err := probe.Devices(c.Native)
	require.NoError(t, err)
	require.Empty(t, probe.Products(ctx, c, gpus))
	require.Contains(t, gpus[2].Product.Error, "row 0, column 15")
	require.Empty(t, gpus[1].Product.Error)
}

// A copy that is wrong on one GPU is that GPU's failure; the others are measured.
func TestMemoryThatIsWrong(t *testing.T) {
	c := node(t, 4)
	c.Native.Machine = append(c.Native.Machine, "fault store 2 4096\n"...)
	gpus, _, err := probe.Devices(c.Native)
	require.NoError(t, err)
	for i, g := range probe.Memory(context.Background(), c, gpus) {
		if i == 2 {
			require.Contains(t, g.Memory.Error, "wrong")
			require.Nil(t, g.Memory.Rate)
			continue
		}
		require.Empty(t, g.Memory.Error)
		require.NotNil(t, g.Memory.Rate)
	}
}

func TestCollectiveOfANode(t *testing.T) {
	ctx := context.Background()
	healthy := probe.Collective(ctx, node(t, 8), 8, "")
	require.Empty(t, healthy.Error)
	require.Equal(t, "all_reduce 1 MiB, 8 GPUs", healthy.What)
	require.GreaterOrEqual(t, healthy.Samples, probe.Samples)
	slow := probe.Collective(ctx, node(t, 8, "slow_link:node=0,a=1,b=2,left=0.2"), 8, "")
	require.Less(t, *slow.Rate, 0.8**healthy.Rate)
	require.Contains(t, probe.Collective(ctx, node(t, 8, "hang:node=0,gpu=5,bytes=1,launch=7"), 8, "").Error, "not finished at the deadline")
	require.Contains(t, probe.Collective(ctx, node(t, 8, "stale_buffer:node=0,gpu=5"), 8, "").Error, "wrong")
	require.Contains(t, probe.Collective(ctx, node(t, 7), 8, "").Error, "8 GPUs requested, 7 visible")
}

func TestFactsOfATree(t *testing.T) {
	tree := fstest.MapFS{}
	put := func(name, text string) { tree[name] = &fstest.MapFile{Data: []byte(text)} }
	for i := range 2 {
		at := fmt.Sprintf("sys/class/infiniband/ionic_%d/ports/1/", i)
		put(at+"state", "4: ACTIVE\n")
		put(at+"rate", "400 Gb/sec (8X NDR)\n")
		put(at+"link_layer", "Ethernet\n")
	}
	put("sys/class/infiniband/ionic_1/ports/1/state", "1: DOWN\n")
	put("sys/module/amdgpu/version", "6.12.12\n")
	n := &nodescreen.Node{Host: "a"}
	_, err := probe.Facts(tree, n, nil)
	require.NoError(t, err)
	require.Len(t, n.NICs, 2)
	require.Equal(t, "ACTIVE", n.NICs[0].State)
	require.Equal(t, 50e9, *n.NICs[0].Negotiated)
	require.Equal(t, "DOWN", n.NICs[1].State)
	require.Contains(t, n.Facts, nodescreen.Fact{Name: "amdgpu", Value: "6.12.12"})
	require.Nil(t, n.Packages, "no topology was read")
}

// A screen of nodes with Pollara NICs notes that it cannot see wrong data in the first message of a connection.
func TestFactsNoteTheCorruption(t *testing.T) {
	tree := fstest.MapFS{
		"opt/rocm/.info/version":                     {Data: []byte("7.14.0\n")},
		"sys/class/infiniband/ionic_0/ports/1/state": {Data: []byte("4: ACTIVE\n")},
		"sys/class/infiniband/ionic_0/device/uevent": {Data: []byte("DRIVER=ionic\n")},
	}
	for disable, notes := range map[string]int{"1": 1, "0": 0} {
		n := &nodescreen.Node{Host: "a"}
		_, err := probe.Facts(tree, n, []string{"NCCL_GDR_FLUSH_DISABLE=" + disable})
		require.NoError(t, err)
		require.Len(t, n.Notes, notes, disable)
		require.Empty(t, n.Faults, "a note fails no node")
		if notes > 0 {
			d := nodescreen.Judge(nodescreen.Fleet{Nodes: []*nodescreen.Node{n}})
			require.Contains(t, d.Verdict(), "NOT CHECKED: ")
			require.Contains(t, d.Verdict(), "data in the first message of a connection")
			require.Contains(t, strings.Join(d.Unchecked, "\n"), "Pollara NICs")
		}
	}
}
