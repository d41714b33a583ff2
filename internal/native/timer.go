package native

/*
#include <stdlib.h>
#include "c/loop.h"
#include "c/shim.h"
#include "c/timer.h"
*/
import "C"

import (
	"fmt"
	"sync"
	"unsafe"
)

// Step is one launch of a timed sequence. Args are as in Provider.Launch.
type Step struct {
	Function Function
	Launch   Launch
	Args     []any
	// blas, gemm and lt describe a vendor's product that runs instead of a kernel; see
	// BLAS.Product.
	blas *BLAS
	gemm Gemm
	lt   *LTLaunch
}

// Timer runs sequences of launches on one or more devices at once and times them by
// events. Close it when done. Other goroutines may call only Cancel.
type Timer struct {
	p       *Provider
	c       *C.zb_timer
	streams []Stream
	loaded  memory   // C memory of the loaded steps
	stamps  []stamps // by stream, if the clock is counted
	closing sync.Mutex
}

// NewTimer makes a timer for streams on different devices.
func (p *Provider) NewTimer(streams []Stream) (*Timer, error) {
	c := zeroed[C.zb_timer](1)
	c.table, c.ntracks = p.table, C.int32_t(len(streams))
	c.tracks = zeroed[C.zb_track](len(streams))
	t := &Timer{p: p, c: c, streams: streams}
	for i, s := range streams {
		k := &t.tracks()[i]
		k.device, k.stream = C.int32_t(s.device), s.ptr
		for _, at := range []*unsafe.Pointer{&k.start, &k.stop} {
			if err := p.newEvent(s.device, at); err != nil {
				t.Close()
				return nil, err
			}
		}
	}
	return t, nil
}

func (t *Timer) tracks() []C.zb_track { return unsafe.Slice(t.c.tracks, len(t.streams)) }

// Load sets the steps of every stream; all streams have the same number of steps.
func (t *Timer) Load(steps [][]Step) error {
	if len(steps) != len(t.streams) {
		return fmt.Errorf("native: steps for %d streams of %d", len(steps), len(t.streams))
	}
	t.loaded.free()
	t.c.nsteps = C.int32_t(len(steps[0]))
	for i, sequence := range steps {
		if len(sequence) != len(steps[0]) {
			return fmt.Errorf("native: %d steps on one stream and %d on another", len(sequence), len(steps[0]))
		}
		list, err := t.loaded.list(sequence)
		if err != nil {
			return err
		}
		t.tracks()[i].steps = list
	}
	return nil
}

// list() copies a sequence to C memory.
func (m *memory) list(sequence []Step) (*C.zb_step, error) {
	list := kept[C.zb_step](m, len(sequence))
	for k, s := range sequence {
		if err := m.fill(&unsafe.Slice(list, len(sequence))[k], s); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (m *memory) fill(to *C.zb_step, s Step) error {
	switch {
	case s.blas != nil:
		m.fillGemm(to, s)
		return nil
	case s.lt != nil:
		m.fillLT(to, s.lt)
		return nil
	}
	to.function, to.shared = s.Function.ptr, C.uint(s.Launch.Shared)
	for d := range 3 {
		to.grid[d], to.block[d] = C.uint(s.Launch.Grid[d]), C.uint(s.Launch.Block[d])
	}
	values := unsafe.Slice(kept[argument](m, len(s.Args)), len(s.Args))
	to.params = kept[unsafe.Pointer](m, len(s.Args))
	for i, arg := range s.Args {
		bits, err := argumentBits(arg)
		if err != nil {
			return fmt.Errorf("native: kernel %s: argument %d: %w", s.Function.name, i, err)
		}
		values[i].bits = bits
		unsafe.Slice(to.params, len(s.Args))[i] = unsafe.Pointer(&values[i])
	}
	return nil
}

// Run launches the loaded sequence `rounds` times on every stream and waits at most `deadline`
// seconds. It returns the seconds from before the first launch to after the last, for each stream.
func (t *Timer) Run(rounds int, deadline float64) ([]float64, error) {
	t.c.rounds, t.c.deadline_s = C.int32_t(rounds), C.double(deadline)
	C.zb_timer_run(t.c)
	call, device := C.GoString(t.c.call), int(t.c.device)
	switch t.c.outcome {
	case C.ZB_BATCH_RUNTIME:
		return nil, t.p.runtime(call, device, C.int(t.c.code))
	case C.ZB_BATCH_VENDOR:
		return nil, fmt.Errorf("%w on device %d: status %d", ErrVendor, device, int(t.c.code))
	case C.ZB_BATCH_DEADLINE:
		return nil, fmt.Errorf("%s on device %d: %w of %g s", call, device, ErrDeadline, deadline)
	case C.ZB_BATCH_CANCELLED:
		return nil, ErrCancelled
	}
	out := make([]float64, len(t.streams))
	for i := range out {
		out[i] = float64(t.tracks()[i].seconds)
	}
	return out, nil
}

// Cancel makes the current Run and all later Runs return ErrCancelled soon.
func (t *Timer) Cancel() {
	t.closing.Lock()
	defer t.closing.Unlock()
	if t.c != nil {
		C.zb_timer_cancel(t.c)
	}
}

// Close frees the events and the memory, but not the streams.
func (t *Timer) Close() {
	t.closing.Lock()
	defer t.closing.Unlock()
	if t.c == nil {
		return
	}
	t.loaded.free()
	t.closeClocks()
	for i := range t.tracks() {
		k := &t.tracks()[i]
		t.p.freeEvents(int(k.device), k.start, k.stop)
	}
	C.free(unsafe.Pointer(t.c.tracks))
	C.free(unsafe.Pointer(t.c))
	t.c = nil
}
