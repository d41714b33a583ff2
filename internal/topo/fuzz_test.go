package topo

import (
	"encoding/json"
	"io/fs"
	"maps"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
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

func FuzzXML(f *testing.F) {
	made := healthy()
	f.Add(made.xml(nicName))
	f.Add([]byte(`<system><cpu numaid="-1"><gpu/><pci busid="0:0.0"><gpu><xgmi target="0:0.0"/></gpu><nic><net speed="NaN"/></nic></pci></cpu></system>`))
	f.Add([]byte(`<system><pci busid="ffffffff:ff:1f.7"></pci></pci></cpu></system>`))
	f.Add([]byte(`<net speed="-1"/>`))
	f.Add([]byte(`<system><pci busid="0:0.0"><pci busid="1:0.0"><cpu/></pci></pci></system>`))
	small := fstest.MapFS{}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, tree := range []fstest.MapFS{small, fewer.MapFS} {
			if n, err := Read(tree, Inputs{XML: text}); err == nil {
				shown(t, n)
			}
		}
	})
}

// fewer is a node of little, so that fuzzing is fast.
var fewer = func() tree {
	t := tree{fstest.MapFS{}}
	t.put("sys/class/kfd/kfd/topology/nodes/0/properties", "cpu_cores_count 4\n")
	t.put("sys/class/kfd/kfd/topology/nodes/1/properties", "simd_count 8\nlocation_id 2304\nhive_id 1\n")
	t.device("sys/devices/pci0000:05/0000:09:00.0/", 0x120000, 0x1002, 0x74a1, 0, "amdgpu")
	return t
}()

func FuzzOutputs(f *testing.F) {
	for _, text := range outputSeeds {
		f.Add(text.Name, text.Text)
	}
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		n, err := Read(fewer, Inputs{Outputs: []Output{{"rdma link", []byte("link a/1 state ACTIVE physical_state LINK_UP netdev e\n")}, {name, text}}})
		require.NoError(t, err)
		shown(t, n)
	})
}

func FuzzTree(f *testing.F) {
	f.Add("sys/class/kfd/kfd/topology/nodes/2/properties", "simd_count 18446744073709551615\nsimd_per_cu 1\nlocation_id 99999999999\nnum_xcc 3\n")
	f.Add("sys/class/kfd/kfd/topology/nodes/1/io_links/0/properties", "type 11\nnode_from 1\nnode_to 4294967297\nmax_bandwidth 18446744073709551615\n")
	f.Add("sys/class/infiniband/x/ports/1/rate", "inf Gb/sec")
	f.Add("sys/class/infiniband/x/ports/1/gids/-1", "1::")
	f.Add("sys/class/infiniband/x/ports/1/gid_attrs/ndevs/0", "../..")
	f.Add("sys/devices/pci0000:05/0000:09:00.0/current_link_width", "255")
	f.Add("sys/devices/pci0000:05/0000:09:00.0/ras/umc_err_count", "ue: -1\nce: 99999999999999999999\n")
	f.Fuzz(func(t *testing.T, name, text string) {
		if !fs.ValidPath(name) {
			t.Skip()
		}
		made := maps.Clone(fewer.MapFS)
		made[name] = &fstest.MapFile{Data: []byte(text)}
		made["sys/class/infiniband/x/ports/1/gids/0"] = &fstest.MapFile{Data: []byte("fe80::1")}
		n, err := Read(made, Inputs{})
		require.NoError(t, err)
		shown(t, n)
	})
}

func FuzzAddress(f *testing.F) {
	for _, seed := range []string{"0000:0c:00.0", "0c:00.0", "10000:e1:00.0", "0:0:0.8", "+1:00:00.0", ":::.", "0000:0c:20.0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if a, ok := ParseAddress(text); ok {
			again, ok := ParseAddress(a.String())
			require.True(t, ok)
			require.Equal(t, a, again)
			require.Equal(t, a, located(uint64(a.Domain), uint64(a.Bus)<<8|uint64(a.Device)<<3|uint64(a.Function)))
		}
	})
}
