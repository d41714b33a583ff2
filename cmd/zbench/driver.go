package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"zbench/bench/answers/fleet/rails"
	"zbench/bench/base/slice"
	"zbench/bench/engine"
	"zbench/bench/hardware/backend"
	"zbench/bench/hardware/device"
	"zbench/bench/hardware/policy"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/internal/native"
	"zbench/internal/ras"
	"zbench/internal/topo"
	"zbench/rccl"
)

// collectivesDriver is a driver with the facts about its machine for the record.
type collectivesDriver struct {
	*rccl.Driver
	facts engine.Facts
	// witness asks the library's own service about the ranks; nil if the library has none.
	witness func() *record.Witness
	// counting reads the counters of the node's NICs; nil if this process does not read them.
	counting *topo.Counting
}

var _, _ plan.Witnessing = (*collectivesDriver)(nil), (*team)(nil)

// Witness asks the library's own service how far the ranks got. It returns nil in a simulation,
// which has no such service.
func (d *collectivesDriver) Witness() *record.Witness {
	if d.witness == nil {
		return nil
	}
	return d.witness()
}

// witnessOf returns a function that asks RCCL's service on this host. The request has its own time
// limit, because the answer is needed even if the sweep is being cancelled.
func witnessOf(s State) func() *record.Witness {
	if s.Dial == nil {
		return nil
	}
	return func() *record.Witness { return ras.Ask(context.Background(), s.Dial, s.Getenv(ras.AddressVariable)) }
}

// Counters returns the counters of this node's NICs.
func (d *collectivesDriver) Counters() []record.NICCounters { return d.counting.Read() }

// Facts returns the facts about the machine for the record.
func (d *collectivesDriver) Facts() (facts engine.Facts, err error) {
	d.facts.Memory, err = d.DeviceMemory()
	return d.facts, err
}

// opening is what every process needs to open its ranks. With several processes, the leader sends
// it to the followers.
type opening struct {
	Backend string     `json:"backend"`
	World   spec.World `json:"world"`
	Seed    uint64     `json:"seed"`
	// Cache is the size, in bytes, of the last-level cache over which buffers rotate. VerifyBudget
	// is the memory for verified buffers, in bytes.
	Cache        int64 `json:"cache,omitempty"`
	VerifyBudget int64 `json:"verify_budget,omitempty"`
	// Calls says how the libraries are called.
	Calls policy.Calls `json:"calls,omitzero"`
	// Deadlines are the time limits of calls that can hang.
	Deadlines plan.Deadlines `json:"deadlines"`
	// Machine is the loopback's machine file; empty on hardware. Arena is the file that the
	// loopback's processes share.
	Machine []byte `json:"machine,omitempty"`
	Arena   string `json:"arena,omitempty"`
	// Counters is the root folder of the NIC counters; empty if none are read.
	Counters string `json:"counters,omitempty"`
	// Folder is the result folder. Owner is the text in its lock file, which names the leader.
	Folder string `json:"folder,omitempty"`
	Owner  string `json:"owner,omitempty"`
	// Kernels is the request for kernels that each process measures on its node; nil for
	// collectives.
	Kernels *spec.Spec `json:"kernels,omitempty"`
}

func openingOf(u *engine.Setup) opening {
	w := opening{
		Backend: u.Spec.Backend, World: u.Spec.World, Seed: u.Spec.Seed,
		Cache: u.Cache, VerifyBudget: u.Spec.Sweep.VerifyBudget, Calls: u.Spec.Sweep.Calls,
	}
	if u.Machine != nil {
		w.Machine = u.Machine.Text()
	}
	return w
}

// ranks returns the number of ranks per process.
func (w *opening) ranks() int { return w.World.GPUsPerProcess * w.World.Share() }

// openCollectives opens all ranks of a sweep in this process. These are the loopback's ranks, or
// the GPUs of this machine.
func openCollectives(ctx context.Context, s State, o libraryOptions, w *opening) (*collectivesDriver, error) {
	d, err := openRanks(ctx, s, o, w, rccl.Config{Ranks: w.World.Size()})
	if err == nil {
		d.counting = w.counting(s, 0)
	}
	return d, err
}

// counting opens the NIC counters of the node of a process.
func (w *opening) counting(s State, process int) *topo.Counting {
	if w.Counters == "" {
		return nil
	}
	node := s.Hostname()
	if len(w.Machine) > 0 {
		node = fmt.Sprint("n", process*w.ranks()/max(w.World.GPUsPerNode, 1))
	}
	return topo.NewCounting(treeFS{s.FS, w.Counters}, node)
}

// openShare opens the ranks of one process among several. process is the number of the process in
// the world. local is its number on its node.
func openShare(ctx context.Context, s State, o libraryOptions, w *opening, process, local int) (*collectivesDriver, error) {
	gpus := w.World.GPUsPerProcess
	cfg := rccl.Config{Ranks: w.ranks(), FirstRank: process * w.ranks(), World: w.World.Size()}
	if w.Arena != "" {
		cfg.Native.Share = &native.Share{File: w.Arena, Exists: process > 0, First: process * gpus, Count: gpus}
	}
	for i := 0; i < gpus && w.Arena == ""; i++ {
		cfg.Devices = append(cfg.Devices, local*gpus+i)
	}
	d, err := openRanks(ctx, s, o, w, cfg)
	if err == nil && local == 0 { // one process per node reads the counters
		d.counting = w.counting(s, process)
	}
	return d, err
}

// libraryLog returns the text of the log file to which the library of this process writes. In its
// name, %h stands for the host and %p for the process. It returns nil if the file is not known.
func (s State) libraryLog() []byte {
	host, _, _ := strings.Cut(s.Hostname(), ".")
	name := strings.NewReplacer("%h", host, "%p", strconv.Itoa(s.PID)).Replace(s.Getenv("NCCL_DEBUG_FILE"))
	if name == "" || strings.Contains(name, "%") {
		return nil
	}
	text, err := s.FS.ReadFile(name)
	if err != nil {
		return nil // the reader of the log then reports NOT CHECKED and says what to set
	}
	return text
}

// tuningLog returns the log if it contains the library's choices.
func (s State) tuningLog() ([]byte, bool) {
	level, systems := strings.ToUpper(s.Getenv("NCCL_DEBUG")), strings.Split(strings.ToUpper(s.Getenv("NCCL_DEBUG_SUBSYS")), ",")
	if level != "INFO" && level != "TRACE" || !slices.Contains(systems, "TUNING") && !slices.Contains(systems, "ALL") {
		return nil, false
	}
	text := s.libraryLog()
	return text, text != nil
}

func openRanks(ctx context.Context, s State, o libraryOptions, w *opening, cfg rccl.Config) (*collectivesDriver, error) {
	cfg.Native.Backend, cfg.Native.Machine, cfg.Native.Getenv = w.Backend, w.Machine, s.Getenv
	cfg.Deadlines, cfg.Log = w.Deadlines, s.tuningLog
	cfg.RanksPerDevice, cfg.CacheBytes, cfg.VerifyBudget, cfg.Seed, cfg.Calls = w.World.Share(), w.Cache, w.VerifyBudget, w.Seed, w.Calls
	simulated := len(w.Machine) > 0
	tell := func() {}
	if !simulated {
		cache, err := o.fill(ctx, s, &cfg.Native)
		if err != nil {
			return nil, err
		}
		tell = func() { o.report(s, cache) }
	}
	d, err := rccl.Open(cfg)
	if err != nil {
		return nil, err
	}
	tell()
	f := engine.Facts{Simulated: d.Simulated(), KernelDriver: driverVersion(s, w.Backend), Extrapolated: d.Extrapolated}
	if !simulated {
		if w.Cache > 0 {
			d.RotateOver(lastLevelCache(d.Devices()))
		}
		f.Devices = devicesOf(d.Devices())
	}
	f.Libraries, f.NICs = d.Libraries(), nicsOf(s, f.Simulated)
	out := &collectivesDriver{Driver: d, facts: f}
	if !simulated { // the built-in loopback has no such service
		out.witness = witnessOf(s)
	}
	return out, nil
}

// nicsOf returns the kinds of NICs in this node. A simulation has none, because the NICs of its
// host have no meaning.
func nicsOf(s State, simulated bool) []record.NICKind {
	if simulated {
		return nil
	}
	n, _ := topo.Read(treeFS{s.FS, "/"}, topo.Inputs{}) // Read only fails if there are inputs
	return n.Kinds()
}

// devicesOf describes the GPUs, with their published peak bandwidths.
func devicesOf(found []native.DeviceInfo) []record.Device {
	return slice.Map(found, func(d native.DeviceInfo) record.Device {
		out := record.Device{Index: d.Index, Name: d.Name, PCI: d.PCI, Bytes: d.Memory}
		if p := peaks(d); p.Bandwidth > 0 {
			out.PeakBandwidth, out.PeakSource = &p.Bandwidth, strings.TrimSuffix(p.Source+", "+p.Date, ", ")
		}
		return out
	})
}

// peaks returns the published figures of a GPU, or figures from its attributes if none are
// published.
func peaks(d native.DeviceInfo) device.Device {
	if p, ok := device.Lookup(d.Name); ok {
		return p
	}
	return device.ByAttributes(device.Attributes{
		Name: d.Name, Arch: d.Arch, Units: d.Units, MemoryClock: d.MemoryClock, BusWidth: d.BusWidth, L2: d.L2, Shared: d.SharedMax,
	})
}

// lastLevelCache returns the size, in bytes, of the largest last-level cache of the devices. For
// each device it uses the published size or the size that the device reports, whichever is larger.
func lastLevelCache(devices []native.DeviceInfo) int64 {
	return slice.Most(devices, func(d native.DeviceInfo) int64 { return max(peaks(d).Cache, d.L2) })
}

// driverVersion returns the name and version of the kernel driver. It is empty if the version is
// unknown: the driver in the kernel's source tree has no version of its own.
func driverVersion(s State, of string) string {
	v, known := backend.Of(of)
	if !known {
		return ""
	}
	text, err := s.FS.ReadFile(v.DriverFile)
	if err != nil {
		return ""
	}
	return v.DriverName + " " + strings.TrimSpace(string(text))
}

func addCountersFlag(f *pflag.FlagSet, to *string) {
	f.StringVar(to, "counters", "auto", "where the counters of NICs are read before and after each case: auto is this machine's, on the loopback none, or simulated ones for rails; off; or a folder with a tree of sysfs")
}

// countersRoot returns the root folder of the NIC counters; empty if none are read. A simulation
// reads none, because the NICs of its host have no meaning.
func countersRoot(asked string, simulated bool) string {
	switch {
	case asked == "off" || asked == "auto" && simulated:
		return ""
	case asked == "auto" || asked == "":
		return "/"
	}
	return asked
}

// byPlace returns the increases of the counters of each GPU's NIC, by the place of the GPU.
func byPlace(rose []record.NICCounters, nodes []string) map[rails.Place]record.NICCounters {
	out := map[rails.Place]record.NICCounters{}
	for _, c := range rose {
		if node := slices.Index(nodes, c.Node); node >= 0 && c.GPU >= 0 {
			out[rails.Place{Node: node, GPU: c.GPU}] = c
		}
	}
	return out
}

// withPairs gives a simulated machine the times of messages between pairs.
func withPairs(u *engine.Setup) error {
	if u.Machine == nil {
		return nil
	}
	f, err := fabric.ByName(u.Spec.Fabric)
	if err == nil {
		u.Machine, err = f.Resolve(u.Spec.World, fabric.Conditions{Seed: u.Spec.Seed, Faults: u.Spec.Faults, Groups: u.Spec.Sweep.Groups, Strides: u.Spec.Sweep.Strides, Pairs: true})
	}
	return err
}
