package native

/*
#include <stdlib.h>
#include "c/loop.h"
#include "c/shim.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"
)

// The element types and operators by zbench's names: values of ncclDataType_t
// and ncclRedOp_t, the same in RCCL and NCCL.
var (
	dtypeCodes = map[string]C.int32_t{
		"int8": 0, "uint8": 1, "int32": 2, "uint32": 3, "int64": 4,
		"uint64": 5, "half": 6, "float": 7, "double": 8, "bfloat16": 9,
	}
	opCodes = map[string]C.int32_t{"": 0, "sum": 0, "prod": 1, "max": 2, "min": 3, "avg": 4}
)

// Errors that say how a burst ended without a result.
var (
	ErrDeadline  = errors.New("not finished at the deadline")
	ErrCancelled = errors.New("cancelled")
)

// Rank is what one local rank brings to a batch.
type Rank struct {
	Device     int
	Comm       Comm
	Stream     Stream
	Send, Recv Buffer
}

// Launch says what a batch launches on every rank.
type Launch struct {
	// Collective, Dtype and Op are zbench's names; Op is empty where there is none.
	Collective, Dtype, Op string
	// Count is the element count passed to the call.
	Count int64
	// Iterations is the number of launches before the wait.
	Iterations int
	// Deadline is how long the wait may last, in seconds of the provider's clock.
	Deadline float64
}

// Batch runs bursts on a fixed set of local ranks. Its arrays are C memory.
type Batch struct {
	p *Provider
	c *C.zb_batch
	n int
	// closing keeps a late Cancel away from memory that Close has freed.
	closing sync.Mutex
}

// NewBatch makes a batch for the ranks. Close it when done.
func (p *Provider) NewBatch(ranks []Rank) *Batch {
	n := len(ranks)
	array := func(width uintptr) unsafe.Pointer { return C.calloc(C.size_t(n), C.size_t(width)) }
	c := (*C.zb_batch)(C.calloc(1, C.size_t(unsafe.Sizeof(C.zb_batch{}))))
	pointers := func() *unsafe.Pointer { return (*unsafe.Pointer)(array(unsafe.Sizeof(uintptr(0)))) }
	c.table, c.nlocal = p.table, C.int32_t(n)
	c.comm, c.stream, c.send, c.recv = pointers(), pointers(), pointers(), pointers()
	device := (*C.int32_t)(array(unsafe.Sizeof(C.int32_t(0))))
	c.device = device
	c.start_ns = (*C.int64_t)(array(unsafe.Sizeof(C.int64_t(0))))
	c.seconds = (*C.double)(array(unsafe.Sizeof(C.double(0))))
	c.finished = (*C.uint8_t)(array(1))
	for i, r := range ranks {
		unsafe.Slice(device, n)[i] = C.int32_t(r.Device)
		unsafe.Slice(c.comm, n)[i] = r.Comm.ptr
		unsafe.Slice(c.stream, n)[i] = r.Stream.ptr
		unsafe.Slice(c.send, n)[i] = r.Send.ptr
		unsafe.Slice(c.recv, n)[i] = r.Recv.ptr
	}
	return &Batch{p: p, c: c, n: n}
}

// Close frees the batch's arrays, not the ranks' resources.
func (b *Batch) Close() {
	b.closing.Lock()
	defer b.closing.Unlock()
	for _, ptr := range []unsafe.Pointer{
		unsafe.Pointer(b.c.device), unsafe.Pointer(b.c.comm), unsafe.Pointer(b.c.stream), unsafe.Pointer(b.c.send),
		unsafe.Pointer(b.c.recv), unsafe.Pointer(b.c.start_ns), unsafe.Pointer(b.c.seconds), unsafe.Pointer(b.c.finished),
		unsafe.Pointer(b.c),
	} {
		C.free(ptr)
	}
	b.c = nil
}

// Cancel makes the running burst return ErrCancelled soon, and every later one.
// It may be called from any goroutine, and after Close.
func (b *Batch) Cancel() {
	b.closing.Lock()
	defer b.closing.Unlock()
	if b.c != nil {
		C.zb_cancel(b.c)
	}
}

// Burst launches l.Iterations times on every rank, waits, and returns the
// seconds per launch of each local rank. The slice is good until the next call.
func (b *Batch) Burst(l Launch) ([]float64, error) {
	if err := b.set(l); err != nil {
		return nil, err
	}
	C.zb_burst(b.c)
	if err := b.outcome(l); err != nil {
		return nil, err
	}
	return unsafe.Slice((*float64)(b.c.seconds), b.n), nil
}

func (b *Batch) set(l Launch) error {
	index, ok := collectiveIndex(l.Collective)
	dtype, okType := dtypeCodes[l.Dtype]
	op, okOp := opCodes[l.Op]
	switch {
	case !ok || !okType || !okOp:
		return fmt.Errorf("native: no call for %s of %s with %q", l.Collective, l.Dtype, l.Op)
	case l.Count < 1 || l.Iterations < 1:
		return fmt.Errorf("native: count %d and iterations %d must be at least 1", l.Count, l.Iterations)
	}
	b.c.collective, b.c.dtype, b.c.op = index, dtype, op
	b.c.count, b.c.iterations = C.uint64_t(l.Count), C.int32_t(l.Iterations)
	b.c.deadline_s = C.double(l.Deadline)
	return nil
}

func collectiveIndex(name string) (C.int32_t, bool) {
	for i := range C.zb_collective_count() {
		if C.GoString(C.zb_collective_name(i)) == name {
			return C.int32_t(i), true
		}
	}
	return 0, false
}

// Collectives lists the names that the timed loop can launch.
func Collectives() []string {
	names := make([]string, 0, int(C.zb_collective_count()))
	for i := range C.zb_collective_count() {
		names = append(names, C.GoString(C.zb_collective_name(i)))
	}
	return names
}

// outcome turns the way the batch ended into an error.
func (b *Batch) outcome(l Launch) error {
	device := -1
	if b.n > 0 {
		device = int(unsafe.Slice(b.c.device, b.n)[b.c.rank])
	}
	call := C.GoString(b.c.call)
	switch b.c.outcome {
	case C.ZB_BATCH_RUNTIME:
		return b.p.runtime(call, device, C.int(b.c.code))
	case C.ZB_BATCH_COLLECTIVES, C.ZB_BATCH_ASYNC:
		return b.p.collectives(call, device, C.int(b.c.code))
	case C.ZB_BATCH_DEADLINE:
		return fmt.Errorf("%s: %w of %g s: %d of %d ranks finished, %d of %d launches made",
			l.Collective, ErrDeadline, l.Deadline, b.finished(), b.n, b.c.launched, l.Iterations)
	case C.ZB_BATCH_CANCELLED:
		return ErrCancelled
	}
	return nil
}

func (b *Batch) finished() int {
	n := 0
	for _, f := range unsafe.Slice(b.c.finished, b.n) {
		n += int(f)
	}
	return n
}
