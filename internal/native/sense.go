package native

/*
#include <stdlib.h>
#include "c/sense.h"
*/
import "C"

import (
	"strings"
	"unsafe"

	"zbench/bench/record"
)

// openSensors opens the vendor's library of management, which nothing needs.
func (p *Provider) openSensors(f *finder) {
	for _, path := range f.inFolders(f.v.Sensors, f.v.Sensors.Names) {
		library := f.try(&Search{Role: f.v.Sensors.Role, Library: f.v.Sensors.Name()}, path, false)
		if library == nil {
			continue
		}
		p.sensors = (*C.zb_sense)(C.calloc(1, C.size_t(unsafe.Sizeof(C.zb_sense{}))))
		if C.zb_sense_open(p.sensors, library) == 0 {
			p.closeSensors()
		}
		return
	}
}

// closeSensors keeps the library: it may have threads of its own.
func (p *Provider) closeSensors() {
	C.free(unsafe.Pointer(p.sensors))
	p.sensors = nil
}

// Sense reads power and temperature of the GPU with a PCI address from the vendor's library of
// management, and what lowers its clock; everything is zero without one.
func (p *Provider) Sense(pci string) (c record.Conditions) {
	if p.sensors == nil {
		return c
	}
	text := C.CString(pci)
	defer C.free(unsafe.Pointer(text))
	var mw, limit, celsius C.uint
	var bits C.ulonglong
	C.zb_sense_read(p.sensors, text, &mw, &limit, &celsius, &bits)
	var by []string
	for _, reason := range []struct {
		bits C.ulonglong
		name string
	}{{C.ZB_SENSE_TEMPERATURE, record.ByTemperature}, {C.ZB_SENSE_POWER, record.ByPower}, {C.ZB_SENSE_HARDWARE, record.ByHardware}} {
		if bits&reason.bits != 0 {
			by = append(by, reason.name)
		}
	}
	return record.Conditions{Power: float64(mw) * 1e-3, PowerLimit: float64(limit) * 1e-3, Temperature: float64(celsius), LimitedBy: strings.Join(by, ", ")}
}
