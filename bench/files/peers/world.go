package peers

import (
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/pattern"
	"zbench/bench/base/slice"
	"zbench/bench/run/record"
)

// deviceRE matches a line of the device list. Pid was added in 2018, and Group was added in 2022.
// The bus address was first printed as [0x05] and later as [0000:05:00]. Now it is printed as
// [0000:05:00.0].
var deviceRE = pattern.New(`Rank +(\d{1,7})(?: +Group +(\d{1,7}))?(?: +Pid +(\d+))? +on +(\S+) +device +(\d+) +\[([^\]]*)\] *(.*)$`)

// device1RE matches a line of the device list of NCCL 1's tests, which ran in one process.
var device1RE = pattern.New(`^ +Device +(\d{1,7}) +-> +(\d+) +\[([^\]]*)\] *(.*)$`)

// device is one rank of the device list.
type device struct {
	rank, group    int
	pid, host, gpu string
	// ordinal is the device number of the runtime, and bus is the PCI address.
	ordinal, bus string
}

// location identifies the physical device, as far as the list allows.
func (d device) location() string { return d.host + " " + d.ordinal + " " + d.bus }

func (d device) process() string { return d.host + " " + d.pid }

func (d device) onHost() string { return d.host }

// parseDevice reads a line of the device list.
func parseDevice(text string) (device, bool) {
	if m := deviceRE.FindStringSubmatch(text); m != nil {
		rank, _ := strconv.Atoi(m[1])
		group, _ := strconv.Atoi(m[2])
		return device{rank, group, m[3], m[4], strings.TrimSpace(m[7]), m[5], strings.TrimSpace(m[6])}, true
	}
	if m := device1RE.FindStringSubmatch(text); m != nil {
		rank, _ := strconv.Atoi(m[1])
		return device{rank: rank, pid: "1", host: "", gpu: strings.TrimSpace(m[4]), ordinal: m[2], bus: strings.TrimSpace(m[3])}, true
	}
	return device{}, false
}

// world is one device list.
type world struct {
	devices []device
	byRank  map[[2]int]device
}

func newWorld() *world { return &world{byRank: map[[2]int]device{}} }

// add adds a device to the list. It returns false if another process already has the rank: the line
// then belongs to another world.
func (w *world) add(d device) bool {
	key := [2]int{d.group, d.rank}
	if old, ok := w.byRank[key]; ok {
		return old == d
	}
	w.byRank[key] = d
	w.devices = append(w.devices, d)
	return true
}

// shape summarises a device list.
type shape struct {
	record.World
	// comm is the number of ranks in one communicator. It is the number of all ranks, unless
	// NCCL_TESTS_SPLIT divides them into groups.
	comm, commNodes int
	groups          int
	// gaps is true if ranks below the highest one are missing. sameDevice is true if two ranks have
	// the same device of the same host.
	gaps, sameDevice, mixedGPUs bool
}

// shape summarises a device list.
func (w *world) shape() shape {
	var s shape
	first := w.devices[0]
	hosts, _ := slice.Group(w.devices, device.onHost)
	groups, of := slice.Group(w.devices, func(d device) int { return d.group })
	comm := of[first.group]
	commHosts, _ := slice.Group(comm, device.onHost)
	seats, _ := slice.Group(w.devices, device.location)
	gpus, _ := slice.Group(w.devices, func(d device) string { return d.gpu })
	gpus = slice.Where(gpus, given)
	top := slice.Most(w.devices, func(d device) int { return d.rank })
	apart := slices.ContainsFunc(w.devices, func(d device) bool { return d.ordinal != first.ordinal || d.bus != first.bus })
	s.Hosts, s.mixedGPUs = slice.Where(hosts, given), len(gpus) > 1
	if len(gpus) == 1 {
		s.GPU = gpus[0]
	}
	// If every process sees one GPU and all GPUs have the same address, devices differ only by the
	// host's name.
	s.sameDevice = len(seats) < len(w.devices) && (apart || len(hosts) == 1)
	s.groups, s.Ranks, s.Nodes = len(groups), len(w.devices), len(hosts)
	s.comm, s.commNodes = len(comm), len(commHosts)
	if s.groups == 1 && top+1 != s.Ranks {
		s.gaps, s.Ranks, s.comm, s.Nodes, s.commNodes = true, top+1, top+1, 0, 0
	}
	if s.sameDevice {
		s.Nodes, s.commNodes = 0, 0
	}
	s.GPUsPerNode = evenShare(s.Ranks, s.Nodes)
	if first.pid != "" && !s.gaps {
		processes, _ := slice.Group(w.devices, device.process)
		s.GPUsPerProcess = evenShare(len(w.devices), len(processes))
	}
	return s
}

func given(text string) bool { return text != "" }

// evenShare returns total/parts if it is a whole number, else 0 for unknown.
func evenShare(total, parts int) int {
	if parts == 0 || total%parts != 0 {
		return 0
	}
	return total / parts
}
