package topo

import (
	"fmt"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// cpx is packages of four partitions after the facts of the recorded MI308X: one unique_id
// and one address but for the function, the second package in another PCI domain. Links
// within a package are of xGMI's type with 819200 MB/s, links between packages with 0.
func cpx(packages int) tree {
	t := tree{fstest.MapFS{}}
	t.put("topology/nodes/0/properties", "cpu_cores_count 112\nsimd_count 0\n")
	for p := range packages {
		for i := range 4 {
			id := 1 + p*4 + i
			t.put(fmt.Sprintf("topology/nodes/%d/properties", id), "simd_count 80\nsimd_per_cu 4\ngfx_target_version 90402\ndevice_id 29858\nlocation_id %d\ndomain %d\nhive_id 2095653680343411291\nunique_id %d\nnum_xcc 1\n", 0x0a00+p*0x7600|i, p%2, 598046273873802902+p)
			for to := 1; to <= packages*4; to++ {
				kind, bandwidth := 11, 0
				switch {
				case to == id:
					continue
				case (to-1)/4 == p:
					bandwidth = 819200
				case packages > 2 && (to-1)/4+p == 1: // the first two have PCIe alone
					kind = 2
				}
				t.put(fmt.Sprintf("topology/nodes/%d/io_links/%d/properties", id, to), "type %d\nnode_from %d\nnode_to %d\nweight 13\nmax_bandwidth %d\n", kind, id, to, bandwidth)
			}
		}
	}
	return t
}

func TestPartitions(t *testing.T) {
	n := cpx(2).read(t, Inputs{})
	require.Equal(t, []string{"0000:0a:00.0", "0001:80:00.0"}, addresses(n))
	require.Equal(t, []Link{{A: "0000:0a:00.0", B: "0001:80:00.0", Weight: 13}}, n.Links, "no speed is made of a bandwidth of 0, nor of that within a package")
	for i, g := range n.GPUs {
		require.Equal(t, 4, g.Partitions)
		require.Equal(t, "CPX", g.Compute)
		require.Equal(t, 80, g.CUs)
		require.Equal(t, []int{1 + 4*i, 2 + 4*i, 3 + 4*i, 4 + 4*i}, g.Nodes)
	}
	require.Empty(t, n.Findings)
	four := cpx(4).read(t, Inputs{})
	require.Len(t, four.Links, 5)
	require.Equal(t, []string{"xgmi_link_missing"}, codes(four, Bad), "a PCIe link is none of xGMI")
}

// Where KFD states a speed, as of older boards, it is bytes per second of MB/s.
func TestLinkSpeed(t *testing.T) {
	made := cpx(2)
	for _, pair := range [][2]int{{1, 5}, {5, 1}} {
		made.put(fmt.Sprintf("topology/nodes/%d/io_links/%d/properties", pair[0], pair[1]), "type 11\nnode_from %d\nnode_to %d\nmax_bandwidth 50000\n", pair[0], pair[1])
	}
	require.Equal(t, 50e9, *made.read(t, Inputs{}).Links[0].Bandwidth)
}

// The modes that follow from the dies of each partition.
func TestComputeModes(t *testing.T) {
	for _, one := range []struct {
		dies       uint64
		partitions int
		want       string
	}{{8, 1, "SPX"}, {4, 2, "DPX"}, {2, 3, "TPX"}, {2, 4, "QPX"}, {1, 8, "CPX"}, {1, 1, ""}, {0, 1, ""}, {0, 8, ""}, {2, 5, ""}} {
		nodes := make([]kfdNode, one.partitions)
		nodes[0].props = map[string]uint64{"num_xcc": one.dies}
		require.Equal(t, one.want, computeMode(nodes), one)
	}
}

// In a container with one partition of a package the others are outside the cgroup; the
// package is still that of function 0, if PCI has no such function.
func TestOnePartitionOfAPackage(t *testing.T) {
	made := tree{fstest.MapFS{}}
	made.put("sys/class/kfd/kfd/topology/nodes/3/properties", "simd_count 80\nlocation_id %d\nunique_id 7\nnum_xcc 1\n", 0x0a03)
	made.device("sys/devices/pci0000:08/0000:0a:00.0/", 0x120000, 0x1002, 0x74a2, 0, "amdgpu")
	n := made.read(t, Inputs{})
	require.Equal(t, []string{"0000:0a:00.0"}, addresses(n))
	require.Empty(t, codes(n, Bad))
	made.device("sys/devices/pci0000:08/0000:0a:00.3/", 0x120000, 0x1002, 0x74b6, 0, "amdgpu")
	made.put("sys/devices/pci0000:08/0000:0a:00.3/physfn/class", "0x120000\n")
	require.Equal(t, []string{"0000:0a:00.3"}, addresses(made.read(t, Inputs{})), "a virtual function has its own address")
}

// A virtual function of a card of nicctl is told by its address, and shares the card's port.
func TestVirtualFunctionOfACard(t *testing.T) {
	all := append(slices.Clone(outputSeeds[:3]), Output{"rdma link", []byte("link rocep9s0/1 state ACTIVE physical_state LINK_UP netdev eth0\nlink ionic_1/1 state ACTIVE physical_state LINK_UP netdev eth0v0\n")},
		Output{"pci_slot_rocep9s0.txt", []byte("PCI_SLOT_NAME=0000:09:00.0")}, Output{"pci_slot_ionic_1.txt", []byte("PCI_SLOT_NAME=0000:09:00.1")})
	n, err := Read(fstest.MapFS{}, Inputs{Outputs: all})
	require.NoError(t, err)
	require.Equal(t, []bool{false, true}, []bool{n.NICs[0].Virtual, n.NICs[1].Virtual})
	require.Equal(t, "ionic", n.NICs[1].Driver)
	require.Equal(t, n.NICs[0].Rated, n.NICs[1].Rated)
	require.Equal(t, []string{"nic_rate"}, codes(n, Bad), "the port is blamed once")
}

// A recording of a node outside the cgroup has empty files where KFD answered EPERM.
func TestRecordedEPERM(t *testing.T) {
	made := healthy()
	made.put("sys/class/kfd/kfd/topology/nodes/6/properties", "")
	n := made.read(t, Inputs{})
	require.Len(t, n.GPUs, gpus-1)
	require.Empty(t, codes(n, Bad))
	require.Contains(t, codes(n, Note), "outside_cgroup")
}

// Slurm's address is one path for the node: it is told as a hypothesis, and no NIC gets a
// leaf of it.
func TestSlurmAddressIsAHypothesis(t *testing.T) {
	n := healthy().read(t, Inputs{Environ: []string{"SLURM_TOPOLOGY_ADDR=spine1.leaf7.node3"}})
	for _, c := range n.NICs {
		require.Empty(t, c.Leaf)
	}
	why := ""
	for _, u := range n.NotChecked {
		if u.What == "leaf switches" {
			why = u.Why
		}
	}
	require.Contains(t, why, "SLURM_TOPOLOGY_ADDR=spine1.leaf7.node3 is one path for the whole node, a hypothesis")
}

// Of the environment only variables of RCCL, HIP and the fabric are kept.
func TestEnvironmentIsAnAllowList(t *testing.T) {
	n := healthy().read(t, Inputs{Environ: []string{"NCCL_IB_HCA=ionic", "AWS_SECRET_ACCESS_KEY=x", "ZBENCH_TOKEN=y", "HOME=/h", "HIPSTER=1", "HSA_NO_SCRATCH_RECLAIM=1"}})
	var names []string
	for _, f := range n.Stack {
		if len(f.Name) > 4 && f.Name[:4] == "env " {
			names = append(names, f.Name[4:])
		}
	}
	require.Equal(t, []string{"HSA_NO_SCRATCH_RECLAIM", "NCCL_IB_HCA"}, names)
}
