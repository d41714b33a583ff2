package native

/*
#include <stdlib.h>
#include "c/shim.h"
*/
import "C"

import "unsafe"

// zeroed() returns zeroed C memory for n values of a type, at least for one.
func zeroed[T any](n int) *T {
	var one T
	return (*T)(C.calloc(C.size_t(max(n, 1)), C.size_t(unsafe.Sizeof(one))))
}

// memory owns C memory until it is freed.
type memory []unsafe.Pointer

// kept() returns zeroed C memory for n values, owned by m.
func kept[T any](m *memory, n int) *T {
	p := zeroed[T](n)
	*m = append(*m, unsafe.Pointer(p))
	return p
}

// text returns a copy of a string in C memory.
func (m *memory) text(s string) *C.char {
	p := C.CString(s)
	*m = append(*m, unsafe.Pointer(p))
	return p
}

func (m *memory) free() {
	for _, p := range *m {
		C.free(p)
	}
	*m = nil
}

// newEvent creates an event and writes its handle to C memory.
func (p *Provider) newEvent(device int, at *unsafe.Pointer) error {
	return p.runtime("create event", device, C.zb_event_create(p.table, C.int(device), at))
}

// freeEvents destroys the events that were created.
func (p *Provider) freeEvents(device int, all ...unsafe.Pointer) {
	for _, event := range all {
		if event != nil {
			C.zb_event_destroy(p.table, C.int(device), event)
		}
	}
}
