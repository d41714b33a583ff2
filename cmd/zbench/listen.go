package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"zbench/bench/plain"
	"zbench/internal/launch"
	"zbench/internal/preflight"
)

// listenAt are the addresses at which rank 0 listens: those of the host that was asked for, as
// far as this machine has them. note says why it is all interfaces although one was asked for.
// A name that a launcher tells need not be of an address of this host, and where it is the
// loopback's, other hosts cannot reach that.
func listenAt(ctx context.Context, s State, role launch.Role) (addresses []string, note string) {
	port, host := strconv.Itoa(role.Leader.Port), role.Leader.Host
	all := []string{net.JoinHostPort("", port)}
	given := s.Getenv(launch.LeaderVariable) != ""
	byUser := given && s.Getenv(launch.ControlVariable) == ""
	found, why := []netip.Addr{}, "is no address of this host"
	if ip, err := netip.ParseAddr(host); err == nil {
		found = append(found, ip)
	} else if s.Resolve == nil || !given && host != localhost {
		return all, ""
	} else if found, err = s.Resolve(ctx, host); err != nil {
		why = "cannot be resolved here: " + err.Error()
	} else if !byUser && role.LocalSize < role.Size && !slices.ContainsFunc(found, func(a netip.Addr) bool { return !a.IsLoopback() }) {
		found, why = nil, "is the loopback interface, which other hosts do not reach"
	}
	for _, a := range found {
		if address := net.JoinHostPort(a.Unmap().String(), port); s.has(a.Unmap()) && !slices.Contains(addresses, address) {
			addresses = append(addresses, address)
		}
	}
	if len(addresses) == 0 {
		return all, fmt.Sprintf("%s %s: rank 0 listens on all interfaces", plain.Line(host), why)
	}
	return addresses, ""
}

const localhost = "localhost"

// has reports whether an address is one of this host's.
func (s State) has(a netip.Addr) bool {
	if a.IsUnspecified() || a.Is4() && a.IsLoopback() || s.Interfaces == nil {
		return true
	}
	interfaces, err := s.Interfaces()
	return err != nil || slices.ContainsFunc(interfaces, func(i preflight.Interface) bool { return slices.Contains(i.Addrs, a.WithZone("")) })
}
