package topo

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"zbench/bench/base/slice"
	"zbench/internal/linux"
)

// products are AMD's data-centre GPUs by PCI device number (pci.ids, libdrm's amdgpu.ids).
var products = map[uint64]string{
	0x6860: "MI25", 0x66a0: "MI50/MI60", 0x66a1: "MI50/MI60", 0x738c: "MI100", 0x7408: "MI250X", 0x740c: "MI250", 0x740f: "MI210",
	0x74a0: "MI300A", 0x74a1: "MI300X", 0x74a2: "MI308X", 0x74a5: "MI325X", 0x74a8: "MI308X HF", 0x74a9: "MI300X HF",
	0x74b5: "MI300X VF", 0x74b6: "MI308X VF", 0x74b9: "MI325X VF", 0x74bd: "MI300X HF VF",
	0x75a0: "MI350X", 0x75a3: "MI355X", 0x75b0: "MI350X VF", 0x75b3: "MI355X VF",
}

func product(vendor, device uint64) string {
	if vendor == vendorNVIDIA {
		return fmt.Sprintf("NVIDIA GPU %#04x", device)
	}
	if name, ok := products[device]; ok {
		return name
	}
	if device == 0 {
		return "AMD GPU"
	}
	return fmt.Sprintf("AMD GPU %#04x", device)
}

// cardKey identifies a package. Its partitions have the same unique_id, and their addresses differ
// only in the function.
type cardKey struct {
	id   uint64
	card Address
}

// readGPUs makes packages from KFD's nodes and adds facts from the PCI tree.
func (n *Node) readGPUs(fsys fs.FS) {
	if n.kfd != nil {
		n.source("kfd")
	}
	if n.pci != nil {
		n.source("pci")
		n.slots = slice.Where(n.pci.devices, pciDevice.amdGPU)
	}
	order, groups := slice.Group(n.kfd.gpus(), func(node kfdNode) cardKey { return cardKey{node.props["unique_id"], node.address().Card()} })
	n.GPUs = slice.Map(order, func(key cardKey) GPU { return n.packageOf(groups[key]) })
	if n.kfd == nil {
		n.GPUs = n.busGPUs()
	}
	slices.SortStableFunc(n.GPUs, func(a, b GPU) int { return compareAddresses(a.PCI, b.PCI) })
	for i := range n.GPUs {
		n.fromPCI(fsys, &n.GPUs[i])
	}
	n.Links = n.kfd.packageLinks(n.GPUs)
}

// busGPUs returns the GPUs on the PCI bus, for trees without KFD. They are AMD's GPUs or NVIDIA's
// GPUs; NVIDIA's GPUs never have KFD.
func (n *Node) busGPUs() []GPU {
	out := slice.Map(n.slots, func(d pciDevice) GPU { return GPU{PCI: d.address.String(), Name: product(d.vendor, d.device)} })
	if n.pci == nil || len(out) > 0 {
		return out
	}
	return slice.Map(slice.Where(n.pci.devices, pciDevice.nvidiaGPU), func(d pciDevice) GPU {
		return GPU{PCI: d.address.String(), Name: fmt.Sprintf("NVIDIA GPU %#04x", d.device)}
	})
}

// packageOf combines the partitions of a GPU, which are nodes of KFD, into one GPU.
func (n *Node) packageOf(nodes []kfdNode) GPU {
	first := nodes[0]
	address := first.address()
	// The function in a partition's address is the partition's number. The device itself has
	// function 0, unless the PCI tree has the exact address, as for a virtual function.
	if len(nodes) > 1 || n.pci != nil && n.pci.find(address) == nil {
		address = address.Card()
	}
	g := GPU{
		PCI: address.String(), Name: product(vendorAMD, first.props["device_id"]), Arch: linux.KFDArch(first.props["gfx_target_version"]),
		Partitions: len(nodes), NUMA: n.kfd.numa(first), Compute: computeMode(nodes),
	}
	if id := first.props["unique_id"]; id != 0 {
		g.UniqueID = fmt.Sprintf("%016x", id)
	}
	if hive := first.props["hive_id"]; hive != 0 {
		g.Hive = fmt.Sprintf("%016x", hive)
	}
	for _, node := range nodes {
		g.Nodes = append(g.Nodes, node.id)
		if simds := node.props["simd_per_cu"]; simds > 0 {
			g.CUs += int(node.props["simd_count"] / simds & 0xffff)
		}
	}
	return g
}

// computeMode derives the compute mode from the number of accelerator dies (num_xcc) in each
// partition. GPUs with one die have no modes.
func computeMode(nodes []kfdNode) string {
	dies := nodes[0].props["num_xcc"]
	switch {
	case dies == 0 || dies == 1 && len(nodes) == 1:
		return ""
	case len(nodes) == 1:
		return "SPX"
	case dies == 1:
		return "CPX"
	}
	return map[int]string{2: "DPX", 3: "TPX", 4: "QPX"}[len(nodes)]
}

// fromPCI adds facts from the folder of the device in sysfs.
func (n *Node) fromPCI(fsys fs.FS, g *GPU) {
	address, ok := ParseAddress(g.PCI)
	if !ok || n.pci == nil {
		return
	}
	d := n.pci.find(address)
	if d == nil {
		return
	}
	if d.numa != nil {
		g.NUMA = d.numa
	}
	g.PCIe = readPCIe(fsys, d.folder)
	g.Counters, g.Counted = deviceCounters(fsys, d.folder)
	if mode := text(fsys, path.Join(d.folder, "current_compute_partition")); mode != "" {
		g.Compute = mode
	}
	g.Memory = text(fsys, path.Join(d.folder, "current_memory_partition"))
}

// packageLinks returns the xGMI links between packages, each pair once. The links between
// partitions of one package have the same type and are left out.
func (t *kfdTree) packageLinks(gpus []GPU) []Link {
	of := map[int]string{}
	for _, g := range gpus {
		for _, id := range g.Nodes {
			of[id] = g.PCI
		}
	}
	var links []Link
	at := map[[2]string]int{}
	for _, n := range t.gpus() {
		for _, l := range n.links {
			a, b := of[n.id], of[l.to]
			if l.kind != linkXGMI || a == "" || b == "" || a == b {
				continue
			}
			if compareAddresses(a, b) > 0 {
				a, b = b, a
			}
			i, met := at[[2]string{a, b}]
			if !met {
				i = len(links)
				at[[2]string{a, b}] = i
				links = append(links, Link{A: a, B: b, Weight: int(l.weight & 0xffff)})
			}
			if l.bandwidth > 0 && l.bandwidth < 1<<40 {
				links[i].Bandwidth = new(float64(l.bandwidth) * 1e6) // KFD gives MB/s
			}
		}
	}
	slices.SortFunc(links, compareLinks)
	return links
}

func compareLinks(a, b Link) int {
	return cmp.Or(compareAddresses(a.A, b.A), compareAddresses(a.B, b.B))
}
