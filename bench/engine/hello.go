package engine

import (
	"fmt"
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/run/record"
)

// HostIDVariable replaces the host's name for RCCL and NCCL, which refuse two ranks on one GPU
// of one host (src/init.cc, "Duplicate GPU detected"; src/misc/utils.cc, getHostHash).
const HostIDVariable = "NCCL_HOSTID"

// Hello is a process's description of itself at registration, before anything is measured. It is
// sent as JSON.
type Hello struct {
	// FirstRank is the world rank of the process's first rank. The process has Ranks ranks.
	FirstRank int `json:"first_rank"`
	Ranks     int `json:"ranks"`
	// Host is the name of the process's host. PID is the process id on this host.
	Host string `json:"host"`
	PID  int    `json:"pid"`
	// HostID replaces the host's name for the library (NCCL_HOSTID); empty if not set. To the library,
	// processes with different values run on different hosts.
	HostID string `json:"host_id,omitempty"`
	// Build is the version of the process's zbench.
	Build record.Tool `json:"build"`
	// Backend is the provider. Facts describes the provider and the GPUs of the process's ranks, in order.
	Backend string `json:"backend"`
	Facts
	// Rows are the keys of the process's planned rows of kernels; absent for collectives.
	Rows []string `json:"rows,omitempty"`
}

func (h Hello) name() string { return fmt.Sprintf("process %d on %s", h.PID, h.Host) }

// host returns the name by which the library tells hosts apart.
func (h Hello) host() string {
	if h.HostID != "" {
		return HostIDVariable + "=" + h.HostID
	}
	return h.Host
}

// clash says that another process already has a GPU of this process, and what to do.
func (h Hello) clash(other Hello, pci string) error {
	switch {
	case h.HostID == "":
		return fmt.Errorf("%s and %s use the same GPU %s: give each process its own", other.name(), h.name(), pci)
	case h.Host != other.Host:
		return fmt.Errorf("%s and %s use the same GPU %s of one host, as %s says: give each host its own %s", other.name(), h.name(), pci, h.host(), HostIDVariable)
	}
	return fmt.Errorf("%s and %s use the same GPU %s of one host, as %s says: give each process its own GPU", other.name(), h.name(), pci, h.host())
}

// Together returns the facts of a world with this number of ranks. perGPU ranks share each GPU. The
// processes are in the order of their ranks. If a process does not fit the first process, the error names
// it and gives the reason.
func Together(world []Hello, ranks, perGPU int) (Facts, error) {
	if len(world) == 0 {
		return Facts{}, fmt.Errorf("no process of %d ranks has registered", ranks)
	}
	lead := world[0]
	all := Facts{Simulated: lead.Simulated, Libraries: lead.Libraries, KernelDriver: lead.KernelDriver, Memory: lead.Memory}
	next, used := 0, map[[2]string]Hello{}
	for _, h := range world {
		if h.FirstRank != next || h.Ranks < 1 {
			return all, fmt.Errorf("%s holds %d ranks from %d on; rank %d was expected next", h.name(), h.Ranks, h.FirstRank, next)
		}
		next += h.Ranks
		if err := lead.fits(h); err != nil {
			return all, err
		}
		for _, d := range h.Devices {
			at := [2]string{h.host(), d.PCI}
			if other, taken := used[at]; d.PCI != "" && taken && perGPU <= 1 {
				return all, h.clash(other, d.PCI)
			}
			used[at] = h
		}
		all.Devices = append(all.Devices, h.Devices...)
		all.NICs = slice.Distinct(append(all.NICs, h.NICs...))
		all.Memory = min(all.Memory, h.Memory)
		if !h.Simulated && !slices.Contains(all.Hosts, h.Host) {
			all.Hosts = append(all.Hosts, h.Host)
		}
	}
	if next != ranks {
		return all, fmt.Errorf("%d ranks have registered, the world has %d", next, ranks)
	}
	return all, nil
}

// fits reports a difference between two processes that prevents a common sweep.
func (h Hello) fits(other Hello) error {
	for _, x := range []struct{ what, ours, theirs string }{
		{"build of zbench", fmt.Sprint(h.Build), fmt.Sprint(other.Build)},
		{"backend", h.Backend, other.Backend},
		{"kind of times (simulated)", fmt.Sprint(h.Simulated), fmt.Sprint(other.Simulated)},
		{"set of library versions", versions(h.Libraries), versions(other.Libraries)},
	} {
		if x.ours != x.theirs {
			return fmt.Errorf("%s has another %s than %s: %s, not %s", other.name(), x.what, h.name(), x.theirs, x.ours)
		}
	}
	return nil
}

// versions returns the libraries with their versions; their paths may differ.
func versions(libraries []record.Library) string {
	return fmt.Sprint(slice.Map(libraries, func(l record.Library) string { return l.Name + " " + l.Version }))
}
