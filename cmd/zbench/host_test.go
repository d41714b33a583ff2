package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing/fstest"

	"zbench/internal/native"
	"zbench/internal/preflight"
)

// host is a machine that a test plants: what zbench reads of the machine comes
// from here, so that no test depends on the one it runs on.
type host struct {
	name string
	// cpu is the CPU's model; empty where the kernel does not tell.
	cpu   string
	cores int
	// memory and cache are in bytes; cache is the last level's, 0 where the kernel
	// does not tell.
	memory, cache int64
}

// longName has 80 characters, as long as a CPU's name gets and longer than the
// names of most.
var longName = strings.TrimSpace(strings.Repeat("Planted(R) CPU 8592+ ", 4))[:80]

// hosts are the machines that the host-sensitive tests run on. The first is what
// all others run on, the scripts included.
var hosts = []host{
	{name: "plain", cpu: "Planted CPU", cores: 1, memory: 32 << 30, cache: 32 << 20},
	{name: "xeon", cpu: "Intel(R) Xeon(R) Platinum 8592+", cores: 64, memory: 512 << 30, cache: 300 << 20},
	{name: "one-core", cpu: longName, cores: 1, memory: 32 << 30, cache: 1 << 30},
	{name: "many-cores", cpu: longName, cores: 192, memory: 4 << 40, cache: 1 << 30},
	{name: "untold", cores: 3, memory: 8 << 30},
}

func hostNamed(name string) host {
	if i := slices.IndexFunc(hosts, func(h host) bool { return h.name == name }); i >= 0 {
		return hosts[i]
	}
	return hosts[0]
}

// plant replaces what a State tells of its machine.
func (h host) plant(s State) State {
	s.FS = hostFS{s.FS, h.tree()}
	s.Hostname = func() string { return h.name }
	s.Host = func() native.HostInfo {
		return native.HostInfo{CPUs: h.cores, Memory: h.memory}
	}
	s.Space = func(string) (preflight.Space, error) { return preflight.Space{Size: 16 << 30, Free: 16 << 30}, nil }
	s.Interfaces = func() ([]preflight.Interface, error) {
		return []preflight.Interface{{Name: "eth0", Addrs: []netip.Addr{netip.MustParseAddr("192.0.2.1")}}}, nil
	}
	return s
}

// tree is the part of the file system that tells of the machine.
func (h host) tree() fstest.MapFS {
	t := fstest.MapFS{}
	for name, text := range map[string]string{
		"etc/os-release":                             "PRETTY_NAME=\"Planted Linux 1\"\n",
		"proc/sys/kernel/osrelease":                  "6.1.0-planted\n",
		"proc/sys/kernel/numa_balancing":             "0\n",
		"proc/self/limits":                           "Max locked memory  unlimited  unlimited  bytes\nMax open files  4096  4096  files\n",
		"proc/self/status":                           "Cpus_allowed_list:\t0-95\nCapEff:\t0000000000000000\n",
		"proc/sys/net/ipv4/ip_local_port_range":      "32768\t60999\n",
		"sys/fs/cgroup/cpu.max":                      "max 100000\n",
		"sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
	} {
		t[name] = &fstest.MapFile{Data: []byte(text)}
	}
	if h.cpu != "" {
		var b strings.Builder
		for i := range h.cores {
			fmt.Fprintf(&b, "processor\t: %d\nmodel name\t: %s\n\n", i, h.cpu)
		}
		t["proc/cpuinfo"] = &fstest.MapFile{Data: []byte(b.String())}
	}
	if h.cache > 0 {
		const folder = "sys/devices/system/cpu/cpu0/cache/index0/"
		t[folder+"level"] = &fstest.MapFile{Data: []byte("3\n")}
		t[folder+"size"] = &fstest.MapFile{Data: []byte(strconv.FormatInt(h.cache>>10, 10) + "K\n")}
	}
	return t
}

// hostFS is a file system in which a planted machine stands in place of the real
// one: its GPUs, its kernel and its CPUs. All else is the real one's.
type hostFS struct {
	FS
	tree fstest.MapFS
}

// ofMachine tells which paths describe the machine.
func ofMachine(name string) (inTree string, ok bool) {
	for _, part := range []string{"/proc/", "/sys/", "/dev/kfd", "/dev/dri", "/dev/nvidia", "/dev/infiniband", "/etc/"} {
		if strings.HasPrefix(name, part) {
			return name[1:], true
		}
	}
	return "", false
}

func (h hostFS) ReadFile(name string) ([]byte, error) {
	if inTree, ok := ofMachine(name); ok {
		return fs.ReadFile(h.tree, inTree)
	}
	return h.FS.ReadFile(name)
}

func (h hostFS) Open(name string) (io.ReadCloser, error) {
	if inTree, ok := ofMachine(name); ok {
		return h.tree.Open(inTree)
	}
	return h.FS.Open(name)
}

func (h hostFS) Stat(name string) (fs.FileInfo, error) {
	if inTree, ok := ofMachine(name); ok {
		return fs.Stat(h.tree, inTree)
	}
	return h.FS.Stat(name)
}

func (h hostFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if inTree, ok := ofMachine(name); ok {
		return fs.ReadDir(h.tree, inTree)
	}
	if name == "/dev" { // doctor looks for the GPUs' nodes
		return nil, nil
	}
	return h.FS.ReadDir(name)
}

func (hostFS) ReadLink(name string) (string, error) {
	return "", &fs.PathError{Op: "readlink", Path: name, Err: errors.ErrUnsupported}
}

func (h hostFS) Access(name string) error {
	if inTree, ok := ofMachine(name); ok {
		_, err := fs.Stat(h.tree, inTree)
		return err
	}
	return h.FS.Access(name)
}
