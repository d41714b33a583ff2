package topo

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
)

// gpuPCIe reports GPUs and NICs whose PCIe connection is narrower or slower than the device
// supports.
func (n *Node) gpuPCIe() {
	for _, g := range n.GPUs {
		n.pcie("GPU "+g.PCI, g.PCI, g.PCIe)
	}
	for _, c := range n.NICs {
		if !c.Virtual {
			n.pcie("NIC "+c.Name, c.Name, c.PCIe)
		}
	}
}

func (n *Node) pcie(what, subject string, p *PCIe) {
	if p == nil {
		return
	}
	if p.Width != nil && p.MaxWidth != nil && *p.Width < *p.MaxWidth {
		n.find(Bad, "pcie_width", subject, fmt.Sprintf("%s has %d of %d PCIe lanes", what, *p.Width, *p.MaxWidth), "reseat the card or check the riser, then reboot")
	}
	if p.Speed != nil && p.MaxSpeed != nil && *p.Speed < *p.MaxSpeed {
		n.find(Doubt, "pcie_speed", subject, fmt.Sprintf("%s runs PCIe at %s of %s GT/s per lane", what, unit.Number(*p.Speed/1e9), unit.Number(*p.MaxSpeed/1e9)), "some devices lower the speed while idle, and slots may be slower: read it again under load")
	}
}

// errorKind is one kind of error counters. The function `has` reports whether a counter belongs to
// the kind; the other fields describe a nonzero count.
type errorKind struct {
	has             func(name string) bool
	mark            Mark
	code, are, hint string
}

// errorKinds are the kinds of error counters of a GPU or NIC. The first kind that recognises a
// counter applies.
var errorKinds = []errorKind{
	{
		func(name string) bool {
			return strings.HasPrefix(name, "ras/") && strings.HasSuffix(name, "/ue") || strings.HasPrefix(name, "aer/fatal/")
		},
		Bad, "uncorrected_errors", "uncorrected errors", "drain the node; amd-smi metric --ecc and dmesg say which block",
	},
	// One transaction failed, but the link works (PCI Express Base Specification 6.0, 6.2.2.2.2). A
	// single error may be from the boot.
	{
		func(name string) bool { return strings.HasPrefix(name, "aer/nonfatal/") },
		Doubt, "pcie_nonfatal", "uncorrected PCIe errors that are not fatal", "the link works: read them again after a run; if they grow, reseat the card or check the riser",
	},
	{
		func(name string) bool { return strings.HasPrefix(name, "ras/") || strings.HasPrefix(name, "aer/") },
		Doubt, "corrected_errors", "corrected errors", "read them again after a run: counters that grow cost bandwidth",
	},
}

// counterList returns counters with their values, as text.
func counterList(all []Counter) string {
	return strings.Join(slice.Map(all, func(c Counter) string { return fmt.Sprintf("%s %d", c.Name, c.Value) }), ", ")
}

// gpuErrors reports ECC, xGMI and PCIe errors of GPUs, and PCIe errors of NICs.
func (n *Node) gpuErrors() {
	for _, g := range n.GPUs {
		n.deviceErrors("GPU "+g.PCI, g.PCI, g.Counters)
	}
	for _, c := range n.NICs {
		n.deviceErrors("NIC "+c.Name, c.Name, c.Counters)
	}
}

func (n *Node) deviceErrors(what, subject string, counters []Counter) {
	kind := func(c Counter) int {
		return slices.IndexFunc(errorKinds, func(k errorKind) bool { return k.has(c.Name) })
	}
	for i, k := range errorKinds {
		if found := slice.Where(counters, func(c Counter) bool { return kind(c) == i }); len(found) > 0 {
			n.find(k.mark, k.code, subject, fmt.Sprintf("%s counts %s: %s", what, k.are, counterList(found)), k.hint)
		}
	}
}

// rails() reports GPUs that have no rail or share one, and rails on another socket than the GPU.
func (n *Node) rails() {
	if len(n.GPUs) == 0 || len(n.NICs) == 0 || n.pci == nil && n.xml == nil {
		return
	}
	without := n.addresses(func(g GPU) bool { return g.Rail == nil })
	with := len(n.GPUs) - len(without)
	for _, g := range n.GPUs {
		n.railNUMA(g)
	}
	switch {
	case with == 0:
		n.find(Note, "no_rails", "node", "no GPU has an RDMA NIC below its own host bridge: PCI names no rail", "")
	case with <= len(without):
		n.find(Note, "no_rail", "node", fmt.Sprintf("%d of %d GPUs have an RDMA NIC below their host bridge", with, len(n.GPUs)), "")
	default:
		for _, pci := range without {
			n.find(Doubt, "no_rail", pci, fmt.Sprintf("GPU %s has no RDMA NIC below its host bridge; %d of %d GPUs have one", pci, with, len(n.GPUs)), "a NIC may be missing: compare with lspci, and with the other nodes")
		}
	}
	n.railsShared()
	n.railOrder()
}

// railsShared reports rails that several GPUs share. If every rail has the same number of GPUs,
// the node is built that way.
func (n *Node) railsShared() {
	shared := n.shared()
	even := !slices.ContainsFunc(n.GPUs, func(g GPU) bool {
		return g.Rail == nil || len(shared[g.Rail.String()]) != len(shared[n.GPUs[0].Rail.String()])
	})
	for _, name := range sortedKeys(shared) {
		gpus := shared[name]
		mark, hint := Doubt, "their traffic shares one port: a NIC may be missing"
		if even {
			mark, hint = Note, ""
		}
		if len(n.gpu(gpus[0]).Rail.NICs) < len(gpus) {
			n.find(mark, "rail_shared", name, fmt.Sprintf("%d GPUs share the rail %s: %s", len(gpus), name, strings.Join(gpus, ", ")), hint)
		} else {
			n.find(Note, "rail_ambiguous", name, fmt.Sprintf("PCI parents do not decide which of %s is the rail of GPUs %s", name, strings.Join(gpus, ", ")), "")
		}
	}
}

func (n *Node) railNUMA(g GPU) {
	if g.Rail == nil || g.NUMA == nil {
		return
	}
	for _, c := range n.NICs {
		if len(g.Rail.NICs) == 1 && c.Name == g.Rail.NICs[0] && c.NUMA != nil && *c.NUMA != *g.NUMA {
			n.find(Doubt, "rail_numa", g.PCI, fmt.Sprintf("GPU %s is on NUMA node %d, its rail %s on %d", g.PCI, *g.NUMA, c.Name, *c.NUMA), "the firmware may report a wrong NUMA node: compare numa_node of both in sysfs")
		}
	}
}

// railOrder makes a note if pairing GPUs and NICs by their index would give them the wrong rails.
func (n *Node) railOrder() {
	names := namesOf(n.NICs, func(NIC) bool { return true })
	slices.SortFunc(names, plain.Natural) // in the order in which a script that pairs by index would sort them
	last := -1
	for _, g := range n.GPUs {
		if g.Rail == nil || len(g.Rail.NICs) > 1 {
			return
		}
		i := slices.Index(names, g.Rail.NICs[0])
		if i < last {
			n.find(Note, "rail_order", "node", "the NICs in the order of their names are not in the order of the GPUs' PCI addresses: pairing them by index would cross the rails", "")
			return
		}
		last = i
	}
}
