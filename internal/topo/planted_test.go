package topo

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// planted faults: each is the one finding of its mark, and names its component. The node
// without it has none (TestHealthyNode).
var planted = []struct {
	name    string
	plant   func(tree)
	mark    Mark
	code    string
	subject string
}{
	{"a package left KFD, and its number", func(t tree) {
		t.drop("sys/class/kfd/kfd/topology/nodes/5/")
		t.drop(gpuFolder(3))
	}, Bad, "kfd_node_missing", "node"},
	{"a partition of CPX lacks a file", func(t tree) {
		t.put("sys/class/kfd/kfd/topology/nodes/10/properties", "simd_count 1216\nsimd_per_cu 4\nlocation_id %d\nhive_id 15188982192727901047\nunique_id %d\nnum_xcc 8\n", (bus(7)+3)<<8|1, uint64(16404946649897475633)+7)
	}, Bad, "partitions_differ", gpuAt(7)},
	{"garbage in KFD", func(t tree) { t.put("sys/class/kfd/kfd/topology/nodes/44/properties", "\x00\xff{}") }, Bad, "kfd_unreadable", "node"},
	{"a link of xGMI", func(t tree) {
		t.drop("sys/class/kfd/kfd/topology/nodes/4/io_links/7/")
		t.drop("sys/class/kfd/kfd/topology/nodes/7/io_links/4/")
	}, Bad, "xgmi_link_missing", gpuAt(2) + " – " + gpuAt(5)},
	{"fewer PCIe lanes", func(t tree) { t.put(gpuFolder(4)+"current_link_width", "8\n") }, Bad, "pcie_width", gpuAt(4)},
	{"slower PCIe", func(t tree) { t.put(nicFolder(4)+"current_link_speed", "16.0 GT/s PCIe\n") }, Doubt, "pcie_speed", nicName(4)},
	{"ECC", func(t tree) { t.put(gpuFolder(1)+"ras/umc_err_count", "ue: 2\nce: 0\n") }, Bad, "uncorrected_errors", gpuAt(1)},
	{"xGMI errors", func(t tree) { t.put(gpuFolder(1)+"ras/xgmi_wafl_err_count", "ue: 0\nce: 7\n") }, Doubt, "corrected_errors", gpuAt(1)},
	{"AER", func(t tree) { t.put(nicFolder(2)+"aer_dev_fatal", "DLP 3\nTOTAL_ERR_FATAL 3\n") }, Bad, "uncorrected_errors", nicName(2)},
	{"AER that is not fatal", func(t tree) { t.put(nicFolder(2)+"aer_dev_nonfatal", "UnsupReq 1\nTOTAL_ERR_NONFATAL 1\n") }, Doubt, "pcie_nonfatal", nicName(2)},
	{"a port down", func(t tree) { t.put("sys/class/infiniband/"+nicName(0)+"/ports/1/state", "1: DOWN\n") }, Bad, "port_down", nicName(0)},
	{"a slow port", func(t tree) {
		t.put("sys/class/infiniband/"+nicName(5)+"/ports/1/rate", "100 Gb/sec (4X EDR)\n")
	}, Bad, "nic_rates_differ", nicName(5)},
	{"lost links", func(t tree) { t.put("sys/class/net/eth6/carrier_down_count", "11\n") }, Doubt, "link_downs", nicName(6)},
	{"no address for RoCE v2", func(t tree) {
		for i := range 2 {
			t.put("sys/class/infiniband/"+nicName(1)+fmt.Sprintf("/ports/1/gid_attrs/types/%d", i), "IB/RoCE v1\n")
		}
	}, Bad, "no_roce_v2", nicName(1)},
	{"other firmware", func(t tree) { t.put("sys/class/infiniband/"+nicName(1)+"/fw_ver", "1.110.0-a-1\n") }, Doubt, "firmware_differs", nicName(1)},
	{"a NIC gone", func(t tree) {
		t.drop("sys/class/infiniband/" + nicName(3) + "/")
		t.drop(nicFolder(3))
	}, Doubt, "no_rail", gpuAt(3)},
	{"a NIC behind another switch", func(t tree) {
		t.drop(nicFolder(3))
		t.device(bridge(2)+fmt.Sprintf("0000:%02x:02.0/", bus(2)+2)+nicAt(3)+"/", 0x020000, 0x1dd8, 0x1002, 0, "ionic")
	}, Doubt, "no_rail", gpuAt(3)},
	{"RoCE packets wanted too large", func(t tree) { t.put("sys/class/net/eth2/mtu", "1500\n") }, Bad, "mtus_differ", nicName(2)},
	{"rails on the other socket", func(t tree) { t.put(nicFolder(2)+"numa_node", "1\n") }, Doubt, "rail_numa", gpuAt(2)},
	{"one unique_id twice", func(t tree) {
		t.put("sys/class/kfd/kfd/topology/nodes/3/properties", "simd_count 1216\nlocation_id %d\nhive_id 15188982192727901047\nunique_id %d\nnum_xcc 8\n", (bus(1)+3)<<8, uint64(16404946649897475633))
	}, Bad, "unique_id_twice", gpuAt(1)},
}

func TestPlantedFaults(t *testing.T) {
	for _, p := range planted {
		t.Run(p.name, func(t *testing.T) {
			made := healthy()
			p.plant(made)
			n := made.read(t, Inputs{})
			var found *Remark
			for i, f := range n.Findings {
				if f.Code == p.code {
					found = &n.Findings[i]
				}
			}
			require.NotNil(t, found, "%+v", n.Findings)
			require.Equal(t, p.mark, found.Mark)
			require.Equal(t, p.subject, found.Subject)
			require.NotEmpty(t, found.Hint)
			require.Contains(t, n.Verdict, n.Findings[0].Message)
			for _, f := range n.Findings { // nothing else is blamed
				if f.Mark == Bad && p.mark == Bad && p.code != "kfd_node_missing" {
					require.Equal(t, p.code, f.Code, f.Message)
				}
				if f.Mark == Bad {
					require.Equal(t, Bad, p.mark, f.Message)
				}
			}
		})
	}
}

// A GPU that the driver lost is on the bus and not in KFD; a hive of seven is no board.
func TestMissingGPU(t *testing.T) {
	made := healthy()
	made.drop("sys/class/kfd/kfd/topology/nodes/9/")
	for i := range gpus {
		made.drop(fmt.Sprintf("sys/class/kfd/kfd/topology/nodes/%d/io_links/9/", i+2))
	}
	n := made.read(t, Inputs{XML: made.xml(nicName)})
	require.Equal(t, []string{"gpu_missing", "hive_incomplete", "xml_gpu_missing"}, codes(n, Bad))
	require.Equal(t, gpuAt(7), n.Findings[0].Subject)
	require.Equal(t, gpuAt(7), n.Findings[2].Subject)
}

// EPERM is a GPU outside the cgroup: listed as not checked, never as missing.
func TestOutsideCgroup(t *testing.T) {
	made := healthy()
	n, err := Read(denied{index(made.MapFS), []string{"sys/class/kfd/kfd/topology/nodes/6", "sys/class/kfd/kfd/topology/nodes/7", "sys/class/kfd/kfd/topology/nodes/8", "sys/class/kfd/kfd/topology/nodes/9"}}, Inputs{XML: made.xml(nicName)})
	require.NoError(t, err)
	require.Len(t, n.GPUs, 4)
	require.Empty(t, codes(n, Bad))
	require.Empty(t, codes(n, Doubt))
	require.Contains(t, codes(n, Note), "outside_cgroup")
	require.Equal(t, "GPUs outside the cgroup", n.NotChecked[0].What)
}

// RCCL's XML of another time: NICs that changed places are crossed rails.
func TestCrossedRails(t *testing.T) {
	made := healthy()
	crossed := func(i int) string { return nicName(map[int]int{2: 3, 3: 2, 0: 0, 1: 1, 4: 4, 5: 5, 6: 6, 7: 7}[i]) }
	n := made.read(t, Inputs{XML: made.xml(crossed)})
	require.Equal(t, []string{"xml_nic_moved", "xml_nic_moved", "xml_rail", "xml_rail"}, codes(n, Bad))
	require.Contains(t, n.Findings[2].Message, "the rail of GPU "+gpuAt(2)+" is "+nicName(2)+" by PCI in sysfs and "+nicName(3)+" in RCCL's XML")
	// Of RCCL alone: the rail is what shares the switch, whatever its index.
	alone, err := Read(tree{}.MapFS, Inputs{XML: made.xml(crossed)})
	require.NoError(t, err)
	require.Equal(t, nicName(3), alone.GPUs[2].Rail.String())
	require.Equal(t, nicName(2), alone.GPUs[3].Rail.String())
}

func TestXMLDisagrees(t *testing.T) {
	for _, one := range []struct {
		code  string
		plant func(tree)
	}{
		{"xml_nic_rate", func(t tree) {
			for i := range gpus {
				t.put("sys/class/infiniband/"+nicName(i)+"/ports/1/rate", "200 Gb/sec (4X HDR)\n")
			}
		}},
		{"xml_numa", func(t tree) {
			t.put(gpuFolder(2)+"numa_node", "1\n")
			t.put(nicFolder(2)+"numa_node", "1\n")
		}},
		{"xml_nic_missing", func(t tree) { t.drop("sys/class/infiniband/" + nicName(3) + "/") }},
		{"xml_pcie", func(t tree) {
			t.put(gpuFolder(1)+"current_link_width", "8\n")
			t.put(gpuFolder(1)+"max_link_width", "8\n")
		}},
		{"xml_xgmi", func(t tree) {
			t.drop("sys/class/kfd/kfd/topology/nodes/4/io_links/7/")
			t.drop("sys/class/kfd/kfd/topology/nodes/7/io_links/4/")
		}},
	} {
		made := healthy()
		one.plant(made)
		require.Contains(t, codes(made.read(t, Inputs{XML: made.xml(nicName)}), Bad), one.code)
		require.NotContains(t, codes(made.read(t, Inputs{}), Bad), one.code)
	}
	other := healthy()
	text := strings.NewReplacer(":09:00.0", ":19:00.0", ":29:00.0", ":39:00.0").Replace(string(other.xml(nicName)))
	require.Contains(t, codes(other.read(t, Inputs{XML: []byte(text)}), Bad), "xml_gpu_missing", "another GPU")
	for i := range gpus {
		other.put(fmt.Sprintf("sys/class/kfd/kfd/topology/nodes/%d/properties", i+2), "simd_count 1216\nlocation_id %d\nunique_id %d\n", (bus(i)+9)<<8, i+1)
	}
	require.Contains(t, codes(other.read(t, Inputs{XML: other.xml(nicName)}), Bad), "xml_other_node")
}

// Two GPUs and two NICs below one switch: PCI does not decide, and says so. With one NIC
// they share it.
func TestSharedSwitch(t *testing.T) {
	made := healthy()
	moved := bridge(2) + fmt.Sprintf("0000:%02x:03.0/", bus(2)+2)
	made.drop(gpuFolder(3))
	made.drop(nicFolder(3))
	made.device(moved+gpuAt(3)+"/", 0x120000, 0x1002, 0x74a1, 0, "amdgpu")
	made.device(moved+nicAt(3)+"/", 0x020000, 0x1dd8, 0x1002, 0, "ionic")
	n := made.read(t, Inputs{})
	require.Equal(t, nicName(3), n.GPUs[3].Rail.String(), "two links away, the other four")
	require.Equal(t, 2, n.GPUs[3].Rail.Hops)
	require.Empty(t, codes(n, Doubt))

	made.drop(moved + nicAt(3))
	made.drop("sys/class/infiniband/" + nicName(3) + "/")
	n = made.read(t, Inputs{})
	require.Equal(t, []string{"rail_shared"}, codes(n, Doubt))

	made.nic(3)
	made.drop(nicFolder(3))
	made.device(bridge(2)+fmt.Sprintf("0000:%02x:04.0/", bus(2)+2)+nicAt(3)+"/", 0x020000, 0x1dd8, 0x1002, 0, "ionic")
	n = made.read(t, Inputs{})
	require.Equal(t, nicName(2)+" or "+nicName(3), n.GPUs[2].Rail.String())
	require.Contains(t, codes(n, Note), "rail_ambiguous")
	require.Empty(t, codes(n, Doubt))
}

// A virtual function is no rail beside its card, and is one where it is alone, as in a guest.
func TestVirtualFunction(t *testing.T) {
	made := healthy()
	virtual := bridge(0) + fmt.Sprintf("0000:%02x:01.0/", bus(0)+2) + nicAt(0)[:11] + "1/"
	made.device(virtual, 0x020000, 0x1dd8, 0x1003, 0, "ionic")
	made.put(virtual+"physfn/class", "0x020000\n")
	made.put("sys/class/infiniband/ionic_9/device/uevent", "PCI_SLOT_NAME=%s\n", nicAt(0)[:11]+"1")
	n := made.read(t, Inputs{})
	require.Equal(t, nicName(0), n.GPUs[0].Rail.String())
	require.True(t, n.NICs[1].Virtual)
	made.drop("sys/class/infiniband/" + nicName(0) + "/")
	require.Equal(t, "ionic_9", made.read(t, Inputs{}).GPUs[0].Rail.String())
}

// RCCL's XML on a machine without a GPU is of another node: its own bus and NICs do not
// mix with those of the XML.
func TestXMLElsewhere(t *testing.T) {
	desk := tree{fstest.MapFS{}}
	desk.device("sys/devices/pci0000:00/0000:00:02.0/", 0x020000, 0x15b3, 0x1021, 0, "mlx5_core")
	desk.put("sys/class/infiniband/mlx5_0/device/uevent", "PCI_SLOT_NAME=0000:00:02.0\n")
	n := desk.read(t, Inputs{XML: healthy().xml(nicName)})
	require.True(t, n.OnlyXML())
	require.Len(t, n.GPUs, gpus)
	require.Len(t, n.NICs, gpus)
	for i, g := range n.GPUs {
		require.Equal(t, &Rail{NICs: []string{nicName(i)}, Path: PathSwitch, Hops: 2, By: "rccl-xml"}, g.Rail)
	}
	require.Equal(t, []string{"rccl-xml"}, n.Sources)
	require.Equal(t, "what the kernel sees", n.NotChecked[0].What)
	require.False(t, healthy().read(t, Inputs{XML: healthy().xml(nicName)}).OnlyXML())
}

// Where there is nothing, nothing is claimed.
func TestNothing(t *testing.T) {
	n := tree{fstest.MapFS{}}.read(t, Inputs{Host: "h"})
	require.True(t, n.Empty())
	require.False(t, n.Faulty())
	require.Empty(t, n.Findings)
	require.Equal(t, "no GPU and no RDMA NIC was found", n.Verdict)
	require.Len(t, n.NotChecked, 2)
	_, ok := readGIDs(fstest.MapFS{}, "x")
	require.False(t, ok)
}

func TestGIDs(t *testing.T) {
	made := healthy()
	ports := "sys/class/infiniband/" + nicName(2) + "/ports/"
	gids, ok := readGIDs(made, ports+"1")
	require.True(t, ok)
	require.Len(t, gids, 2)
	_, ok = readGIDs(made, ports+"2")
	require.False(t, ok)
}
