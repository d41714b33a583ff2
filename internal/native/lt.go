package native

/*
#include <stdlib.h>
#include "c/blas.h"
#include "c/dl.h"
#include "c/fake/world.h"
#include "c/shim.h"
#include "c/timer.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	"zbench/bench/hardware/backend"
)

// Element is the type of a vendor's matrices.
type Element int

// The types; the zero one is bf16. FP8 is e4m3: the FNUZ form on gfx942, the Open Compute Project's
// on others.
const (
	BF16 Element = iota
	FP16
	F32
	FP8
	FP8FNUZ
)

// elementNumbers are the vendors' numbers of the types, which are equal.
var elementNumbers = [...]C.int{BF16: C.ZB_LT_BF16, FP16: C.ZB_LT_F16, F32: C.ZB_LT_F32, FP8: C.ZB_LT_E4M3, FP8FNUZ: C.ZB_LT_E4M3_FNUZ}

// LTChoices is the largest number of requested choices.
const LTChoices = C.ZB_LT_MOST

// LT is the vendor's library of matrix products by heuristics, with a handle for a device. Close it when
// done.
type LT struct {
	// Library is its name and path.
	Library backend.Loaded
	p       *Provider
	c       *C.zb_lt
	opened  unsafe.Pointer
}

// FindLT searches for the vendor's products by heuristics and opens the library; on the loopback it
// is a stand-in. Start prepares it. The error of a missing library wraps ErrUnavailable.
func (p *Provider) FindLT(o Choice) (*LT, error) {
	l := &LT{p: p, c: zeroed[C.zb_lt](1)}
	if p.builtin {
		C.zbl_lt_fill(l.c)
		l.Library = backend.Loaded{Name: "loopback " + backend.Like(o.Backend).LT.Name()}
		return l, nil
	}
	v, _ := backend.Of(o.Backend)
	f, library, path, err := findProducts(o, v.LT)
	if err != nil {
		l.Close()
		return nil, err
	}
	defer f.end()
	l.Library, l.opened = backend.Loaded{Name: v.LT.Name(), Path: path}, library
	var lacks *C.char
	if C.zb_lt_fill(l.c, C.int(v.Column), library, &lacks) == 0 {
		l.Close()
		return nil, fmt.Errorf("%w: %s lacks %s", ErrUnavailable, path, C.GoString(lacks))
	}
	return l, nil
}

// Start creates the library's handle for a device.
func (l *LT) Start(device int) error {
	if code := C.zb_lt_open(l.p.table, l.c, C.int(device)); code != 0 {
		return fmt.Errorf("%s: create a handle: code %d", l.Library.Name, int(code))
	}
	return nil
}

// Close frees the handle and the library. It may be called twice.
func (l *LT) Close() {
	if l.c == nil {
		return
	}
	C.zb_lt_end(l.c)
	C.free(unsafe.Pointer(l.c))
	if l.opened != nil {
		C.zb_close(l.opened)
	}
	l.c = nil
}

// LTShape is a product C = op(A)·op(B) of dense matrices by rows: C has M rows and N columns, the depth is
// K. TurnA: A has K rows and M columns. TurnB: B has N rows and K columns.
type LTShape struct {
	M, N, K, Batch int
	TurnA, TurnB   bool
	Type, Out      Element
	// Workspace is the workspace limit of a choice, in bytes; Most is the number of requested
	// choices.
	Workspace int64
	Most      int
}

// LTPlan holds the heuristics' choices for a shape, the first one first. Close it when done.
type LTPlan struct {
	// Found is the number of choices.
	Found int
	// Workspace is the largest one that a choice uses, in bytes.
	Workspace int64
	c         *C.zb_lt_plan
}

// Plan queries the heuristics. A shape without a kernel in the library is an ErrVendor.
func (l *LT) Plan(s LTShape) (*LTPlan, error) {
	p := &LTPlan{c: zeroed[C.zb_lt_plan](1)}
	p.c.lt = l.c
	shape := C.zb_lt_shape{
		m: C.int64_t(s.M), n: C.int64_t(s.N), k: C.int64_t(s.K), batch: C.int(s.Batch),
		turn_a: C.int(b2i(s.TurnA)), turn_b: C.int(b2i(s.TurnB)), most: C.int(s.Most),
		workspace: C.uint64_t(s.Workspace),
	}
	shape._type, shape.out_type = elementNumbers[s.Type], elementNumbers[s.Out]
	if code := C.zb_lt_make(p.c, &shape); code != 0 {
		err := fmt.Errorf("%w: %s: status %d", ErrVendor, C.GoString(p.c.call), int(code))
		p.Close()
		return nil, err
	}
	p.Found = int(p.c.found)
	for i := range p.Found {
		p.Workspace = max(p.Workspace, int64(C.zb_lt_workspace(p.c, C.int(i))))
	}
	return p, nil
}

// Close frees the descriptors. It may be called twice.
func (p *LTPlan) Close() {
	if p.c != nil {
		C.zb_lt_drop(p.c)
		C.free(unsafe.Pointer(p.c))
		p.c = nil
	}
}

// LTLaunch is one choice of a plan on a stream: C = op(A)·op(B).
type LTLaunch struct {
	Plan      *LTPlan
	Choice    int
	Stream    Stream
	C, A, B   Address
	Workspace Buffer
}

// Step returns a step of a Timer that launches it.
func (l LTLaunch) Step() Step { return Step{lt: &l} }

// fillLT puts such a launch in the place of a kernel's.
func (m *memory) fillLT(to *C.zb_step, l *LTLaunch) {
	c := kept[C.zb_lt_launch](m, 1)
	c.plan, c.choice, c.stream = l.Plan.c, C.int32_t(l.Choice), l.Stream.ptr
	c.a, c.b, c.c = unsafe.Pointer(l.A.ptr()), unsafe.Pointer(l.B.ptr()), unsafe.Pointer(l.C.ptr())
	c.workspace, c.workspace_bytes = l.Workspace.ptr, C.uint64_t(l.Workspace.Bytes)
	to.params = (*unsafe.Pointer)(unsafe.Pointer(c))
	to.vendor = C.zb_vendor_call(C.zb_lt_call)
}

// MoveData sets whether launches on the loopback move data, which a library always does.
func (p *Provider) MoveData(on bool) {
	C.zb_move_data(p.table, C.int(b2i(on)))
}
