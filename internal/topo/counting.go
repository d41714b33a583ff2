package topo

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/run/record"
)

// Counting reads the counters of a node's NICs. The rails are determined once. The counters are
// read by every call of Read.
type Counting struct {
	fsys fs.FS
	node string
	nics []countedNIC
}

// countedNIC is an RDMA device with the folders that have its counters.
type countedNIC struct {
	name    string
	gpu     int
	pci     []string // addresses of the GPUs whose rail the NIC is
	folders []string
}

// NewCounting finds the RDMA devices of a tree, and for each device the GPU whose rail the
// device is. GPUs are numbered in the order of their PCI addresses. The result is nil if
// there are no such devices.
func NewCounting(fsys fs.FS, node string) *Counting {
	fsys = unwrapped(fsys)
	n, err := Read(fsys, Inputs{})
	root := under(fsys, infiniband)
	if err != nil || root == "" || len(n.NICs) == 0 {
		return nil
	}
	c := &Counting{fsys: fsys, node: node}
	net := under(fsys, "class/net")
	for _, nic := range n.NICs {
		folder := path.Join(root, nic.Name)
		port := path.Join(folder, "ports", "1")
		one := countedNIC{name: nic.Name, gpu: -1, folders: counterFolders(folder, port)}
		if net != "" && nic.Interface != "" && !strings.ContainsAny(nic.Interface, "/…") {
			one.folders = append(one.folders, path.Join(net, nic.Interface))
		}
		for gpu, g := range n.GPUs {
			if g.Rail == nil || !slices.Contains(g.Rail.NICs, nic.Name) {
				continue
			}
			if one.gpu < 0 {
				one.gpu = gpu
			}
			one.pci = append(one.pci, g.PCI)
		}
		c.nics = append(c.nics, one)
	}
	return c
}

// meaning maps counters of drivers to a field of record.NICCounters.
type meaning struct {
	of    func(*record.NICCounters) **uint64
	scale uint64
	names []string
}

// meanings lists the drivers' counters by name; a star in a name stands for any digit. For traffic,
// scale is the number of bytes per unit, and only the first counter that a driver has is used. For
// events, scale is 0, and the counters are added up. InfiniBand's port_*_data counts words of four
// bytes.
var meanings = []meaning{
	{func(c *record.NICCounters) **uint64 { return &c.Sent }, 1, []string{"tx_rdma_ucast_bytes", "tx_roce_only_bytes", "tx_bytes"}},
	{func(c *record.NICCounters) **uint64 { return &c.Sent }, 4, []string{"port_xmit_data"}},
	{func(c *record.NICCounters) **uint64 { return &c.Received }, 1, []string{"rx_rdma_ucast_bytes", "rx_roce_only_bytes", "rx_bytes"}},
	{func(c *record.NICCounters) **uint64 { return &c.Received }, 4, []string{"port_rcv_data"}},
	{func(c *record.NICCounters) **uint64 { return &c.Retransmits }, 0, []string{
		"req_rx_pkt_seq_err", "tx_rdma_ack_timeout", // ionic
		"packet_seq_err", "local_ack_timeout_err", "roce_adp_retrans", // mlx5
		"to_retransmits", "seq_err_naks_rcvd", // bnxt_re
	}},
	{func(c *record.NICCounters) **uint64 { return &c.CNPs }, 0, []string{"tx_rdma_cnp_pkts", "rx_rdma_cnp_pkts", "np_cnp_sent", "rp_cnp_handled", "tx_cnp_pkts", "rx_cnp_pkts"}},
	{func(c *record.NICCounters) **uint64 { return &c.Pauses }, 0, []string{"frames_rx_pause", "frames_tx_pause", "frames_rx_pripause*", "frames_tx_pripause*", "rx_prio*_pause", "tx_prio*_pause"}},
}

// Read returns the current counts of all NICs.
func (c *Counting) Read() []record.NICCounters {
	if c == nil {
		return nil
	}
	var out []record.NICCounters
	for _, nic := range c.nics {
		one := record.NICCounters{Node: c.node, NIC: nic.name, GPU: nic.gpu, PCI: nic.pci}
		for _, folder := range nic.folders {
			c.read(folder, &one)
		}
		out = append(out, one)
	}
	return out
}

// read adds the counters in a folder.
func (c *Counting) read(folder string, to *record.NICCounters) {
	names := list(c.fsys, folder)
	for _, m := range meanings {
		at := m.of(to)
		for _, name := range m.names {
			if m.scale > 0 && *at != nil {
				break
			}
			for _, file := range matching(names, name) {
				if v, ok := number(c.fsys, path.Join(folder, file)); ok {
					rise(at, v, max(m.scale, 1))
				}
			}
		}
	}
	for _, name := range []string{linkDowned, "carrier_down_count"} { // both counters count the same events, so the larger count is used
		if !slices.Contains(names, name) {
			continue
		}
		if v, ok := number(c.fsys, path.Join(folder, name)); ok && (to.LinkDowns == nil || v > *to.LinkDowns) {
			to.LinkDowns = &v
		}
	}
}

func rise(to **uint64, v, scale uint64) {
	sum := v * scale
	if *to != nil {
		sum += **to
	}
	*to = &sum
}

// matching() returns the names that match a pattern, which has at most one star.
func matching(names []string, pattern string) []string {
	return slice.Where(names, func(name string) bool {
		ok, err := path.Match(strings.Replace(pattern, "*", "[0-9]", 1), name)
		return err == nil && ok
	})
}
