package native

import (
	"fmt"
	"unsafe"
)

// NoopFunctions are kernels that do nothing, one set per device, and their names by
// handle: "delay 1" is the second device's.
func NoopFunctions(devices int) (*Functions, map[unsafe.Pointer]string) {
	f, names := noFunctions(), map[unsafe.Pointer]string{}
	for d := range devices {
		for i, r := range f.rows(d) {
			*r.at = NoopHandle(4000 + 5*d + i)
			names[*r.at] = fmt.Sprintf("%s %d", r.name, d)
		}
	}
	return f, names
}

// Pointer is the stream's handle, as in RecordedCall.
func (s Stream) Pointer() unsafe.Pointer { return s.ptr }

// Pointer is the communicator's handle.
func (c Comm) Pointer() unsafe.Pointer { return c.ptr }

// Pointer is the place.
func (a Address) Pointer() unsafe.Pointer { return unsafe.Pointer(a.ptr()) }

// DropBarrier takes the barrier of hosts away, which only the loopback has.
func (p *Provider) DropBarrier() { p.table.hostBarrier = nil }
