package preflight

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"zbench/bench/base/slice"
	"zbench/bench/hardware/backend"
	"zbench/bench/run/record"
	"zbench/internal/linux"
)

// Host provides Collect with facts about a process and its host. If a function is nil, the checks
// of its facts are not made.
type Host struct {
	// FS is the root of the file system. Names have no leading slash.
	FS     fs.FS
	Getenv func(string) string
	Now    func() time.Time
	// Heard is when the leader's request for the facts arrived; zero if unknown.
	Heard time.Time
	// Space returns the size and the free space of the file system that contains a folder, given by
	// its absolute name.
	Space func(folder string) (Space, error)
	// Interfaces lists the network interfaces with their addresses, ordered by number.
	Interfaces func() ([]Interface, error)
	// Leader is this host's address towards the leader. It is zero if unknown, or on the leader
	// itself.
	Leader netip.Addr
	// Simulated is true if the loopback simulates the GPUs.
	Simulated bool
	// Libraries are the process's libraries. Driver is its kernel driver. GPUs are the
	// GPUs that it drives, by PCI address. Visible lists the GPUs that its runtime shows,
	// by PCI address.
	Libraries     []record.Library
	Driver        string
	GPUs, Visible []string
	// Folder is how this process sees the result folder (see Look); nil if it does not know the
	// folder.
	Folder *Folder
}

// Interface is a network interface of the host.
type Interface struct {
	Name  string
	Addrs []netip.Addr
}

// Collect gathers the facts of this process. It only reads: it opens no device and changes nothing.
func Collect(h Host) Facts {
	t := linux.Tree{FS: h.FS}
	status, limits := t.Read("proc/self/status"), t.Read("proc/self/limits")
	f := Facts{
		Simulated: h.Simulated, Libraries: h.Libraries, Driver: h.Driver, GPUs: h.GPUs, Visible: h.Visible,
		CPUs: linux.StatusField(status, "Cpus_allowed_list"), Locks: linux.LocksFreely(linux.StatusField(status, "CapEff")),
		Locked: found(linux.Limit(limits, linux.LockedMemory)), OpenFiles: found(linux.Limit(limits, linux.OpenFiles)),
		Ports:     found(linux.ParsePortRange(t.Read("proc/sys/net/ipv4/ip_local_port_range"))),
		PXN:       h.pxn(),
		Balancing: t.Read("proc/sys/kernel/numa_balancing"), Partitions: partitions(t),
		Bootstrap: h.bootstrap(), RDMA: h.rdma(t), Hiding: h.hiding(), Folder: h.Folder,
	}
	f.Quota, _ = linux.Quota(t.Read("sys/fs/cgroup/cpu.max"))
	f.Shared, f.NoShared = h.shared(t)
	f.bounded()
	if !h.Heard.IsZero() {
		f.Heard = h.Heard.UnixNano()
	}
	if h.Now != nil {
		f.Clock = h.Now().UnixNano() // last, because the calls above take time
	}
	return f
}

// found() returns a pointer to the value; nil if `ok` is false.
func found[T any](value T, ok bool) *T {
	if !ok {
		return nil
	}
	return &value
}

func (h Host) env(name string) string {
	if h.Getenv == nil {
		return ""
	}
	return h.Getenv(name)
}

// flag reports whether a variable is set to a number other than 0.
func (h Host) flag(name string) bool {
	n, err := strconv.Atoi(h.env(name))
	return err == nil && n != 0
}

// collectives returns the version of the process's RCCL or NCCL. The result `nccl` is true for
// NCCL.
func (h Host) collectives() (version string, nccl bool) {
	for _, l := range h.Libraries {
		switch {
		case strings.HasPrefix(l.Name, "librccl"):
			return l.Version, false
		case strings.HasPrefix(l.Name, "libnccl"):
			return l.Version, true
		}
	}
	return "", false
}

// pxn reports whether PXN is on. By default it is on in NCCL and off in RCCL
// (NCCL_PARAM(PxnDisable, …) of src/graph/paths.cc: 0 in NCCL, 1 in RCCL 0cbce2a).
func (h Host) pxn() bool {
	if h.env("NCCL_PXN_DISABLE") == "" {
		_, nccl := h.collectives()
		return nccl
	}
	return !h.flag("NCCL_PXN_DISABLE")
}

func (h Host) shared(t linux.Tree) (space *Space, none bool) {
	if h.Space == nil {
		return nil, false
	}
	got, err := h.Space("/dev/shm")
	if err == nil {
		return &got, false
	}
	return nil, errors.Is(err, fs.ErrNotExist) && !t.Exists("dev/shm")
}

// partitions returns the modes of the GPUs according to amdgpu, or else the number of GPUs per
// package according to the kernel's topology.
func partitions(t linux.Tree) string {
	modes := t.Partitions()
	if len(modes) == 0 {
		for _, parts := range t.Packages() {
			mode := "whole"
			if parts > 1 {
				mode = fmt.Sprintf("a GPU in %d parts", parts)
			}
			modes[mode]++
		}
	}
	all := slice.Map(slices.Collect(maps.Keys(modes)), func(mode string) string { return fmt.Sprintf("%d x %s", modes[mode], mode) })
	return strings.Join(slices.Sorted(slices.Values(all)), ", ")
}

// hidingVariables are the variables that hide GPUs from a process (HIP's and ROCr's
// documents, "GPU isolation techniques"; CUDA's).
var hidingVariables = append(backend.Hiding(), "GPU_DEVICE_ORDINAL")

func (h Host) hiding() []string {
	return slice.Where(hidingVariables, func(name string) bool { return h.env(name) != "" })
}

func (h Host) rdma(t linux.Tree) RDMA {
	version, _ := h.collectives()
	rule, list := gidRuleOf(h.env, version), parseNames(h.env("NCCL_IB_HCA"), maxHCAs)
	r := RDMA{HCA: h.env("NCCL_IB_HCA"), Off: h.flag("NCCL_IB_DISABLE")}
	if n, err := strconv.Atoi(strings.TrimSpace(h.env("NCCL_IB_GID_INDEX"))); err == nil && n >= 0 {
		r.GID = &n
	}
	for _, port := range t.RDMAPorts() {
		r.All++
		if !list.match(port.Device, port.Port) || len(r.Ports) == maxPorts {
			continue
		}
		var table []linux.GID
		if port.State == active && port.Layer != "InfiniBand" {
			table = t.GIDs(port)
		}
		r.Ports = append(r.Ports, portFacts(port, table, rule))
	}
	r.NoAccess = r.All > 0 && len(t.Names("dev/infiniband", "uverbs*")) == 0
	return r
}

// A port that RCCL uses has the state `active`.
const active = "ACTIVE"

// Look searches for the leader's file in the result folder. The function `read` reads a file. The
// leader wrote `text` to the file named `file`.
func Look(read func(name string) ([]byte, error), folder, file, text string) *Folder {
	f := &Folder{Path: cut(folder)}
	got, err := read(filepath.Join(folder, file))
	f.Seen = err == nil && string(got) == text
	return f
}
