package native

/*
#include "c/dl.h"
#include "c/shim.h"
*/
import "C"

import "fmt"

// DeviceInfo is a device's report about itself. A zero is an unknown value.
type DeviceInfo struct {
	Index int
	Name  string
	// PCI is the address as domain:bus:device.function.
	PCI string
	// Arch is the target of its code, such as sm_90; empty on AMD, where the compiler queries the
	// device itself.
	Arch string
	// CapabilityMajor and CapabilityMinor are NVIDIA's compute capability; AMD
	// gives the first two numbers of the architecture, 9 and 4 for gfx942.
	CapabilityMajor, CapabilityMinor int
	// Units are the compute units or multiprocessors, Wave the threads per wavefront, Dies the dies
	// (XCCs) with the units, which HIP reports from 7.0 on.
	Units, Wave, MaxThreads, Dies int
	// Shared is a block's shared memory (LDS) in bytes, SharedMax its limit on request, L2 the
	// cache in bytes.
	Shared, SharedMax, L2 int64
	// Clock and MemoryClock are in Hz, BusWidth the memory's in bits.
	Clock, MemoryClock float64
	BusWidth           int
	// Memory is the device's total memory, in bytes.
	Memory int64
}

// Device queries a device's name, address and limits. Unknown values are zero; an error means that
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
	_, d.Memory, _ = p.Memory(device) // zero if unknown, as with the others
	if form := p.vendorRow.Capability; form != "" {
		d.Arch = fmt.Sprintf(form, d.CapabilityMajor, d.CapabilityMinor)
	}
	return d, nil
}

// attribute returns zero if the device does not report it.
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
