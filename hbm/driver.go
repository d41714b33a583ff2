package hbm

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/hardware/backend"
	"zbench/bench/hardware/device"
	"zbench/bench/run/record"
	"zbench/internal/native"
)

// mostBlocks is the largest grid: HIP requires fewer than 2^32 threads, and a buffer of sums has
// one word per block.
const mostBlocks = 1 << 21

// Config describes what to open.
type Config struct {
	Native native.Choice
	// Devices are the indices of the devices to open; an empty list opens the first device. The
	// value All opens every device.
	Devices []int
	All     bool
	// Host is true if the loopback uses the wall clock. The device is then the host's memory,
	// described by HostFacts.
	Host      bool
	HostFacts HostFacts
	Seed      uint64
	// Files are the sources of a fused kernel and of its comparisons. The streams leave it empty.
	Files []string
	// Warm is the time that real work runs before the first sample, in seconds; use DefaultWarm.
	Warm float64
	// Batch is the least duration in seconds of a batch between two events; 0 means 2 ms. A
	// simulated clock needs no minimum.
	Batch float64
	Sense Sense
	// Peak overrides the published peak bandwidth, in bytes per second; 0 keeps the published one.
	Peak float64
	// Unchecked is true if results are not verified.
	Unchecked bool
}

// Sense reads power and temperature of the GPU at a PCI address. A nil Sense reads nothing.
type Sense func(pci string) record.Conditions

// Of reads a device's conditions from the operating system, or else from the vendor's library. A
// device that is not a GPU has no conditions, even if it has a PCI address.
func (s Sense) Of(p *native.Provider, d record.Device) record.Conditions {
	if s == nil || d.PCI == "" {
		return record.Conditions{}
	}
	if c := s(d.PCI); c != (record.Conditions{}) {
		return c
	}
	watts, limit, celsius, lowered := p.Sense(d.PCI)
	var by []string
	for _, x := range []struct {
		reason native.Lowered
		name   string
	}{{native.LoweredByHeat, record.ByTemperature}, {native.LoweredByPower, record.ByPower}, {native.LoweredByHardware, record.ByHardware}} {
		if lowered&x.reason != 0 {
			by = append(by, x.name)
		}
	}
	return record.Conditions{Power: watts, PowerLimit: limit, Temperature: celsius, LimitedBy: strings.Join(by, ", ")}
}

// Kernel sources: the streams, their data, the checks, and the data of fused kernels.
const (
	streamFile = "stream.hip"
	dataFile   = "data.hip"
	checkFile  = "verify.hip"
	stepsFile  = "norm_steps.hip"
)

// DefaultWarm is the warm-up in seconds that brings clocks and caches to a steady state.
const DefaultWarm = 50e-3

// unit is one device with its kernels.
type unit struct {
	info    record.Device
	stream  native.Stream
	modules map[string]*native.Module // modules by file name
	wave    int64
	// `few` is true if a norm's launch may reduce the threads per row. It is false on AMD, because
	// AMD's kernels are built for a fixed number of threads.
	few bool
	// The arena holds inputs of the type and content that `filled` names.
	filled string
	// arena holds the arrays. The result of a check is in `found`. The buffer `sums` has one word
	// per block.
	arena, found, sums native.Buffer
}

// Driver measures on its open devices. It is not safe for concurrent use, except Cancel.
type Driver struct {
	p     *native.Provider
	cfg   Config
	units []*unit
	timer *native.Timer
	// array is the size of one allocated array in bytes.
	array int64
	// launches holds the time of a launch that moves almost no data, in seconds. Its index is the
	// kernel, then the device.
	launches map[string][]float64
	// batch is the least duration of a batch between two events, in seconds.
	batch float64
}

// Open opens the provider and the devices, and compiles the kernels.
func Open(cfg Config) (*Driver, error) {
	cfg.Native.Needs = native.KernelNeeds
	p, err := native.Open(cfg.Native)
	if err != nil {
		return nil, err
	}
	p.MoveData(true) // the result of every launch is checked
	d := &Driver{p: p, cfg: cfg, batch: cmp.Or(cfg.Batch, batchSeconds)}
	if err := d.open(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Driver) open() error {
	if len(d.cfg.Devices) == 0 {
		d.cfg.Devices = []int{0}
	}
	var err error
	if d.cfg.Devices, err = d.p.Choose(d.cfg.All, d.cfg.Devices...); err != nil {
		return err
	}
	var all []native.Stream
	d.p.Expect(len(d.sources()), d.cfg.Devices)
	for _, index := range d.cfg.Devices {
		u := &unit{}
		d.units = append(d.units, u)
		if err := d.openUnit(u, index); err != nil {
			return err
		}
		all = append(all, u.stream)
	}
	if d.timer, err = d.p.NewTimer(all); err != nil {
		return err
	}
	switch d.units[0].info.Kind {
	case record.GPU, record.OnLoopback:
		return d.timer.CountClocks()
	}
	return nil // the host has no clock counters, and emulated kernels are not timed
}

// sources are the kernel sources of each device.
func (d *Driver) sources() []string {
	files := d.cfg.Files
	if len(files) == 0 {
		files = []string{dataFile}
	}
	all := slices.Concat([]string{streamFile, checkFile}, files)
	slices.Sort(all)
	return slices.Compact(all) // families share files, and a module loaded twice would never be unloaded
}

func (d *Driver) openUnit(u *unit, index int) (err error) {
	if u.info, err = d.describe(index); err != nil {
		return err
	}
	about, err := d.p.Device(index)
	if err != nil {
		return err
	}
	u.wave, u.few = int64(about.Wave), backend.Like(d.p.Backend).FewThreads
	if u.stream, err = d.p.NewStream(index); err != nil {
		return err
	}
	u.modules = map[string]*native.Module{}
	for _, file := range d.sources() {
		if u.modules[file], err = d.p.LoadModule(index, file, nil); err != nil {
			return err
		}
	}
	if u.found, err = d.p.Alloc(index, 64); err != nil {
		return err
	}
	u.sums, err = d.p.Alloc(index, 8*mostBlocks)
	return err
}

// describe returns a device's facts with its published or given peak.
func (d *Driver) describe(index int) (record.Device, error) {
	if d.cfg.Host {
		h := d.cfg.HostFacts
		out := record.Device{Index: index, Name: h.Name, Kind: record.HostMemory, Units: h.CPUs, Bytes: h.Memory, Cache: h.Cache, PeakBandwidth: d.peak()}
		if out.PeakBandwidth != nil {
			out.PeakSource = givenPeak
		}
		return out, nil
	}
	kind := record.OnLoopback
	if len(d.cfg.Files) > 0 {
		kind = record.Checked
	}
	out, err := Describe(d.p, index, kind)
	if d.cfg.Peak > 0 && out.Kind == record.GPU {
		out.PeakBandwidth, out.PeakSource = d.peak(), givenPeak
	}
	return out, err
}

// Describe returns the facts of a provider's device, with published figures. A device on the
// loopback has no published figures; `simulated` becomes its kind.
func Describe(p *native.Provider, index int, simulated string) (record.Device, error) {
	info, err := p.Device(index)
	if err != nil {
		return record.Device{}, err
	}
	_, total, err := p.Memory(index)
	if err != nil {
		return record.Device{}, err
	}
	out := record.Device{Index: index, Name: info.Name, Kind: record.GPU, Units: info.Units, Bytes: total, Cache: info.L2, Clock: info.Clock}
	if p.Simulated {
		out.Kind = simulated
		return out, nil
	}
	known, ok := device.Lookup(info.Name)
	if !ok {
		known = device.ByAttributes(device.Attributes{Name: info.Name, Arch: info.Arch, Units: info.Units, MemoryClock: info.MemoryClock, BusWidth: info.BusWidth, L2: info.L2, Shared: info.Shared})
	}
	out.PCI = info.PCI
	out.Cache, out.PeakSource = known.Cache, known.Source+", "+known.Date
	if known.Bandwidth > 0 {
		out.PeakBandwidth = &known.Bandwidth
	}
	return out, nil
}

// CacheResident reports whether a working set is below four times the device's last-level cache.
func CacheResident(d record.Device, set int64) bool { return d.Cache > 0 && set < 4*d.Cache }

// givenPeak is the source of a peak given by the user.
const givenPeak = "given with --peak"

// peak returns the peak that the user gave, nil if there is none.
func (d *Driver) peak() *float64 {
	if d.cfg.Peak <= 0 {
		return nil
	}
	return &d.cfg.Peak
}

// Devices returns the open devices.
func (d *Driver) Devices() []record.Device {
	return slice.Map(d.units, func(u *unit) record.Device { return u.info })
}

// Backend returns the name of the provider's backend.
func (d *Driver) Backend() string { return d.p.Backend }

// Libraries returns the provider's libraries.
func (d *Driver) Libraries() []record.Library { return d.p.Libraries }

// Free returns the smallest free memory of the devices, in bytes.
func (d *Driver) Free() (int64, error) {
	least := int64(1) << 62
	for _, u := range d.units {
		free, _, err := d.p.Memory(u.info.Index)
		if err != nil {
			return 0, err
		}
		least = min(least, free)
	}
	return least, nil
}

// Allocate reserves three arrays of the given size in bytes on every device. Call it once. Gaps
// between the arrays keep their starts out of the same cache sets and memory channels.
func (d *Driver) Allocate(array int64) error {
	d.array = roundUp(array, 4096)
	return d.AllocateBytes(3*d.array + arrayGap(3))
}

// at() returns the start of array k. Arrays 0 and 1 are the inputs, array 2 is the output.
func (d *Driver) at(u *unit, k int) native.Address {
	return native.Address{Buffer: u.arena, Offset: int64(k)*d.array + arrayGap(k)}
}

// Cancel makes the current timing end soon. Other goroutines may call it.
func (d *Driver) Cancel() { d.timer.Cancel() }

// Close frees everything. The first error is returned.
func (d *Driver) Close() error {
	if d.p == nil {
		return nil
	}
	var errs []error
	if d.timer != nil {
		d.timer.Close()
	}
	for _, u := range d.units {
		for _, m := range u.modules {
			errs = append(errs, m.Close())
		}
		for _, b := range []native.Buffer{u.arena, u.found, u.sums} {
			if b.Bytes > 0 {
				errs = append(errs, d.p.Free(b))
			}
		}
		if u.stream != (native.Stream{}) {
			errs = append(errs, d.p.FreeStream(u.stream))
		}
	}
	d.p.MoveData(false)
	d.p.Close()
	d.p = nil
	return errors.Join(errs...)
}
