package native

/*
#include "c/dl.h"
#include "c/shim.h"
*/
import "C"

import "fmt"

// DeviceInfo has the facts that a device reports about itself. Zero means unknown.
type DeviceInfo struct {
	Index int
	Name  string
	// PCI is the PCI address as domain:bus:device.function.
	PCI string
	// Arch is the compiler's target for the device, such as sm_90. It is empty on AMD, where the
	// compiler queries the device itself.
	Arch string
	// CapabilityMajor and CapabilityMinor are NVIDIA's compute capability. AMD
	// reports the first two numbers of the architecture, 9 and 4 for gfx942.
	CapabilityMajor, CapabilityMinor int
	// Units is the number of compute units or multiprocessors. Wave is the number of threads per
	// wave. MaxThreads is the largest number of threads per block. Dies is the number of dies
	// (XCCs) that carry the units; HIP reports it from 7.0 on.
	Units, Wave, MaxThreads, Dies int
	// Sizes in bytes. Shared is the shared memory (LDS) per block by default, and SharedMax is the
	// largest size that a launch can request. L2 is the size of the L2 cache.
	Shared, SharedMax, L2 int64
	// Clock and MemoryClock are in Hz; BusWidth is the width of the memory bus in bits.
	Clock, MemoryClock float64
	BusWidth           int
	// Memory is the device's total memory, in bytes.
	Memory int64
}

// Device queries a device's name, address and limits. Unknown values are zero. An error means that
// the device cannot be used.
func (p *Provider) Device(device int) (DeviceInfo, error) {
	d := DeviceInfo{Index: device}
	var text [256]C.char
	if C.zb_device_name(p.table, &text[0], C.int(len(text)), C.int(device)) == 0 {
		d.Name = C.GoString(&text[0])
	}
	if C.zb_device_pci(p.table, &text[0], C.int(len(text)), C.int(device)) == 0 {
		d.PCI = C.GoString(&text[0])
	}
	var kHz, memoryKHz, shared, sharedMax, l2 int
	for field, to := range map[string]*int{
		"capabilityMajor": &d.CapabilityMajor, "capabilityMinor": &d.CapabilityMinor,
		"multiprocessorCount": &d.Units, "warpSize": &d.Wave, "maxThreadsPerBlock": &d.MaxThreads, "dieCount": &d.Dies,
		"maxSharedPerBlock": &shared, "maxSharedPerBlockOptin": &sharedMax, "l2CacheSize": &l2,
		"clockRate": &kHz, "memoryClockRate": &memoryKHz, "memoryBusWidth": &d.BusWidth,
	} {
		*to = p.attribute(field, device)
	}
	if d.Wave == 0 {
		var v C.int
		code := C.zb_attribute_of(p.table, &v, C.zb_attribute_at(0).number[p.vendorRow.Column], C.int(device))
		return d, p.runtime("attributes", device, code)
	}
	d.Shared, d.SharedMax, d.L2 = int64(shared), int64(max(shared, sharedMax)), int64(l2)
	d.Clock, d.MemoryClock = float64(kHz)*1e3, float64(memoryKHz)*1e3
	_, d.Memory, _ = p.Memory(device) // an error leaves Memory at zero, which means unknown
	if form := p.vendorRow.Capability; form != "" {
		d.Arch = fmt.Sprintf(form, d.CapabilityMajor, d.CapabilityMinor)
	}
	return d, nil
}

// attribute returns an attribute of a device; zero if the device does not report it.
func (p *Provider) attribute(field string, device int) int {
	for i := range C.zb_attribute_count() {
		a := C.zb_attribute_at(i)
		if C.GoString(a.field) != field || a.number[p.vendorRow.Column] == 0 {
			continue
		}
		var v C.int
		if C.zb_attribute_of(p.table, &v, a.number[p.vendorRow.Column], C.int(device)) == 0 {
			return int(v)
		}
	}
	return 0
}
