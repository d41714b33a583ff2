package topo

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// Switches in synthetic mode show several bridges at one address, and a NIC may have that of
// a bridge; both are in models that RCCL publishes (topo_4p4h.xml, topo_8p1h_1.xml). Each
// element is a bridge of its own: GPU and NIC of one are near, those of two are not.
func TestBridgesOfOneAddress(t *testing.T) {
	const text = `<system><cpu numaid="0"><pci busid="0000:c1:00.0" class="0x060400">
		<pci busid="0000:c5:00.0" class="0x060400"><pci busid="0000:cf:00.0" class="0x038000" vendor="0x1002" device="0x738c"><gpu dev="0" gcn="908"/></pci>
			<pci busid="0000:e0:00.0" class="0x020700"><nic><net name="near0" speed="200000"/></nic></pci></pci>
		<pci busid="0000:c5:00.0" class="0x060400"><pci busid="0000:d0:00.0" class="0x038000" vendor="0x1002" device="0x738c"><gpu dev="1" gcn="908"/></pci>
			<pci busid="0000:c5:00.0" class="0x020700"><nic><net name="near1" speed="200000"/></nic></pci></pci>
	</pci></cpu></system>`
	n, err := Read(fstest.MapFS{}, Inputs{XML: []byte(text)})
	require.NoError(t, err)
	require.Len(t, n.GPUs, 2)
	for i, g := range n.GPUs {
		require.Equal(t, &Rail{NICs: []string{fmt.Sprintf("near%d", i)}, Path: PathSwitch, Hops: 2, By: ByXML}, g.Rail)
		require.Equal(t, "gfx908", g.Arch)
		require.Equal(t, "MI100", g.Name)
	}
}

// Fewer NICs than GPUs, evenly shared, is how a node is built; a rail that more GPUs share
// than the others is a doubt (TestSharedSwitch).
func TestRailsSharedByDesign(t *testing.T) {
	made := healthy()
	for i := range gpus {
		if i%2 == 1 {
			made.drop("sys/class/infiniband/" + nicName(i) + "/")
			made.drop(nicFolder(i))
			made.drop(gpuFolder(i))
			made.device(bridge(i-1)+fmt.Sprintf("0000:%02x:03.0/", bus(i-1)+2)+gpuAt(i)+"/", 0x120000, 0x1002, 0x74a1, i/4, "amdgpu") // its modes cannot be read: no difference
		}
	}
	n := made.read(t, Inputs{})
	require.Empty(t, codes(n, Doubt))
	require.Contains(t, codes(n, Note), "rail_shared")
	require.Equal(t, nicName(4), n.GPUs[5].Rail.String())
}

// One NIC for a node of eight: the GPUs far from it are no finding each.
func TestOneNIC(t *testing.T) {
	made := healthy()
	for i := 1; i < gpus; i++ {
		made.drop("sys/class/infiniband/" + nicName(i) + "/")
		made.drop(nicFolder(i))
	}
	n := made.read(t, Inputs{})
	require.Empty(t, codes(n, Doubt))
	require.Contains(t, codes(n, Note), "no_rail")
}

// RCCL counts everything below a CPU as equally near where no switch is shared: an XML that
// names more NICs than sysfs, that of sysfs among them, contradicts nothing.
func TestXMLOfFlatPCI(t *testing.T) {
	made := healthy()
	var b strings.Builder
	b.WriteString("<system>")
	for i := range gpus {
		if i%4 == 0 {
			fmt.Fprintf(&b, `<cpu numaid="%d">`, i/4)
		}
		fmt.Fprintf(&b, `<pci busid="%s" class="0x120000"><gpu dev="%d" gcn="gfx942">`, gpuAt(i), i)
		for j := range gpus {
			fmt.Fprintf(&b, `<xgmi target="%s"/>`, gpuAt(j))
		}
		fmt.Fprintf(&b, `</gpu></pci><pci busid="%s" class="0x020000"><nic><net name="%s" speed="400000"/></nic></pci>`, nicAt(i), nicName(i))
		if i%4 == 3 {
			b.WriteString("</cpu>")
		}
	}
	n := made.read(t, Inputs{XML: []byte(b.String() + "</system>")})
	require.Empty(t, codes(n, Bad))
}

// Two packages at one PCI address cannot be: a tree that was copied together, or a driver
// in trouble.
func TestTwoPackagesAtOneAddress(t *testing.T) {
	made := healthy()
	made.put("sys/class/kfd/kfd/topology/nodes/3/properties", "simd_count 1216\nlocation_id %d\nhive_id 15188982192727901047\nunique_id 5\nnum_xcc 8\n", (bus(0)+3)<<8)
	n := made.read(t, Inputs{})
	require.Contains(t, codes(n, Bad), "address_twice")
}

// A network without a port, a GUID or GPUDirect is no RDMA NIC; a GPU without a name of an architecture of AMD's is NVIDIA's.
func TestNetworksThatAreNoRDMANICs(t *testing.T) {
	net := func(attributes string) string {
		return `<system version="1"><cpu numaid="0"><pci busid="0000:05:00.0" class="0x030200" vendor="0x10de" device="0x2e12"><gpu dev="0" sm="121" rank="0" gdr="0"/></pci>` +
			`<nic><net name="n0" dev="0" speed="10000" ` + attributes + `/></nic></cpu></system>`
	}
	for attributes, want := range map[string]string{
		`port="0" guid="0x0" gdr="0"`:    "n0",
		`port="0" guid="0x1" gdr="1"`:    "n0",
		`port="1" guid="0x0" gdr="1"`:    "n0",
		`port="1" guid="0x12" gdr="0"`:   "n0",
		`port="1" guid="0x12" gdr="1"`:   "",
		`port="1"`:                       "",
		`port="none" guid="" gdr="true"`: "",
	} {
		node, err := readXML([]byte(net(attributes)))
		require.NoError(t, err)
		require.Equal(t, "NVIDIA GPU 0x2e12", node.gpus[0].Name)
		require.Equal(t, "sm_121", node.gpus[0].Arch)
		require.Equal(t, want, strings.Join(node.sockets, ","), attributes)
		require.Len(t, node.nics, map[bool]int{true: 1}[want == ""], attributes)
	}
}
