package topo

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// tree is a node of eight MI300X and eight Pollara NICs, healthy, made after the facts of
// the recordings. GPU i and its NIC are below one switch of one root port; the NICs' names
// are of three kinds.
type tree struct{ fstest.MapFS }

const gpus = 8

// buses are those of the root ports; the PCI addresses are not in the order of KFD.
func bus(i int) int { return []int{0x05, 0x26, 0x46, 0x65, 0x85, 0xa6, 0xc6, 0xe5}[i] }

func gpuAt(i int) string { return fmt.Sprintf("0000:%02x:00.0", bus(i)+3) }
func nicAt(i int) string { return fmt.Sprintf("0000:%02x:00.0", bus(i)+4) }

// gpuFolder and nicFolder are where sysfs has the devices: root port, the switch's upstream
// and downstream ports, the device.
func gpuFolder(i int) string {
	return bridge(i) + fmt.Sprintf("0000:%02x:00.0/", bus(i)+2) + gpuAt(i) + "/"
}

func nicFolder(i int) string {
	return bridge(i) + fmt.Sprintf("0000:%02x:01.0/", bus(i)+2) + nicAt(i) + "/"
}

func bridge(i int) string {
	return fmt.Sprintf("sys/devices/pci0000:%02x/0000:%02x:01.1/0000:%02x:00.0/", bus(i), bus(i), bus(i)+1)
}

func nicName(i int) string {
	switch i {
	case 6:
		return "ionic_6"
	case 7:
		return "roce_frontend7"
	}
	return fmt.Sprintf("rocep%ds0", bus(i)+4)
}

func (t tree) put(name, text string, args ...any) {
	t.MapFS[name] = &fstest.MapFile{Data: []byte(fmt.Sprintf(text, args...))}
}

func healthy() tree {
	t := tree{fstest.MapFS{}}
	nodes := "sys/class/kfd/kfd/topology/nodes/"
	for i := range 2 {
		t.put(nodes+fmt.Sprintf("%d/properties", i), "cpu_cores_count 96\nsimd_count 0\n")
	}
	for i := range gpus {
		t.put(nodes+fmt.Sprintf("%d/properties", i+2), "cpu_cores_count 0\nsimd_count 1216\nsimd_per_cu 4\ngfx_target_version 90402\nvendor_id 4098\ndevice_id 29857\nlocation_id %d\ndomain 0\nhive_id 15188982192727901047\nunique_id %d\nnum_xcc 8\n", (bus(i)+3)<<8, uint64(16404946649897475633)+uint64(i))
		t.link(i+2, i/4, 2, 20, 64000)
		for j := range gpus {
			if i != j {
				t.link(i+2, j+2, 11, 15, 0)
			}
		}
		t.device(bridge(i), 0x060400, 0x1022, 0x14ab, i/4, "pcieport")
		t.device(gpuFolder(i), 0x120000, 0x1002, 0x74a1, i/4, "amdgpu")
		t.put(gpuFolder(i)+"ras/umc_err_count", "ue: 0\nce: 0\n")
		t.put(gpuFolder(i)+"ras/xgmi_wafl_err_count", "ue: 0\nce: 0\n")
		t.put(gpuFolder(i)+"current_compute_partition", "SPX\n")
		t.put(gpuFolder(i)+"current_memory_partition", "NPS1\n")
		t.nic(i)
	}
	t.put("proc/sys/kernel/osrelease", "6.8.0-planted\n")
	t.put("sys/module/amdgpu/version", "6.12.12\n")
	return t
}

func (t tree) link(from, to, kind, weight, bandwidth int) {
	t.put(fmt.Sprintf("sys/class/kfd/kfd/topology/nodes/%d/io_links/%d/properties", from, to), "type %d\nnode_from %d\nnode_to %d\nweight %d\nmin_bandwidth 0\nmax_bandwidth %d\n", kind, from, to, weight, bandwidth)
}

func (t tree) device(folder string, class, vendor, device, numa int, driver string) {
	t.put(folder+"class", "0x%06x\n", class)
	t.put(folder+"vendor", "0x%04x\n", vendor)
	t.put(folder+"device", "0x%04x\n", device)
	t.put(folder+"numa_node", "%d\n", numa)
	t.put(folder+"uevent", "DRIVER=%s\nPCI_CLASS=%X\n", driver, class)
	t.put(folder+"current_link_speed", "32.0 GT/s PCIe\n")
	t.put(folder+"max_link_speed", "32.0 GT/s PCIe\n")
	t.put(folder+"current_link_width", "16\n")
	t.put(folder+"max_link_width", "16\n")
	t.put(folder+"aer_dev_correctable", "RxErr 0\nBadTLP 0\nTOTAL_ERR_COR 0\n")
	t.put(folder+"aer_dev_fatal", "DLP 0\nTOTAL_ERR_FATAL 0\n")
}

func (t tree) nic(i int) {
	t.device(nicFolder(i), 0x020000, 0x1dd8, 0x1002, i/4, "ionic")
	ib := "sys/class/infiniband/" + nicName(i) + "/"
	t.put(ib+"device/uevent", "DRIVER=ionic\nPCI_SLOT_NAME=%s\n", nicAt(i))
	t.put(ib+"fw_ver", "1.117.1-a-7\n")
	t.put(ib+"node_guid", "0690:81ff:fe2c:4f9%x\n", i)
	t.put(ib+"ports/1/state", "4: ACTIVE\n")
	t.put(ib+"ports/1/link_layer", "Ethernet\n")
	t.put(ib+"ports/1/rate", "400 Gb/sec (4X NDR)\n")
	t.put(ib+"ports/1/gids/0", "fe80:0000:0000:0000:0690:81ff:fe2c:4f90\n")
	t.put(ib+"ports/1/gid_attrs/types/0", "RoCE v2\n")
	t.put(ib+"ports/1/gid_attrs/ndevs/0", "eth%d\n", i)
	t.put(ib+"ports/1/gids/1", "0000:0000:0000:0000:0000:ffff:0a00:000%x\n", i)
	t.put(ib+"ports/1/gid_attrs/types/1", "RoCE v2\n")
	t.put(ib+"ports/1/gid_attrs/ndevs/1", "eth%d\n", i)
	t.put(ib+"ports/1/gids/2", "0000:0000:0000:0000:0000:0000:0000:0000\n")
	t.put(ib+"ports/1/hw_counters/req_rx_pkt_seq_err", "0\n")
	t.put(fmt.Sprintf("sys/class/net/eth%d/mtu", i), "9000\n")
	t.put(fmt.Sprintf("sys/class/net/eth%d/carrier_down_count", i), "0\n")
}

func (t tree) read(tb testing.TB, in Inputs) *Node {
	tb.Helper()
	n, err := Read(index(t.MapFS), in)
	require.NoError(tb, err)
	return n
}

// drop removes a folder.
func (t tree) drop(prefix string) {
	for name := range t.MapFS {
		if strings.HasPrefix(name, prefix) {
			delete(t.MapFS, name)
		}
	}
}

// denied refuses files as KFD does outside the cgroup.
type denied struct {
	fs.FS
	prefixes []string
}

// ReadDir is that of the tree.
func (d denied) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(d.FS, name) }

// Stat is that of the tree.
func (d denied) Stat(name string) (fs.FileInfo, error) { return fs.Stat(d.FS, name) }

func (d denied) Open(name string) (fs.File, error) {
	for _, p := range d.prefixes {
		if strings.HasPrefix(name, p) && strings.HasSuffix(name, "properties") {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
		}
	}
	return d.FS.Open(name)
}

// xml is RCCL's view of the tree.
func (t tree) xml(nic func(i int) string) []byte {
	var b strings.Builder
	b.WriteString(`<system version="2">`)
	for i := range gpus {
		if i%4 == 0 {
			fmt.Fprintf(&b, `<cpu numaid="%d" arch="x86_64">`, i/4)
		}
		fmt.Fprintf(&b, `<pci busid="0000:%02x:00.0" class="0x060400"><pci busid="%s" class="0x120000" vendor="0x1002" device="0x74a1" link_speed="32.0 GT/s PCIe" link_width="16"><gpu dev="%d" gcn="gfx942:sramecc+" rank="%d" gdr="1">`, bus(i)+1, gpuAt(i), i, i)
		for j := range gpus {
			if i != j {
				fmt.Fprintf(&b, `<xgmi target="%s" count="1"/>`, gpuAt(j))
			}
		}
		fmt.Fprintf(&b, `</gpu></pci><pci busid="%s" class="0x020000" vendor="0x1dd8" device="0x1002" link_width="16"><nic><net name="%s" speed="400000" port="1"/></nic></pci></pci>`, nicAt(i), nic(i))
		if i%4 == 3 {
			b.WriteString(`</cpu>`)
		}
	}
	b.WriteString(`</system>`)
	return []byte(b.String())
}

// A healthy node has no fault and no doubt, and its rails follow the PCI parents whatever
// the NICs are called.
func TestHealthyNode(t *testing.T) {
	made := healthy()
	for _, in := range []Inputs{{}, {XML: made.xml(nicName)}} {
		n := made.read(t, in)
		require.Empty(t, n.Findings[len(codes(n, Note)):], "%+v", n.Findings)
		require.Empty(t, codes(n, Bad))
		require.Empty(t, codes(n, Doubt))
		require.Len(t, n.GPUs, gpus)
		require.Len(t, n.Links, 28)
		for i, g := range n.GPUs {
			require.Equal(t, &Rail{NICs: []string{nicName(i)}, Path: PathSwitch, Hops: 4, By: "pci"}, g.Rail)
			require.Equal(t, i/4, *g.NUMA)
			require.Equal(t, 304, g.CUs)
			require.Equal(t, "SPX", g.Compute)
			require.Equal(t, "NPS1", g.Memory)
			require.Equal(t, 7, g.Counted)
			require.Equal(t, 16, *g.PCIe.Width)
			c := n.NICs[i]
			require.Equal(t, "ionic", c.Driver)
			require.Equal(t, 50e9, *c.Negotiated)
			require.Equal(t, 9000, *c.MTU)
			require.Equal(t, fmt.Sprintf("eth%d", i), c.Interface)
			require.Len(t, c.GIDs, 2, "the empty one is left out")
			require.Equal(t, GID{1, fmt.Sprintf("0000:0000:0000:0000:0000:ffff:0a00:000%x", i), RoCEv2, fmt.Sprintf("eth%d", i)}, c.GIDs[1])
		}
		require.Contains(t, n.Stack, Fact{"amdgpu", "6.12.12"})
		require.Contains(t, n.Stack, Fact{"GPUs", "8 × MI300X SPX NPS1"})
	}
}

// The tree may begin at sys, or hold links instead of folders.
func TestOtherRoots(t *testing.T) {
	made := healthy()
	sub, err := fs.Sub(made, "sys")
	require.NoError(t, err)
	n, err := Read(sub, Inputs{})
	require.NoError(t, err)
	require.Len(t, n.GPUs, gpus)
	require.Equal(t, nicName(3), n.GPUs[3].Rail.String())

	for i := range gpus {
		for _, folder := range []string{gpuFolder(i), nicFolder(i)} {
			address := folder[len(folder)-13 : len(folder)-1]
			made.MapFS["sys/bus/pci/devices/"+address] = &fstest.MapFile{Mode: fs.ModeSymlink, Data: []byte("../../../" + strings.TrimPrefix(strings.TrimSuffix(folder, "/"), "sys/"))}
		}
	}
	linked := readPCI(onlyLinks(made))
	for i := range gpus {
		a, _ := ParseAddress(gpuAt(i))
		b, _ := ParseAddress(nicAt(i))
		shared, hops := distance(linked.find(a), linked.find(b))
		require.Equal(t, PathSwitch, shared)
		require.Equal(t, 4, hops)
	}
}

// onlyLinks hides the list of /sys/devices, so that the links must be read.
type onlyLinks struct{ fstest.MapFS }

func (o onlyLinks) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == "sys/devices" {
		return nil, fs.ErrNotExist
	}
	return o.MapFS.ReadDir(name)
}
