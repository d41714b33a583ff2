package native

/*
#include <stdlib.h>
#include "c/loop.h"
#include "c/noop.h"
*/
import "C"

import "unsafe"

// OpenNoop opens a provider whose calls do nothing and succeed at once. It serves the benchmark of
// enqueueing; if `note` is true, it records the driver's calls for tests. It is not one of
// Backends. Only one can be open at a time.
func OpenNoop(note bool) *Provider {
	p := &Provider{Backend: "noop", table: zeroed[C.zb_table](1)}
	C.zbn_fill(p.table, C.int(b2i(note)))
	return p
}

// RecordedCall is one recorded call of a provider of OpenNoop. Fields that the call does
// not use are zero.
type RecordedCall struct {
	Name string
	// Device is the current device; Depth is the number of open groups.
	Device, Depth int
	// Peer is a peer or a root. Count is a number of elements, the time of a clock, or whether
	// data are moved. Dtype and Op are the library's numbers.
	Dtype, Op, Peer, Count int
	Send, Recv             unsafe.Pointer
	// Handle is an event, a kernel or a communicator.
	Stream, Handle unsafe.Pointer
}

// TakeCalls returns the calls since the previous TakeCalls, in order.
func (p *Provider) TakeCalls() []RecordedCall {
	out := make([]RecordedCall, int(C.zbn_count()))
	for i := range out {
		c := C.zbn_at(C.int(i))
		out[i] = RecordedCall{
			Name: C.GoString(c.name), Device: int(c.device), Depth: int(c.depth), Dtype: int(c.dtype), Op: int(c.op),
			Peer: int(c.peer), Count: int(c.count), Send: c.send, Recv: c.recv, Stream: c.stream, Handle: c.handle,
		}
	}
	C.zbn_forget()
	return out
}

// Stall makes the next `polls` queries answer "not ready".
func (p *Provider) Stall(polls int) { C.zbn_stall(C.int64_t(polls)) }

// StallStream does the same as Stall for one stream only.
func (p *Provider) StallStream(s Stream, polls int) { C.zbn_stall_stream(s.ptr, C.int64_t(polls)) }

// NoopHandle returns the i-th handle of a provider of OpenNoop.
func NoopHandle(i int) unsafe.Pointer { return C.zbn_handle(C.int(i)) }
