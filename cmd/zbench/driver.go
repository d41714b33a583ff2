package main

import (
	"context"
	"strings"

	"zbench/bench/device"
	"zbench/bench/engine"
	"zbench/bench/record"
	"zbench/internal/native"
	"zbench/rccl"
)

// collectivesDriver is a driver with what the record says of its machine.
type collectivesDriver struct {
	*rccl.Driver
	facts engine.Facts
}

// Facts describes the driver.
func (d *collectivesDriver) Facts() (facts engine.Facts, err error) {
	d.facts.Memory, err = d.DeviceMemory()
	return d.facts, err
}

// openCollectives opens the ranks of a sweep: the loopback's, or this machine's
// GPUs.
func openCollectives(ctx context.Context, s State, o libraryOptions, u *engine.Setup) (engine.Driver, error) {
	w := u.Spec.World
	cfg := rccl.Config{
		Native: native.Options{Backend: u.Spec.Backend, Getenv: s.Getenv},
		Ranks:  w.Size(), RanksPerDevice: w.Share(),
		CacheBytes: u.Cache, VerifyBudget: u.Spec.Sweep.VerifyBudget, Seed: u.Spec.Seed, Graphs: u.Spec.Sweep.GraphLaunches > 0,
	}
	simulated := u.Machine != nil
	tell := func() {}
	if simulated {
		cfg.Native.Machine = u.Machine.Text()
	} else {
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
	f := engine.Facts{Simulated: d.Simulated(), KernelDriver: driverVersion(s, u.Spec.Backend), Extrapolated: d.Extrapolated}
	if !simulated {
		if u.Cache > 0 {
			d.RotateOver(lastLevelCache(d.Devices()))
		}
		f.Devices = devicesOf(d.Devices())
	}
	for _, l := range d.Libraries() {
		f.Libraries = append(f.Libraries, record.Library{Name: l.Name, Version: l.Version, Path: l.Path})
	}
	return &collectivesDriver{d, f}, nil
}

// devicesOf describes the GPUs that were found, with their published peaks.
func devicesOf(found []native.DeviceInfo) []record.Device {
	var list []record.Device
	for _, d := range found {
		out := record.Device{Index: d.Index, Name: d.Name, PCI: d.PCI, Bytes: d.Memory}
		if p := peaks(d); p.Bandwidth > 0 {
			out.PeakBandwidth, out.PeakSource = &p.Bandwidth, strings.TrimSuffix(p.Source+", "+p.Date, ", ")
		}
		list = append(list, out)
	}
	return list
}

// peaks are what is published of a GPU, else what its attributes give.
func peaks(d native.DeviceInfo) device.Device {
	if p, ok := device.Lookup(d.Name); ok {
		return p
	}
	return device.ByAttributes(device.Attributes{
		Name: d.Name, Arch: d.Arch, Units: d.Units, MemoryClock: d.MemoryClock, BusWidth: d.BusWidth, L2: d.L2, Shared: d.SharedMax,
	})
}

// lastLevelCache is the largest of the devices', in bytes: what is published, or
// what the GPU itself says where that is more.
func lastLevelCache(devices []native.DeviceInfo) int64 {
	var most int64
	for _, d := range devices {
		most = max(most, peaks(d).Cache, d.L2)
	}
	return most
}

// driverFiles hold the version of the GPUs' kernel driver.
var driverFiles = []struct{ backend, name, path string }{
	{"rocm", "amdgpu", "/sys/module/amdgpu/version"},
	{"cuda", "nvidia", "/sys/module/nvidia/version"},
}

// driverVersion is the kernel driver with its version, empty if unknown: the driver of
// the kernel tree has no version of its own.
func driverVersion(s State, backend string) string {
	for _, f := range driverFiles {
		if f.backend != backend {
			continue
		}
		if text, err := s.FS.ReadFile(f.path); err == nil {
			return f.name + " " + strings.TrimSpace(string(text))
		}
	}
	return ""
}
