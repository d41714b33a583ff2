package topo

import (
	"encoding/json"
	"maps"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"zbench/test/mutate"
)

// shown is a node as JSON; whatever was read, it can be written, and every text of it.
func shown(t *testing.T, n *Node) {
	t.Helper()
	text, err := json.Marshal(n)
	require.NoError(t, err)
	require.True(t, utf8.Valid(text))
	require.NotEmpty(t, n.Verdict)
	for _, g := range n.GPUs {
		a, ok := ParseAddress(g.PCI)
		require.True(t, ok)
		require.Equal(t, g.PCI, a.String())
		require.GreaterOrEqual(t, g.CUs, 0)
	}
	for _, f := range n.Findings {
		require.NotEmpty(t, f.Subject)
		require.True(t, f.Mark == Note || f.Hint != "", f.Code)
	}
}

// fewer is a node of little, so that fuzzing is fast.
var fewer = func() tree {
	t := tree{fstest.MapFS{}}
	t.put("sys/class/kfd/kfd/topology/nodes/0/properties", "cpu_cores_count 4\n")
	t.put("sys/class/kfd/kfd/topology/nodes/1/properties", "simd_count 8\nlocation_id 2304\nhive_id 1\n")
	t.device("sys/devices/pci0000:05/0000:09:00.0/", 0x120000, 0x1002, 0x74a1, 0, "amdgpu")
	return t
}()

// A program of the vendor may print anything.
func TestChangedOutputs(t *testing.T) {
	for _, seed := range outputSeeds {
		mutate.Each(t, 1, 60, []string{string(seed.Text)}, func(t *testing.T, text string) {
			n, err := Read(fewer, Inputs{Outputs: []Output{{"rdma link", []byte("link a/1 state ACTIVE physical_state LINK_UP netdev e\n")}, {seed.Name, []byte(text)}}})
			require.NoError(t, err)
			shown(t, n)
		})
	}
}

// The kernel may say anything in its files.
func TestChangedTrees(t *testing.T) {
	for _, file := range [][2]string{
		{"sys/class/kfd/kfd/topology/nodes/2/properties", "simd_count 18446744073709551615\nsimd_per_cu 1\nlocation_id 99999999999\nnum_xcc 3\n"},
		{"sys/class/kfd/kfd/topology/nodes/1/io_links/0/properties", "type 11\nnode_from 1\nnode_to 4294967297\nmax_bandwidth 18446744073709551615\n"},
		{"sys/class/infiniband/x/ports/1/rate", "inf Gb/sec"},
		{"sys/class/infiniband/x/ports/1/gids/-1", "1::"},
		{"sys/class/infiniband/x/ports/1/gid_attrs/ndevs/0", "../.."},
		{"sys/devices/pci0000:05/0000:09:00.0/current_link_width", "255"},
		{"sys/devices/pci0000:05/0000:09:00.0/ras/umc_err_count", "ue: -1\nce: 99999999999999999999\n"},
	} {
		mutate.Each(t, 1, 60, []string{file[1]}, func(t *testing.T, text string) {
			made := maps.Clone(fewer.MapFS)
			made[file[0]] = &fstest.MapFile{Data: []byte(text)}
			made["sys/class/infiniband/x/ports/1/gids/0"] = &fstest.MapFile{Data: []byte("fe80::1")}
			n, err := Read(made, Inputs{})
			require.NoError(t, err)
			shown(t, n)
		})
	}
}
