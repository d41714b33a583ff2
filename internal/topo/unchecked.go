package topo

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/slice"
)

// notChecked lists the facts that no source gave, each with how to get it.
func (n *Node) notChecked() {
	if n.OnlyXML() {
		n.unchecked("what the kernel sees", "there is no GPU in KFD here: all of this is RCCL's XML", "run `zbench topo --xml FILE` on the node that wrote it")
	}
	switch {
	case n.kfd != nil || n.xml != nil:
	case len(n.slots) > 0:
		n.unchecked("xGMI links, partitions and compute units", "there is no /sys/class/kfd/kfd/topology: the GPUs are those of the PCI bus", "load amdgpu; record all of /sys")
	case len(n.GPUs) > 0:
		n.unchecked("links between the GPUs, and their errors", "KFD is AMD's; of NVIDIA's GPUs sysfs has the PCI bus alone", "nvidia-smi topo -m; nvidia-smi nvlink -s")
	default:
		n.unchecked("GPUs and xGMI links", "there is no /sys/class/kfd/kfd/topology: no AMD GPU, or amdgpu is not loaded", "`zbench doctor`; in a container pass --device /dev/kfd")
	}
	if len(n.GPUs) > 0 && n.pci == nil && n.xml == nil {
		n.unchecked("rails, PCIe, ECC and AER counters", "the tree has no PCI devices (/sys/devices/pci*)", "run `zbench topo` on the node, or record all of /sys")
	}
	if len(n.NICs) == 0 {
		n.unchecked("NICs", "there is no RDMA device in /sys/class/infiniband", "rdma link; load the driver (Pollara: ionic_rdma); or --outputs with nicctl and rdma output")
	}
	if names := namesOf(n.NICs, func(c NIC) bool { return c.PCI == "" }); len(names) > 0 {
		n.unchecked("the PCI address of "+strings.Join(names, ", "), "no source names it", "read /sys/class/infiniband/NAME/device/uevent")
	}
	if len(n.Links) > 0 && !slices.ContainsFunc(n.Links, func(l Link) bool { return l.Bandwidth != nil }) {
		n.unchecked("the speed of xGMI links", "KFD states bandwidth 0 between packages", "`zbench collectives --groups 2` measures GPUs in pairs")
	}
	// RCCL's XML does not have the state of ports.
	if names := namesOf(n.NICs, func(c NIC) bool { return c.State == "" && !n.OnlyXML() }); len(names) > 0 {
		n.unchecked("the port state of "+strings.Join(names, ", "), "no source gives it", "rdma link > DIR/rdma_link.txt, then `zbench topo --outputs DIR`")
	}
	if names := namesOf(n.physical(), func(c NIC) bool { return c.Rated == nil }); len(names) > 0 {
		n.unchecked("the rated speed of "+strings.Join(names, ", "), "sysfs has the negotiated speed alone", "nicctl show card -j > DIR/card.json (may need root), then `zbench topo --outputs DIR`; other vendors: ethtool INTERFACE")
	}
	if len(n.NICs) > 0 && !slices.ContainsFunc(n.NICs, func(c NIC) bool { return c.Leaf != "" }) {
		n.unchecked("leaf switches", n.whyNoLeaf(), "lldpctl -f json > DIR/lldp.json, or a CSV with the heading nic,leaf, then `zbench topo --outputs DIR`")
	}
	if n.xml == nil && len(n.GPUs) > 0 {
		n.unchecked("the topology that RCCL uses", "no --xml", "run any RCCL program with NCCL_TOPO_DUMP_FILE=FILE, then `zbench topo --xml FILE`")
	}
	if len(n.GPUs) > 0 && len(n.NICs) > 0 {
		n.unchecked("the rail that each GPU really uses", "rails follow from PCI parents; no traffic was measured", "`zbench rails`, on two or more nodes, compares the NICs' byte counters before and after a ring of one GPU per node")
	}
	n.countersUnchecked()
}

// namesOf returns the names of the NICs that meet a condition.
func namesOf(nics []NIC, is func(NIC) bool) []string {
	return slice.Map(slice.Where(nics, is), func(c NIC) string { return c.Name })
}

// addresses returns the PCI addresses of the GPUs that meet a condition.
func (n *Node) addresses(is func(GPU) bool) []string {
	return slice.Map(slice.Where(n.GPUs, is), func(g GPU) string { return g.PCI })
}

// whyNoLeaf returns the reason why a leaf switch is unknown. It mentions Slurm's address if there
// is one. That address is a path of switches for the whole node. In a fabric of rails each NIC has
// its own leaf switch, so that address names none of them for certain.
func (n *Node) whyNoLeaf() string {
	why := "no output of lldpctl"
	if i := slices.IndexFunc(n.Stack, func(f Fact) bool { return f.Name == "env SLURM_TOPOLOGY_ADDR" }); i >= 0 {
		why += fmt.Sprintf("; SLURM_TOPOLOGY_ADDR=%s is one path for the whole node, a hypothesis in a fabric of rails", n.Stack[i].Value)
	}
	return why
}

// countersUnchecked notes the devices in sysfs that have no counters.
func (n *Node) countersUnchecked() {
	if n.pci == nil {
		return
	}
	const next = "amd-smi metric --ecc --xgmi-err (may need root)"
	switch none := n.addresses(func(g GPU) bool { return g.Counted == 0 }); {
	case len(none) == 0:
	case len(none) == len(n.GPUs):
		n.unchecked("ECC, xGMI and PCIe errors of the GPUs", "sysfs has no ras/ and no aer_dev_* of them", next)
	default:
		n.unchecked("ECC, xGMI and PCIe errors of GPU "+strings.Join(none, ", "), "sysfs has no ras/ and no aer_dev_* of them", next)
	}
}
