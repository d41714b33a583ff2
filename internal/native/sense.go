package native

/*
#include <stdlib.h>
#include "c/sense.h"
*/
import "C"

import "unsafe"

// openSensors opens the vendor's management library, which is optional.
func (p *Provider) openSensors(f *finder) {
	for _, path := range f.inFolders(f.v.Sensors, f.v.Sensors.Names) {
		library := f.try(&Library{Role: f.v.Sensors.Role, Name: f.v.Sensors.Name()}, path, false)
		if library == nil {
			continue
		}
		p.sensors = zeroed[C.zb_sense](1)
		if C.zb_sense_open(p.sensors, library) == 0 {
			p.closeSensors()
		}
		return
	}
}

// closeSensors frees the table but keeps the library open, because it may have threads of its own.
func (p *Provider) closeSensors() {
	C.free(unsafe.Pointer(p.sensors))
	p.sensors = nil
}

// Lowered has one bit per reason why a GPU's driver lowered the clock.
type Lowered uint

// The reasons for a lower clock.
const (
	LoweredByHeat Lowered = 1 << iota
	LoweredByPower
	LoweredByHardware
)

// Sense reads a GPU's power and power limit in watts, its temperature in degrees Celsius, and the
// reasons for a lower clock. `pci` is the GPU's PCI address. The values come from the vendor's
// management library; without one they are zero.
func (p *Provider) Sense(pci string) (watts, limit, celsius float64, lowered Lowered) {
	if p.sensors == nil {
		return 0, 0, 0, 0
	}
	text := C.CString(pci)
	defer C.free(unsafe.Pointer(text))
	var mw, most, degrees C.uint
	var bits C.ulonglong
	C.zb_sense_read(p.sensors, text, &mw, &most, &degrees, &bits)
	for reason, mask := range map[Lowered]C.ulonglong{LoweredByHeat: C.ZB_SENSE_TEMPERATURE, LoweredByPower: C.ZB_SENSE_POWER, LoweredByHardware: C.ZB_SENSE_HARDWARE} {
		if bits&mask != 0 {
			lowered |= reason
		}
	}
	return float64(mw) * 1e-3, float64(most) * 1e-3, float64(degrees), lowered
}
