// Package preflight checks all processes of a run before anything is measured: limits,
// ports, GPUs, network interfaces, RDMA NICs, libraries, clocks, the result folder.
//
// Every process gathers its [Facts] with [Collect] and sends them when it registers. The
// leader judges all of them together ([Judge]) and gets a [Report]: a row for each check,
// with the ranks and hosts that it holds for, why it matters, and the setting that mends
// it. [Report.Refused] is the error of a run that must not start. What a process cannot
// tell is not checked, which is neither a pass nor a failure. To add a check is one row of
// the table in checks.go.
package preflight

import (
	"slices"

	"zbench/bench/plain"
	"zbench/bench/record"
	"zbench/internal/linux"
)

// Facts are what one process tells of itself and its host. They are sent as JSON, once.
type Facts struct {
	// Simulated tells that the GPUs are the loopback's: what holds for hardware is not
	// checked.
	Simulated bool `json:"simulated,omitempty"`
	// Clock is the host's wall clock when the facts were gathered, in nanoseconds since
	// 1970.
	Clock int64 `json:"clock_ns"`
	// Heard is the same when the leader's message arrived that asked for them; 0 if unknown.
	Heard int64 `json:"heard_ns,omitempty"`
	// CPUs is the list of those that this process may use, such as "0-47,96-143"; empty if
	// unknown. Quota is the CPU time that its cgroup allows, in CPUs; 0 if there is no limit.
	CPUs  string  `json:"cpus,omitempty"`
	Quota float64 `json:"cpu_quota,omitempty"`
	// Locked is the limit of locked memory in bytes, -1 for none; absent if unknown. Locks
	// tells that the limit does not hold, because the process has CAP_IPC_LOCK.
	Locked *int64 `json:"memlock,omitempty"`
	Locks  bool   `json:"ipc_lock,omitempty"`
	// OpenFiles is the limit of open files, -1 for none; absent if unknown.
	OpenFiles *int64 `json:"open_files,omitempty"`
	// Shared is the space in /dev/shm; absent if unknown.
	Shared *Space `json:"shm,omitempty"`
	// NoShared tells that there is no /dev/shm.
	NoShared bool `json:"no_shm,omitempty"`
	// Ports is the range of ports that connections begin at; absent if unknown.
	Ports *linux.PortRange `json:"ports,omitempty"`
	// PXN tells that messages to another rail leave through a local GPU of that rail, which
	// saves connections (NCCL_PXN_DISABLE).
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
	// GPUs are those that the process drives, Visible those that its runtime shows, by PCI
	// address; none if unknown.
	GPUs    []string `json:"gpus,omitempty"`
	Visible []string `json:"visible,omitempty"`
	// Hiding are the variables that hide GPUs and are set.
	Hiding []string `json:"hiding,omitempty"`
	// Folder is how the process sees the result folder; absent if it was not looked for.
	Folder *Folder `json:"folder,omitempty"`
}

// Space is a file system's, in bytes.
type Space struct {
	Size int64 `json:"size"`
	Free int64 `json:"free"`
}

// Bootstrap is the interface over which RCCL's ranks find each other.
type Bootstrap struct {
	// Setting is NCCL_SOCKET_IFNAME.
	Setting string `json:"setting,omitempty"`
	// Chosen is the interface that RCCL takes; empty if there is none.
	Chosen string `json:"chosen,omitempty"`
	// Leader is the interface towards the leader, empty if unknown; Address this host's on
	// it.
	Leader  string `json:"leader,omitempty"`
	Address string `json:"address,omitempty"`
	// Names are the interfaces with an address.
	Names []string `json:"names,omitempty"`
	// Unknown is why it is not known what RCCL takes.
	Unknown string `json:"unknown,omitempty"`
}

// RDMA are a host's RDMA NICs as far as RCCL's settings choose them.
type RDMA struct {
	// HCA is NCCL_IB_HCA, GID the number in NCCL_IB_GID_INDEX; absent if it is not set.
	HCA string `json:"hca,omitempty"`
	GID *int   `json:"gid_index,omitempty"`
	// Off tells that RCCL uses no RDMA (NCCL_IB_DISABLE).
	Off bool `json:"off,omitempty"`
	// All is the number of ports of the host, Ports are those that NCCL_IB_HCA chooses.
	All   int    `json:"all"`
	Ports []Port `json:"ports,omitempty"`
	// NoAccess tells that the host has NICs, and the process no device nodes of them.
	NoAccess bool `json:"no_access,omitempty"`
}

// Port is a port of a NIC.
type Port struct {
	// Name is the device's and the port's: ionic_0:1.
	Name  string `json:"name"`
	State string `json:"state,omitempty"`
	Rate  string `json:"rate,omitempty"`
	// InfiniBand tells that it needs no RoCE GID.
	InfiniBand bool `json:"infiniband,omitempty"`
	// Entries is the length of its GID table, 0 if it cannot be read. Index is the entry
	// that RCCL takes; Set tells that it holds an address, RoCE the version of the protocol, 0
	// if unknown. Local tells that the address holds for one link only.
	Entries int  `json:"gids,omitempty"`
	Index   int  `json:"index"`
	Set     bool `json:"set,omitempty"`
	RoCE    int  `json:"roce,omitempty"`
	Local   bool `json:"link_local,omitempty"`
	// Better is an entry with a RoCE v2 address that is routed, -1 if there is none.
	Better int `json:"better"`
}

// active reports whether the port has a link.
func (p Port) active() bool { return p.State == active }

// Folder is how a process sees the result folder.
type Folder struct {
	Path string `json:"path"`
	// Seen tells that the leader's file is there, with its text.
	Seen bool `json:"seen,omitempty"`
	// Why is why the leader cannot write there.
	Why string `json:"why,omitempty"`
}

// The most that facts hold, so that they stay small: a host with all GPUs partitioned has
// 64 devices, RCCL takes 32 ports.
const (
	maxDevices = 128
	maxPorts   = 32
	maxNames   = 16
	maxText    = 200
)

// bounded cuts what is too long.
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

// cut shortens a text to maxText characters, with a sign that it did.
func cut(text string) string { return plain.Clip(text, maxText) }

// cutList drops a list of CPUs that is too long: a part of it would be wrong.
func cutList(list string) string {
	if len(list) > 10*maxText {
		return ""
	}
	return list
}
