package topo

import (
	"fmt"
	"slices"
	"strings"
)

// compareXML compares RCCL's view of the node with the kernel's. RCCL lists only the devices that
// the job used. A device that is only in sysfs is therefore a doubt; a device that is only in
// RCCL's view is gone.
func (n *Node) compareXML() {
	if n.xml == nil || n.kfd == nil && n.pci == nil {
		return
	}
	both, lost := n.matchGPUs()
	if len(both) == 0 {
		n.find(Bad, "xml_other_node", "node", "RCCL's XML and this node have no GPU in common: the XML is of another node", "take the XML on this node: NCCL_TOPO_DUMP_FILE=FILE with any RCCL program")
		return
	}
	for _, g := range lost {
		n.find(Bad, "xml_gpu_missing", g, fmt.Sprintf("GPU %s is in RCCL's XML and missing in KFD", g), "a GPU has left the node since the XML was written: look at dmesg for amdgpu")
	}
	if unused := n.addresses(func(g GPU) bool { return !slices.Contains(both, g.PCI) }); len(unused) > 0 {
		n.find(Doubt, "xml_gpu_unused", "node", "RCCL's XML lacks GPUs that KFD has: "+strings.Join(unused, ", "), "a job on fewer GPUs writes fewer; take the XML of a job on all")
	}
	n.compareLinks(both)
	n.compareNICs()
	n.compareRails()
}

// onCard returns the GPU at an address of RCCL. RCCL distinguishes partitions by the
// function in the address, so if there is no exact match, the package at function 0 is
// returned.
func (n *Node) onCard(pci string) (*GPU, bool) {
	if g := n.gpu(pci); g != nil {
		return g, true
	}
	if a, ok := ParseAddress(pci); ok {
		if g := n.gpu(a.Card().String()); g != nil && g.Partitions > 1 {
			return g, true
		}
	}
	return nil, false
}

// matchGPUs returns the GPUs that are in both views, and the GPUs that are only in RCCL's view.
func (n *Node) matchGPUs() (both, lost []string) {
	for _, x := range n.xml.gpus {
		g, ok := n.onCard(x.PCI)
		switch {
		case !ok && !n.kfd.hides():
			lost = append(lost, x.PCI)
		case ok && !slices.Contains(both, g.PCI):
			both = append(both, g.PCI)
			if x.NUMA != nil && g.NUMA != nil && *x.NUMA != *g.NUMA {
				n.find(Bad, "xml_numa", g.PCI, fmt.Sprintf("GPU %s is on NUMA node %d in sysfs and on %d in RCCL's XML", g.PCI, *g.NUMA, *x.NUMA), "the XML may be of another boot: take it again")
			}
			n.comparePCIe("GPU "+g.PCI, g.PCI, g.PCIe, x.PCIe)
		}
	}
	return both, lost
}

func (n *Node) comparePCIe(what, subject string, here, there *PCIe) {
	if here == nil || there == nil {
		return
	}
	if here.Width != nil && there.Width != nil && *here.Width != *there.Width {
		n.find(Bad, "xml_pcie", subject, fmt.Sprintf("%s has %d PCIe lanes in sysfs and %d in RCCL's XML", what, *here.Width, *there.Width), "a link that was trained again is a bad contact: look at dmesg for pcieport")
	}
}

// compareLinks compares the xGMI links of the GPUs that are in both views.
func (n *Node) compareLinks(both []string) {
	if n.kfd == nil {
		return
	}
	for i, a := range both {
		for _, b := range both[i+1:] {
			here, there := hasLink(n.Links, a, b), n.xmlLink(a, b)
			if here == there {
				continue
			}
			where := "in KFD and not in RCCL's XML"
			if there {
				where = "in RCCL's XML and not in KFD"
			}
			n.find(Bad, "xml_xgmi", a+between+b, fmt.Sprintf("the xGMI link of GPUs %s and %s is %s", a, b, where), "look at dmesg for xgmi, and take the XML again")
		}
	}
}

// xmlLink reports whether RCCL's view has a link between two packages.
func (n *Node) xmlLink(a, b string) bool {
	return slices.ContainsFunc(n.xml.links, func(l Link) bool {
		x, okX := n.onCard(l.A)
		y, okY := n.onCard(l.B)
		return okX && okY && (x.PCI == a && y.PCI == b || x.PCI == b && y.PCI == a)
	})
}

// compareNICs compares the NICs of both views by name.
func (n *Node) compareNICs() {
	if len(n.NICs) == 0 {
		return
	}
	for _, x := range n.xml.nics {
		c := n.nic(x.Name)
		if c == nil {
			n.find(Bad, "xml_nic_missing", x.Name, fmt.Sprintf("NIC %s is in RCCL's XML and missing in sysfs", x.Name), "the driver has lost it, or renamed it: rdma link")
			continue
		}
		if x.PCI != "" && c.PCI != "" && compareAddresses(x.PCI, c.PCI) != 0 {
			n.find(Bad, "xml_nic_moved", c.Name, fmt.Sprintf("NIC %s is at %s in sysfs and at %s in RCCL's XML", c.Name, c.PCI, x.PCI), "names have changed since the XML was written: write the XML again before tuning by it")
		}
		if x.Negotiated != nil && c.Negotiated != nil && *x.Negotiated != *c.Negotiated {
			n.find(Bad, "xml_nic_rate", c.Name, fmt.Sprintf("the port of NIC %s runs at %s in sysfs and at %s in RCCL's XML", c.Name, Gigabits(c.Negotiated), Gigabits(x.Negotiated)), "check cable and switch port; RCCL reads the rate at its start")
		}
		n.comparePCIe("NIC "+c.Name, c.Name, c.PCIe, x.PCIe)
	}
	var unused []string
	for _, g := range n.GPUs {
		if g.Rail == nil || len(g.Rail.NICs) != 1 {
			continue
		}
		if name := g.Rail.NICs[0]; !slices.ContainsFunc(n.xml.nics, func(x NIC) bool { return x.Name == name }) && !slices.Contains(unused, name) {
			unused = append(unused, name)
		}
	}
	if len(unused) > 0 {
		n.find(Doubt, "xml_nic_unused", "node", "RCCL's XML lacks NICs that are rails by PCI: "+strings.Join(unused, ", "), "compare NCCL_IB_HCA with these names")
	}
}

// compareRails compares the rails from sysfs with the rails in RCCL's XML.
func (n *Node) compareRails() {
	var nics []candidate
	for _, x := range n.xml.nics {
		if a, ok := ParseAddress(x.PCI); ok {
			if d := n.xml.tree.find(a); d != nil {
				nics = append(nics, candidate{x.Name, d})
			}
		}
	}
	if n.pci == nil || len(nics) == 0 {
		return
	}
	for _, x := range n.xml.gpus {
		g, ok := n.onCard(x.PCI)
		if !ok || g.Rail == nil {
			continue
		}
		if r := railOf(n.xml.tree, x.PCI, nics); r.contradicts(g.Rail) {
			n.find(Bad, "xml_rail", g.PCI, fmt.Sprintf("the rail of GPU %s is %s by PCI in sysfs and %s in RCCL's XML: crossed rails", g.PCI, g.Rail, r), "NICs or names have changed since the XML was written, or a topology file is forced (NCCL_TOPO_FILE): take it again")
		}
	}
}
