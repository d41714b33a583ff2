package topo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
)

// physical() returns the NICs that have a port of their own.
func (n *Node) physical() []NIC {
	return slices.DeleteFunc(slices.Clone(n.NICs), func(c NIC) bool { return c.Virtual })
}

// railed() reports whether a NIC is a GPU's rail. If no rail is known, every NIC counts as a rail.
func (n *Node) railed(c NIC) bool {
	known := false
	for _, g := range n.GPUs {
		if g.Rail != nil {
			known = true
			if slices.Contains(g.Rail.NICs, c.Name) {
				return true
			}
		}
	}
	return !known
}

// notRDMA reports a node whose networks in RCCL's file are not RDMA NICs.
func (n *Node) notRDMA() {
	if n.xml != nil && len(n.xml.sockets) > 0 && len(n.NICs) == 0 {
		n.find(Doubt, "no_rdma", "node", "0 RDMA NICs: RCCL's XML has the socket transport alone (port, GUID or GPUDirect is 0): "+strings.Join(n.xml.sockets, ", "), "look for `NET/IB` in the library's log (NCCL_DEBUG=INFO): a NIC's driver or its library is missing, or NCCL_IB_DISABLE is set")
	}
}

// ports() reports NICs whose port is not active. A NIC that is not a rail may simply be unused.
func (n *Node) ports() {
	for _, c := range n.NICs {
		if !c.down() {
			continue
		}
		mark, hint := Bad, "check the cable and the switch's port, then rdma link"
		if !n.railed(c) {
			mark, hint = Note, ""
		}
		n.find(mark, "port_down", c.Name, fmt.Sprintf("the port of NIC %s is %s", c.Name, c.State), hint)
	}
}

// down() reports whether the port is known to be inactive. The rate in sysfs is then only a
// default.
func (c NIC) down() bool { return c.State != "" && c.State != "ACTIVE" }

// rates() reports NICs whose rate is below the nominal rate of their card.
func (n *Node) rates() {
	for _, c := range n.physical() {
		if !c.slow() {
			continue
		}
		message := fmt.Sprintf("NIC %s runs its port at %s; it is rated for %s (%s)", c.Name, Gigabits(c.Negotiated), Gigabits(c.Rated), c.Product)
		if c.RatedBy == RatedByProduct {
			n.find(Bad, "nic_rate", c.Name, message, "check cable, transceiver and the switch's port speed")
		} else if n.railed(c) {
			n.find(Doubt, "nic_rate", c.Name, message, "the rate is that of the chip's fastest card: compare with the card's label or ethtool")
		}
	}
}

// The sources of a rated speed.
const (
	RatedByProduct = "product"
	RatedByChip    = "chip"
)

func (c NIC) slow() bool {
	return c.Rated != nil && c.Negotiated != nil && !c.down() && *c.Negotiated < *c.Rated
}

// The rails of one driver must have the properties in `sameness` in common.
var sameness = []struct {
	code, what string
	mark       Mark
	value      func(NIC) string
	hint       string
}{
	{"nic_rates_differ", "port rate", Bad, rateOf, "check cable, transceiver and the switch's port speed"},
	{"mtus_differ", "MTU", Bad, func(c NIC) string { return spelled(c.MTU, strconv.Itoa) }, "set the same MTU on all rails"},
	{"firmware_differs", "firmware", Doubt, func(c NIC) string { return c.Firmware }, "update the cards to one version"},
}

// rateOf returns the rate of a port as text; "" if the port is down or the rate is unknown.
func rateOf(c NIC) string {
	if c.down() {
		return ""
	}
	return spelled(c.Negotiated, gigabits)
}

// spelled() formats a value; "" if it is unknown.
func spelled[T any](v *T, text func(T) string) string {
	if v == nil {
		return ""
	}
	return text(*v)
}

// alike() compares the rails of each driver with each other.
func (n *Node) alike() {
	_, of := slice.Group(slice.Where(n.physical(), func(c NIC) bool { return c.Driver != "" && n.railed(c) }), func(c NIC) string { return c.Driver })
	for _, driver := range sortedKeys(of) {
		for _, s := range sameness {
			usual, odd, split := outliers(of[driver], s.value)
			if split != nil {
				n.find(Doubt, s.code, driver, fmt.Sprintf("the %s differs among the NICs of %s, without a majority: %s", s.what, driver, strings.Join(split, ", ")), s.hint)
			}
			for _, c := range odd {
				if s.code == "nic_rates_differ" && c.slow() && c.RatedBy == RatedByProduct {
					continue // another finding already reports the slow NIC
				}
				n.find(s.mark, s.code, c.Name, fmt.Sprintf("the %s of NIC %s is %s; the other NICs of %s have %s", s.what, c.Name, s.value(c), driver, usual), s.hint)
			}
		}
	}
}

// largestMTU is the largest payload of an RDMA packet, in bytes.
const largestMTU = 4096

func (n *Node) mtus() {
	for _, c := range n.NICs {
		if c.MTU == nil || c.Layer == "InfiniBand" || !n.railed(c) {
			continue
		}
		carried := payload(*c.MTU)
		if carried < largestMTU {
			n.find(Doubt, "mtu_small", c.Name, fmt.Sprintf("the MTU of NIC %s is %d: RoCE packets carry at most %d bytes instead of %d", c.Name, *c.MTU, carried, largestMTU), "set MTU 9000 on the interface and on the switch")
		}
		if c.RDMAMTU != nil && *c.RDMAMTU > carried {
			n.find(Doubt, "rdma_mtu", c.Name, fmt.Sprintf("NIC %s is set to RDMA packets of %d bytes, and its MTU of %d carries %d", c.Name, *c.RDMAMTU, *c.MTU, carried), "raise the MTU of the interface")
		}
	}
}

// payload returns the largest RDMA payload that fits into an interface's MTU: a power of two from
// 256 to 4096 bytes. Headers take 96 bytes (Linux, iboe_get_mtu: IPv6 40, UDP 8, BTH 12, XRC 4,
// atomic 28, ICRC 4).
func payload(mtu int) int {
	size := 256
	for size*2 <= largestMTU && size*2+96 <= mtu {
		size *= 2
	}
	return size
}

// gids() reports RoCE ports without a RoCE v2 address, which routed fabrics need.
func (n *Node) gids() {
	for _, c := range n.NICs {
		if !c.GIDsRead || c.Layer != "Ethernet" || !n.railed(c) {
			continue
		}
		untyped := !slices.ContainsFunc(c.GIDs, func(g GID) bool { return g.Type != "" })
		if untyped && len(c.GIDs) > 0 {
			continue // the types of the addresses cannot be read
		}
		if !slices.ContainsFunc(c.GIDs, func(g GID) bool { return g.Type == RoCEv2 }) {
			n.find(Bad, "no_roce_v2", c.Name, fmt.Sprintf("NIC %s has no RoCE v2 GID (%s)", c.Name, plain.Count(len(c.GIDs), "GID")), "give its network interface an IP address")
		}
	}
}

// linkDowns reports lost links. They are only a doubt, because the count began at the last reset of
// the card, perhaps long ago.
func (n *Node) linkDowns() {
	for _, c := range n.physical() {
		if c.LinkDowns != nil && *c.LinkDowns > 0 {
			n.find(Doubt, "link_downs", c.Name, fmt.Sprintf("the port of NIC %s has lost its link %s since the counter was reset", c.Name, plain.Count(int(min(*c.LinkDowns, 1<<30)), "time")), "read it again after a run: a count that grows is a bad cable or transceiver")
		}
	}
}

// portErrors reports nonzero counters of lost or repeated packets.
func (n *Node) portErrors() {
	for _, c := range n.NICs {
		if bad := slice.Where(c.Counters, func(one Counter) bool { return slices.Contains(portErrors, one.Name) }); len(bad) > 0 {
			n.find(Note, "port_errors", c.Name, fmt.Sprintf("NIC %s counts lost or repeated packets since its reset: %s", c.Name, counterList(bad)), "")
		}
	}
}
