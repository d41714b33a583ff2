// Package preflight checks all processes of a run before anything is measured: limits, ports, GPUs,
// network interfaces, RDMA NICs, libraries, clocks, the result folder.
//
// Every process gathers its [Facts] with [Collect] and sends them when it registers. The leader
// judges all of them together ([Judge]) and gets a [Report]. The report has one row per check, with
// the ranks and hosts concerned, the reason why it matters, and the setting that fixes it.
// [Report.Refused] is the error of a run that must not start. A check without data is "not
// checked", which is neither a pass nor a failure. A new check is one row of the table in
// checks.go.
package preflight

import (
	"slices"

	"zbench/bench/base/plain"
	"zbench/bench/run/record"
	"zbench/internal/linux"
)

// Facts are one process's facts about itself and its host. They are sent once, as JSON.
type Facts struct {
	// Simulated is true if the loopback simulates the GPUs. Hardware checks then do not apply.
	Simulated bool `json:"simulated,omitempty"`
	// Clock is the host's wall clock when the facts were gathered, in nanoseconds since
	// 1970.
	Clock int64 `json:"clock_ns"`
	// Heard is the wall clock when the leader's request arrived, in nanoseconds since 1970; 0 if
	// unknown.
	Heard int64 `json:"heard_ns,omitempty"`
	// CPUs is the list of CPUs that this process may use, such as "0-47,96-143"; empty if unknown.
	// Quota is the CPU time that its cgroup allows, as a number of CPUs; 0 if there is no limit.
	CPUs  string  `json:"cpus,omitempty"`
	Quota float64 `json:"cpu_quota,omitempty"`
	// Locked is the limit of locked memory in bytes, −1 for no limit; absent if unknown. Locks is
	// true if the limit does not apply because the process has CAP_IPC_LOCK.
	Locked *int64 `json:"memlock,omitempty"`
	Locks  bool   `json:"ipc_lock,omitempty"`
	// OpenFiles is the limit of open files, −1 for no limit; absent if unknown.
	OpenFiles *int64 `json:"open_files,omitempty"`
	// Shared is the size and the free space of /dev/shm; absent if unknown.
	Shared *Space `json:"shm,omitempty"`
	// NoShared is true if there is no /dev/shm.
	NoShared bool `json:"no_shm,omitempty"`
	// Ports is the range of local ports for connections; absent if unknown.
	Ports *linux.PortRange `json:"ports,omitempty"`
	// PXN is true if messages to another rail leave through a local GPU of that rail. This saves
	// connections (NCCL_PXN_DISABLE).
	PXN bool `json:"pxn,omitempty"`
	// Partitions are the modes of the host's GPUs, such as "8 x SPX/NPS1"; empty if unknown.
	Partitions string `json:"partitions,omitempty"`
	// Balancing is the kernel's setting of NUMA balancing; empty if unknown.
	Balancing string `json:"numa_balancing,omitempty"`
	// Libraries are the process's libraries, with versions but without paths. Driver is the kernel
	// driver of the GPUs.
	Libraries []record.Library `json:"libraries,omitempty"`
	Driver    string           `json:"driver,omitempty"`
	Bootstrap Bootstrap        `json:"bootstrap"`
	RDMA      RDMA             `json:"rdma"`
	// GPUs are the GPUs of this process, by PCI address. Visible lists the GPUs that
	// its runtime shows, by PCI address. Both are empty if unknown.
	GPUs    []string `json:"gpus,omitempty"`
	Visible []string `json:"visible,omitempty"`
	// Hiding lists the variables that hide GPUs and are set.
	Hiding []string `json:"hiding,omitempty"`
	// Folder is how the process sees the result folder; absent if it did not look.
	Folder *Folder `json:"folder,omitempty"`
}

// Space is the size of a file system and its free space, in bytes.
type Space struct {
	Size int64 `json:"size"`
	Free int64 `json:"free"`
}

// Bootstrap is the interface over which RCCL's ranks find each other.
type Bootstrap struct {
	// Setting is the value of NCCL_SOCKET_IFNAME.
	Setting string `json:"setting,omitempty"`
	// Chosen is the interface that RCCL uses; empty if there is none.
	Chosen string `json:"chosen,omitempty"`
	// Leader is the interface towards the leader, empty if unknown. Address is this
	// host's address on it.
	Leader  string `json:"leader,omitempty"`
	Address string `json:"address,omitempty"`
	// Names are the interfaces that have an address.
	Names []string `json:"names,omitempty"`
	// Unknown is the reason why RCCL's choice is not known.
	Unknown string `json:"unknown,omitempty"`
}

// RDMA describes a host's RDMA NICs and which of them RCCL uses.
type RDMA struct {
	// HCA is the value of NCCL_IB_HCA. GID is the number in NCCL_IB_GID_INDEX; absent if it is not
	// set.
	HCA string `json:"hca,omitempty"`
	GID *int   `json:"gid_index,omitempty"`
	// Off is true if RCCL uses no RDMA (NCCL_IB_DISABLE).
	Off bool `json:"off,omitempty"`
	// All is the number of ports on the host. Ports are the ports that NCCL_IB_HCA selects.
	All   int    `json:"all"`
	Ports []Port `json:"ports,omitempty"`
	// NoAccess is true if the host has NICs but the process has no device nodes for them.
	NoAccess bool `json:"no_access,omitempty"`
}

// Port is a port of a NIC.
type Port struct {
	// Name is the device and the port, such as ionic_0:1.
	Name  string `json:"name"`
	State string `json:"state,omitempty"`
	Rate  string `json:"rate,omitempty"`
	// InfiniBand is true for an InfiniBand port, which needs no RoCE GID.
	InfiniBand bool `json:"infiniband,omitempty"`
	// Entries is the length of the port's GID table, 0 if unreadable. Index is the entry that
	// RCCL uses. Set is true if that entry has an address. RoCE is its version of the protocol,
	// 0 if unknown. Local is true if its address is valid on one link only.
	Entries int  `json:"gids,omitempty"`
	Index   int  `json:"index"`
	Set     bool `json:"set,omitempty"`
	RoCE    int  `json:"roce,omitempty"`
	Local   bool `json:"link_local,omitempty"`
	// Better is the index of an entry with a routed RoCE v2 address, −1 if there is none.
	Better int `json:"better"`
}

// active() reports whether the port has a link.
func (p Port) active() bool { return p.State == active }

// Folder is how a process sees the result folder.
type Folder struct {
	Path string `json:"path"`
	// Seen is true if the leader's file is there with the right text.
	Seen bool `json:"seen,omitempty"`
	// Why is the reason why the leader cannot write to the folder.
	Why string `json:"why,omitempty"`
}

// Limits of the facts, so that they stay small. A host with all GPUs partitioned has 64 devices;
// RCCL uses at most 32 ports.
const (
	maxDevices = 128
	maxPorts   = 32
	maxNames   = 16
	maxText    = 200
)

// bounded() shortens texts and lists that are too long.
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

// cut() shortens a text to maxText characters and marks the omission.
func cut(text string) string { return plain.Clip(text, maxText) }

// cutList drops a list of CPUs that is too long, because a part of it would be wrong.
func cutList(list string) string {
	if len(list) > 10*maxText {
		return ""
	}
	return list
}
