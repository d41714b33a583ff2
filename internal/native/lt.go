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

// Element is the element type of a vendor's matrices.
type Element int

// The element types; the zero value is bf16. FP8 is e4m3, in the FNUZ form on gfx942 and in the
// Open Compute Project's form on other GPUs.
const (
	BF16 Element = iota
	FP16
	F32
	FP8
	FP8FNUZ
)

// elementNumbers are the numbers of the types, which are equal for both vendors.
var elementNumbers = [...]C.int{BF16: C.ZB_LT_BF16, FP16: C.ZB_LT_F16, F32: C.ZB_LT_F32, FP8: C.ZB_LT_E4M3, FP8FNUZ: C.ZB_LT_E4M3_FNUZ}

// LTChoices is the largest number of choices that can be requested.
const LTChoices = C.ZB_LT_MOST

// LT is the vendor's library of matrix products that heuristics choose, with a handle for one
// device. Close it when done.
type LT struct {
	// Library is the name and path of the library.
	Library backend.Loaded
	p       *Provider
	c       *C.zb_lt
	opened  unsafe.Pointer
}

// FindLT searches for the vendor's library of products chosen by heuristics, and opens it. On the
// loopback the library is simulated. Start prepares the library for use. If the library is missing,
// the error wraps ErrUnavailable.
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

// LTShape is a product C = op(A)·op(B) of dense matrices stored by rows. C has M rows and N
// columns; the depth is K. If TurnA is true, A is stored with K rows and M columns. If TurnB is
// true, B is stored with N rows and K columns.
type LTShape struct {
	M, N, K, Batch int
	TurnA, TurnB   bool
	Type, Out      Element
	// Workspace is the largest workspace that a choice may use, in bytes. Most is the number
	// of choices to request.
	Workspace int64
	Most      int
}

// LTPlan has the choices of the heuristics for a shape, the best first. Close it when done.
type LTPlan struct {
	// Found is the number of choices.
	Found int
	// Workspace is the largest workspace of the choices, in bytes.
	Workspace int64
	c         *C.zb_lt_plan
}

// Plan queries the heuristics. If the library has no kernel for the shape, the error wraps
// ErrVendor.
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

// LTLaunch is a launch of one choice of a plan on a stream.
type LTLaunch struct {
	Plan      *LTPlan
	Choice    int
	Stream    Stream
	C, A, B   Address
	Workspace Buffer
}

// Step returns a step of a Timer that runs the launch.
func (l LTLaunch) Step() Step { return Step{lt: &l} }

// fillLT makes a step run a launch of a choice instead of a kernel.
func (m *memory) fillLT(to *C.zb_step, l *LTLaunch) {
	c := kept[C.zb_lt_launch](m, 1)
	c.plan, c.choice, c.stream = l.Plan.c, C.int32_t(l.Choice), l.Stream.ptr
	c.a, c.b, c.c = unsafe.Pointer(l.A.ptr()), unsafe.Pointer(l.B.ptr()), unsafe.Pointer(l.C.ptr())
	c.workspace, c.workspace_bytes = l.Workspace.ptr, C.uint64_t(l.Workspace.Bytes)
	to.params = (*unsafe.Pointer)(unsafe.Pointer(c))
	to.vendor = C.zb_vendor_call(C.zb_lt_call)
}

// MoveData sets whether launches on the loopback move data. A real library always moves data.
func (p *Provider) MoveData(on bool) {
	C.zb_move_data(p.table, C.int(b2i(on)))
}
