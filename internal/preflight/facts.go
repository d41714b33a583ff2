// Package preflight checks all processes of a run before anything is measured: limits, ports, GPUs,
// network interfaces, RDMA NICs, libraries, clocks, the result folder.
//
// Every process gathers its [Facts] with [Collect] and sends them when it registers. The leader
// judges all of them together ([Judge]) and gets a [Report]: one row per check, with its ranks and
// hosts, the reason why it matters, and the setting that fixes it. [Report.Refused] is the error of
// a run that must not start. A check without data is not checked, which is neither a pass nor a
// failure. A new check is one row of the table in checks.go.
package preflight

import (
	"slices"

	"zbench/bench/base/plain"
	"zbench/bench/run/record"
	"zbench/internal/linux"
)

// Facts are one process's facts about itself and its host. They are sent as JSON, once.
type Facts struct {
	// Simulated is true if the GPUs are the loopback's: hardware checks do not apply.
	Simulated bool `json:"simulated,omitempty"`
	// Clock is the host's wall clock when the facts were gathered, in nanoseconds since
	// 1970.
	Clock int64 `json:"clock_ns"`
	// Heard is the same at the arrival of the leader's request; 0 if unknown.
	Heard int64 `json:"heard_ns,omitempty"`
	// CPUs is the list that this process may use, such as "0-47,96-143"; empty if unknown. Quota is
	// the CPU time that its cgroup allows, in CPUs; 0 if there is no limit.
	CPUs  string  `json:"cpus,omitempty"`
	Quota float64 `json:"cpu_quota,omitempty"`
	// Locked is the limit of locked memory in bytes, -1 for none; absent if unknown. Locks is true
	// if the limit does not apply, because the process has CAP_IPC_LOCK.
	Locked *int64 `json:"memlock,omitempty"`
	Locks  bool   `json:"ipc_lock,omitempty"`
	// OpenFiles is the limit of open files, -1 for none; absent if unknown.
	OpenFiles *int64 `json:"open_files,omitempty"`
	// Shared is the space in /dev/shm; absent if unknown.
	Shared *Space `json:"shm,omitempty"`
	// NoShared is true if there is no /dev/shm.
	NoShared bool `json:"no_shm,omitempty"`
	// Ports is the range of local ports for connections; absent if unknown.
	Ports *linux.PortRange `json:"ports,omitempty"`
	// PXN is true if messages to another rail leave through a local GPU of that rail, which saves
	// connections (NCCL_PXN_DISABLE).
	PXN bool `json:"pxn,omitempty"`
	// Partitions are the modes of the host's GPUs, such as "8 x SPX/NPS1"; empty if unknown.
	Partitions string `json:"partitions,omitempty"`
	// Balancing is the kernel's setting of NUMA balancing, empty if unknown.
	Balancing string `json:"numa_balancing,omitempty"`
	// Libraries are the process's, with versions and without paths; Driver is the GPUs' kernel driver.
	Libraries []record.Library `json:"libraries,omitempty"`
	Driver    string           `json:"driver,omitempty"`
	Bootstrap Bootstrap        `json:"bootstrap"`
	RDMA      RDMA             `json:"rdma"`
	// GPUs are the process's own, Visible those that its runtime shows, by PCI address; none if
	// unknown.
	GPUs    []string `json:"gpus,omitempty"`
	Visible []string `json:"visible,omitempty"`
	// Hiding are the set variables that hide GPUs.
	Hiding []string `json:"hiding,omitempty"`
	// Folder is the process's view of the result folder; absent if it was not looked for.
	Folder *Folder `json:"folder,omitempty"`
}

// Space is a file system's space in bytes.
type Space struct {
	Size int64 `json:"size"`
	Free int64 `json:"free"`
}

// Bootstrap is the interface over which RCCL's ranks find each other.
type Bootstrap struct {
	// Setting is NCCL_SOCKET_IFNAME.
	Setting string `json:"setting,omitempty"`
	// Chosen is RCCL's interface; empty if there is none.
	Chosen string `json:"chosen,omitempty"`
	// Leader is the interface towards the leader, empty if unknown; Address this host's on
	// it.
	Leader  string `json:"leader,omitempty"`
	Address string `json:"address,omitempty"`
	// Names are the interfaces with an address.
	Names []string `json:"names,omitempty"`
	// Unknown is why RCCL's choice is not known.
	Unknown string `json:"unknown,omitempty"`
}

// RDMA describes a host's RDMA NICs and RCCL's choice among them.
type RDMA struct {
	// HCA is NCCL_IB_HCA, GID the number in NCCL_IB_GID_INDEX; absent if it is not set.
	HCA string `json:"hca,omitempty"`
	GID *int   `json:"gid_index,omitempty"`
	// Off is true if RCCL uses no RDMA (NCCL_IB_DISABLE).
	Off bool `json:"off,omitempty"`
	// All is the number of ports of the host, Ports are those that NCCL_IB_HCA chooses.
	All   int    `json:"all"`
	Ports []Port `json:"ports,omitempty"`
	// NoAccess is true if the host has NICs, but the process has no device nodes for them.
	NoAccess bool `json:"no_access,omitempty"`
}

// Port is a port of a NIC.
type Port struct {
	// Name is the device's and the port's: ionic_0:1.
	Name  string `json:"name"`
	State string `json:"state,omitempty"`
	Rate  string `json:"rate,omitempty"`
	// InfiniBand is true if it needs no RoCE GID.
	InfiniBand bool `json:"infiniband,omitempty"`
	// Entries is the length of its GID table, 0 if unreadable. Index is RCCL's entry; Set is true
	// if it holds an address, RoCE is the version of the protocol, 0 if unknown. Local is true if
	// the address is only valid on one link.
	Entries int  `json:"gids,omitempty"`
	Index   int  `json:"index"`
	Set     bool `json:"set,omitempty"`
	RoCE    int  `json:"roce,omitempty"`
	Local   bool `json:"link_local,omitempty"`
	// Better is an entry with a routed RoCE v2 address, -1 if there is none.
	Better int `json:"better"`
}

// active reports whether the port has a link.
func (p Port) active() bool { return p.State == active }

// Folder is a process's view of the result folder.
type Folder struct {
	Path string `json:"path"`
	// Seen is true if the leader's file is there, with its text.
	Seen bool `json:"seen,omitempty"`
	// Why is why the leader cannot write there.
	Why string `json:"why,omitempty"`
}

// Limits of the facts, so that they stay small: a host with all GPUs partitioned has 64 devices,
// RCCL takes 32 ports.
const (
	maxDevices = 128
	maxPorts   = 32
	maxNames   = 16
	maxText    = 200
)

// bounded shortens a text that is too long.
func (f *Facts) bounded() {
	f.CPUs = cutList(f.CPUs)
	f.Libraries = slices.Clone(first(f.Libraries, maxNames))
	for _, text := range []*string{
		&f.Partitions, &f.Balancing, &f.Driver, &f.Bootstrap.Setting, &f.Bootstrap.Chosen, &f.Bootstrap.Leader, &f.RDMA.HCA,
	} {
		*text = cut(*text)
	}
	for i := range f.Libraries {
		f.Libraries[i] = record.Library{Name: cut(f.Libraries[i].Name), Version: cut(f.Libraries[i].Version)}
	}
	f.GPUs, f.Visible = first(f.GPUs, maxDevices), first(f.Visible, maxDevices)
	f.Bootstrap.Names, f.RDMA.Ports = first(f.Bootstrap.Names, maxNames), first(f.RDMA.Ports, maxPorts)
}

func first[T any](list []T, n int) []T { return list[:min(n, len(list))] }

// cut shortens a text to maxText characters, with a sign for the omission.
func cut(text string) string { return plain.Clip(text, maxText) }

// cutList drops a list of CPUs that is too long, because a part of it would be wrong.
func cutList(list string) string {
	if len(list) > 10*maxText {
		return ""
	}
	return list
}
