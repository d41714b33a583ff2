package topo

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"zbench/test/project"
)

// unpacked is a recorded tree without its first folder.
func unpacked(t *testing.T, name string) fstest.MapFS {
	t.Helper()
	f, err := os.Open(filepath.Join(project.Published(t, "topology"), name))
	require.NoError(t, err)
	defer f.Close() //nolint:errcheck // it was only read
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	tree := fstest.MapFS{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return tree
		}
		require.NoError(t, err)
		if _, inner, ok := strings.Cut(h.Name, "/"); ok && h.Typeflag == tar.TypeReg {
			data, err := io.ReadAll(r)
			require.NoError(t, err)
			tree[inner] = &fstest.MapFile{Data: data}
		}
	}
}

// codes are the findings of a mark.
func codes(n *Node, m Mark) []string {
	out := []string{}
	for _, f := range n.Findings {
		if f.Mark == m {
			out = append(out, f.Code)
		}
	}
	return out
}

// An MI300X node in CPX: one unique_id and one address per package, links between
// partitions are no links between packages, and no speed is made of a bandwidth of 0. The
// recording has 63 GPU nodes: of the last package one partition is missing.
func TestDataCPX(t *testing.T) {
	n, err := Read(index(unpacked(t, "kfd-mi300x-cpx.tar.gz")), Inputs{})
	require.NoError(t, err)
	require.Len(t, n.GPUs, 8)
	partitions := 0
	for i, g := range n.GPUs {
		want := 8
		if i == 7 {
			want = 7
		}
		require.Equal(t, want, g.Partitions, g.PCI)
		require.Equal(t, "CPX", g.Compute)
		require.Equal(t, "MI300X", g.Name)
		require.Equal(t, "gfx942", g.Arch)
		require.Equal(t, want*38, g.CUs)
		require.Equal(t, i/4, *g.NUMA)
		require.Nil(t, g.Rail)
		partitions += g.Partitions
	}
	require.Equal(t, 63, partitions)
	require.Equal(t, []string{"0000:05:00.0", "0000:27:00.0", "0000:47:00.0", "0000:65:00.0", "0000:85:00.0", "0000:a7:00.0", "0000:c7:00.0", "0000:e5:00.0"}, addresses(n))
	require.Equal(t, fmt.Sprintf("%016x", uint64(15188982192727901047)), n.GPUs[0].Hive)
	require.Len(t, n.Links, 28, "8 packages, all to all")
	for _, l := range n.Links {
		require.Nil(t, l.Bandwidth)
		require.Equal(t, 41, l.Weight)
	}
	require.Equal(t, []string{"partitions_differ"}, codes(n, Bad))
	require.Contains(t, n.Findings[0].Message, "the number of partitions of GPU 0000:e5:00.0 is 7; the others have 8")
	require.Empty(t, codes(n, Doubt))
}

// An MI308X node, partitioned: half of its GPUs are in another PCI domain.
func TestDataMI308(t *testing.T) {
	n, err := Read(index(unpacked(t, "kfd-mi308.tar.gz")), Inputs{})
	require.NoError(t, err)
	require.Equal(t, []string{"0000:0a:00.0", "0000:80:00.0", "0000:a4:00.0", "0000:c8:00.0", "0001:0b:00.0", "0001:81:00.0", "0001:a5:00.0", "0001:c9:00.0"}, addresses(n))
	for i, g := range n.GPUs {
		require.Equal(t, 4, g.Partitions)
		require.Equal(t, "CPX", g.Compute)
		require.Equal(t, "MI308X", g.Name)
		require.Equal(t, 80, g.CUs)
		require.Equal(t, i/4, *g.NUMA)
	}
	require.Len(t, n.Links, 28)
	require.Empty(t, codes(n, Bad))
}

func addresses(n *Node) []string {
	var out []string
	for _, g := range n.GPUs {
		out = append(out, g.PCI)
	}
	return out
}

// RCCL's XML of 8 MI300X with a 400G NIC each: the rail shares a PCI switch, two bridges up.
func TestDataXML(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(project.Published(t, "topology"), "rccl-xml/topo_8p_940.xml"))
	require.NoError(t, err)
	n, err := Read(fstest.MapFS{}, Inputs{XML: data})
	require.NoError(t, err)
	require.Equal(t, []string{"0000:0c:00.0", "0000:15:00.0", "0000:1e:00.0", "0000:69:00.0", "0000:9f:00.0", "0000:af:00.0", "0000:bf:00.0", "0000:df:00.0"}, addresses(n))
	for i, g := range n.GPUs {
		require.Equal(t, "MI300X", g.Name)
		require.Equal(t, i/4, *g.NUMA)
		require.Equal(t, &Rail{NICs: []string{"mlx5_" + string(rune('0'+i))}, Path: PathSwitch, Hops: 4, By: "rccl-xml"}, g.Rail)
		require.Equal(t, 50e9, *n.NICs[i].Negotiated)
	}
	require.Len(t, n.Links, 28)
	require.Empty(t, n.Findings)
}

// Two Pollara cards: the rated rate, the negotiated one, and the lost links are three
// facts; the devices have unlike names, and ionic_1 is a virtual function.
func TestDataPollara(t *testing.T) {
	outputs, err := OutputsOf(os.DirFS(filepath.Join(project.Published(t, "topology"), "nic-pollara")))
	require.NoError(t, err)
	n, err := Read(fstest.MapFS{}, Inputs{Host: "h", Outputs: outputs})
	require.NoError(t, err)
	require.Len(t, n.NICs, 3)
	for i, want := range []struct {
		name, iface, pci string
		virtual          bool
	}{
		{"rocep68s0", "enp68s0", "0000:44:00.0", false},
		{"rocep132s0", "enp132s0", "0000:84:00.0", false},
		{"ionic_1", "enp132s0v0", "0000:84:00.1", true},
	} {
		c := n.NICs[i]
		require.Equal(t, want.name, c.Name)
		require.Equal(t, want.iface, c.Interface)
		require.Equal(t, want.pci, c.PCI)
		require.Equal(t, want.virtual, c.Virtual)
		require.Equal(t, "ionic", c.Driver)
		require.Equal(t, "POLLARA 1x400G QSFP112", c.Product)
		require.Equal(t, "1.117.1-a-7", c.Firmware)
		require.Equal(t, "ACTIVE", c.State)
		require.Equal(t, 400e9/8, *c.Rated)
		require.Equal(t, 100e9/8, *c.Negotiated)
		require.Equal(t, 1500, *c.MTU)
		require.Equal(t, 4096, *c.RDMAMTU)
		require.Equal(t, uint64(11), *c.LinkDowns)
	}
	require.Equal(t, []string{"nic_rate", "nic_rate"}, codes(n, Bad))
	require.Equal(t, []string{"mtu_small", "rdma_mtu", "mtu_small", "rdma_mtu", "mtu_small", "rdma_mtu", "link_downs", "link_downs"}, codes(n, Doubt))
	require.Contains(t, n.NICs[2].Counters, Counter{"req_rx_dup_response", 34})
	unknown := n.NotChecked[0]
	require.Equal(t, "5 outputs", unknown.What, "lspci and the vendor's number")
}
