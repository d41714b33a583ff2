package preflight

import (
	"net/netip"
	"slices"
)

// bootstrap finds the interface that RCCL uses. It is the first interface that NCCL_SOCKET_IFNAME
// matches. Without that variable, it is the first whose name begins with ib, else the first that
// begins with neither docker nor lo, else an interface of docker, else lo (RCCL 0cbce2a:
// src/misc/socket.cc, ncclFindInterfaces). A value of one letter counts as not set.
func (h Host) bootstrap() Bootstrap {
	b := Bootstrap{Setting: h.env("NCCL_SOCKET_IFNAME")}
	if h.Interfaces == nil {
		b.Unknown = "this process cannot list the network interfaces"
		return b
	}
	all, err := h.Interfaces()
	if err != nil {
		b.Unknown = cut("the network interfaces cannot be listed: " + err.Error())
		return b
	}
	usable := ordered(all, h.env("NCCL_SOCKET_FAMILY"))
	b.Names = usable
	b.Leader = holding(all, h.Leader)
	if h.Leader.IsValid() {
		b.Address = h.Leader.String()
	}
	if len(b.Setting) <= 1 && len(h.env("NCCL_COMM_ID")) > 1 {
		b.Unknown = "NCCL_COMM_ID decides"
		return b
	}
	lists := []string{"ib", "^docker,lo", "docker", "lo"}
	if len(b.Setting) > 1 {
		lists = []string{b.Setting}
	}
	for _, list := range lists {
		l := parseNames(list, maxInterfaces)
		if i := slices.IndexFunc(usable, func(name string) bool { return l.match(name, -1) }); i >= 0 {
			b.Chosen = usable[i]
			break
		}
	}
	return b
}

// ordered() lists the interfaces in the order of getifaddrs(3), in which interfaces with IPv4 come
// first. `family` is the value of NCCL_SOCKET_FAMILY. The loopback address of IPv6 does not count.
func ordered(all []Interface, family string) []string {
	var usable []string
	for _, six := range []bool{false, true} {
		if family == "AF_INET" && six || family == "AF_INET6" && !six {
			continue
		}
		for _, i := range all {
			if !slices.Contains(usable, i.Name) && slices.ContainsFunc(i.Addrs, func(a netip.Addr) bool {
				return a.Is6() == six && (!six || !a.IsLoopback())
			}) {
				usable = append(usable, i.Name)
			}
		}
	}
	return usable
}

// holding() returns the interface that has an address, "" if there is none.
func holding(all []Interface, addr netip.Addr) string {
	wanted := addr.Unmap().WithZone("")
	for _, i := range all {
		if addr.IsValid() && slices.ContainsFunc(i.Addrs, func(a netip.Addr) bool { return a.WithZone("") == wanted }) {
			return i.Name
		}
	}
	return ""
}
