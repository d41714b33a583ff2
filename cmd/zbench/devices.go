package main

import (
	"strings"

	"zbench/bench/device"
	"zbench/bench/record"
	"zbench/internal/native"
)

// describe puts the GPUs that were found into the record, with their published
// peaks.
func (u *setup) describe(rec *record.Record, devices []native.DeviceInfo) {
	if u.share > 1 {
		rec.World.RanksPerGPU = u.share
	}
	for _, d := range devices {
		out := record.Device{Index: d.Index, Name: d.Name, PCI: d.PCI, Bytes: d.Memory}
		if p := peaks(d); p.Bandwidth > 0 {
			out.PeakBandwidth, out.PeakSource = &p.Bandwidth, strings.TrimSuffix(p.Source+", "+p.Date, ", ")
		}
		rec.World.Devices = append(rec.World.Devices, out)
		switch rec.World.GPU {
		case "", d.Name:
			rec.World.GPU = d.Name
		default:
			rec.World.GPU = "several kinds"
		}
	}
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

// driverVersion is the kernel driver with its version, empty where it is not
// told: a driver that came with the kernel has none of its own.
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
