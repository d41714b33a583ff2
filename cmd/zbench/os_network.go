package main

import (
	"context"
	"net"
	"net/netip"
	"syscall"

	"zbench/internal/preflight"
)

// fileSpace is what a folder's file system has, for a process without privileges.
func fileSpace(folder string) (preflight.Space, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(folder, &st); err != nil {
		return preflight.Space{}, err
	}
	block := st.Frsize
	if block == 0 {
		block = st.Bsize
	}
	return preflight.Space{Size: int64(st.Blocks) * block, Free: int64(st.Bavail) * block}, nil //nolint:gosec // sizes of file systems fit
}

// networkInterfaces lists those that are up, with their addresses, by number.
func networkInterfaces() ([]preflight.Interface, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var out []preflight.Interface
	for _, i := range all {
		addrs, err := i.Addrs()
		if err != nil || i.Flags&net.FlagUp == 0 {
			continue // gone since, or without use
		}
		have := preflight.Interface{Name: i.Name}
		for _, a := range addrs {
			if prefix, err := netip.ParsePrefix(a.String()); err == nil {
				have.Addrs = append(have.Addrs, prefix.Addr().Unmap())
			}
		}
		out = append(out, have)
	}
	return out, nil
}

// resolve are the addresses of a host, by its name.
func resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// addressTowards asks the kernel for the way to an address. Nothing is sent: a datagram's
// socket is connected, and closed again.
func addressTowards(address string) (netip.Addr, error) {
	c, err := net.Dial("udp", address)
	if err != nil {
		return netip.Addr{}, err
	}
	defer c.Close() //nolint:errcheck // nothing was written
	local, err := netip.ParseAddrPort(c.LocalAddr().String())
	return local.Addr().Unmap(), err
}
