package linux

import (
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
)

// infiniband is the folder of the kernel's RDMA devices, which include RoCE devices.
const infiniband = "sys/class/infiniband"

// RDMAPort is a port of an RDMA device.
type RDMAPort struct {
	Device string
	Port   int
	// State is the port's state, such as ACTIVE, DOWN or INIT; empty if unreadable.
	State string
	// Rate is the negotiated speed, such as "400 Gb/sec".
	Rate string
	// Layer is Ethernet (RoCE) or InfiniBand; empty if unknown.
	Layer string
}

// Name returns the device and the port as in NCCL_IB_HCA, such as mlx5_0:1.
func (p RDMAPort) Name() string { return p.Device + ":" + strconv.Itoa(p.Port) }

// RDMAPorts lists the ports of all RDMA devices, ordered by name.
func (t Tree) RDMAPorts() []RDMAPort {
	var all []RDMAPort
	for _, device := range t.Names(infiniband, "*") {
		for _, port := range t.Names(device+"/ports", "*") {
			n, err := strconv.Atoi(path.Base(port))
			if err != nil {
				continue
			}
			_, state, _ := strings.Cut(t.Read(port+"/state"), ": ")
			rate, _, _ := strings.Cut(t.Read(port+"/rate"), " (")
			all = append(all, RDMAPort{
				Device: path.Base(device), Port: n, State: state, Rate: strings.TrimSpace(rate), Layer: t.Read(port + "/link_layer"),
			})
		}
	}
	return all
}

// GID is one entry of a port's table of global identifiers.
type GID struct {
	Index int
	// Addr is the identifier. An IPv4 address is mapped into IPv6. Addr is the zero
	// value if the entry cannot be read.
	Addr netip.Addr
	// RoCE is the version of the RoCE protocol, 1 or 2. It is 0 if the kernel does not give
	// it, as for an empty entry.
	RoCE int
}

// GIDs returns the table of a port, ordered by index.
func (t Tree) GIDs(p RDMAPort) []GID {
	folder := path.Join(infiniband, p.Device, "ports", strconv.Itoa(p.Port))
	var all []GID
	for _, name := range t.Names(folder+"/gids", "*") {
		index, err := strconv.Atoi(path.Base(name))
		if err != nil || index < 0 {
			continue
		}
		all = append(all, GID{
			Index: index, Addr: ParseGID(t.Read(name)), RoCE: ParseGIDType(t.Read(path.Join(folder, "gid_attrs/types", path.Base(name)))),
		})
	}
	slices.SortFunc(all, func(a, b GID) int { return a.Index - b.Index })
	return all
}

// ParseGID reads an identifier as sysfs writes it: eight groups of four hexadecimal digits.
func ParseGID(text string) netip.Addr {
	addr, err := netip.ParseAddr(strings.TrimSpace(text))
	if err != nil || !addr.Is6() || addr.Zone() != "" {
		return netip.Addr{}
	}
	return addr
}

// ParseGIDType reads the type of an entry, "IB/RoCE v1" or "RoCE v2", and returns the version.
func ParseGIDType(text string) int {
	switch {
	case strings.HasPrefix(text, "IB/RoCE v1"), strings.HasPrefix(text, "RoCE v1"):
		return 1
	case strings.HasPrefix(text, "RoCE v2"):
		return 2
	}
	return 0
}
