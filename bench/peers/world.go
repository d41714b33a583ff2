package peers

import (
	"strconv"
	"strings"

	"zbench/bench/pattern"
	"zbench/bench/record"
)

// deviceRE is a line of the device list. Group came in 2022, Pid in 2018; the
// bus was [0x05], then [0000:05:00], then [0000:05:00.0].
var deviceRE = pattern.New(`Rank +(\d{1,7})(?: +Group +(\d{1,7}))?(?: +Pid +(\d+))? +on +(\S+) +device +(\d+) +\[([^\]]*)\] *(.*)$`)

// device1RE is a line of the device list of NCCL 1's tests, which ran in one
// process.
var device1RE = pattern.New(`^ +Device +(\d{1,7}) +-> +(\d+) +\[([^\]]*)\] *(.*)$`)

// device is one rank as the log lists it.
type device struct {
	rank, group    int
	pid, host, gpu string
	// ordinal is the runtime's number of the device, bus its PCI address.
	ordinal, bus string
}

// location identifies the device itself, as far as the list tells.
func (d device) location() string { return d.host + " " + d.ordinal + " " + d.bus }

func (d device) process() string { return d.host + " " + d.pid }

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
	procs   map[string]bool
}

func newWorld() *world { return &world{byRank: map[[2]int]device{}, procs: map[string]bool{}} }

// add puts a device into the list. It refuses a rank that another process
// holds already: the line is of another world.
func (w *world) add(d device) bool {
	key := [2]int{d.group, d.rank}
	if old, ok := w.byRank[key]; ok {
		return old == d
	}
	w.byRank[key] = d
	w.procs[d.process()] = true
	w.devices = append(w.devices, d)
	return true
}

// shape is the summary of a device list.
type shape struct {
	record.World
	// comm is the number of ranks in one communicator: all of them unless
	// NCCL_TESTS_SPLIT divides them into groups.
	comm, commNodes int
	groups          int
	// gaps is true where the list lacks ranks below its highest, sameDevice
	// where two ranks claim the same device of the same host.
	gaps, sameDevice, mixedGPUs bool
}

// shape counts a device list.
func (w *world) shape() shape {
	var s shape
	hosts, groups, gpus, seats := map[string]int{}, map[int]int{}, map[string]int{}, map[string]bool{}
	commHosts := map[string]bool{}
	top, alike := 0, true
	for _, d := range w.devices {
		if hosts[d.host]++; hosts[d.host] == 1 && d.host != "" {
			s.Hosts = append(s.Hosts, d.host)
		}
		groups[d.group]++
		if d.group == w.devices[0].group {
			commHosts[d.host] = true
		}
		if d.gpu != "" {
			gpus[d.gpu]++
			s.mixedGPUs = s.mixedGPUs || len(gpus) > 1
			s.GPU = d.gpu
		}
		seat := d.location()
		s.sameDevice = s.sameDevice || seats[seat]
		seats[seat] = true
		alike = alike && d.ordinal == w.devices[0].ordinal && d.bus == w.devices[0].bus
		top = max(top, d.rank)
	}
	// Where each process sees one GPU and all have the same address, only the
	// names of hosts tell devices apart.
	s.sameDevice = s.sameDevice && (!alike || len(hosts) == 1)
	s.groups, s.Ranks, s.Nodes = len(groups), len(w.devices), len(hosts)
	s.comm, s.commNodes = groups[w.devices[0].group], len(commHosts)
	if s.groups == 1 && top+1 != s.Ranks {
		s.gaps, s.Ranks, s.comm, s.Nodes, s.commNodes = true, top+1, top+1, 0, 0
	}
	if s.sameDevice {
		s.Nodes, s.commNodes = 0, 0
	}
	s.GPUsPerNode = evenShare(s.Ranks, s.Nodes)
	if w.devices[0].pid != "" && !s.gaps {
		s.GPUsPerProcess = evenShare(len(w.devices), len(w.procs))
	}
	if s.mixedGPUs {
		s.GPU = ""
	}
	return s
}

// evenShare is total/parts where that is whole, else 0 for not known.
func evenShare(total, parts int) int {
	if parts == 0 || total%parts != 0 {
		return 0
	}
	return total / parts
}
