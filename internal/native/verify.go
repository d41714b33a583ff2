package native

/*
#include <stdlib.h>
#include "c/loop.h"
#include "c/shim.h"
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// loopbackImage is what the loopback takes for a compiled module: its kernels
// are in the binary.
const loopbackImage = "zbench loopback kernels"

// Functions are the kernels a batch needs: the delay of isolated timing and
// those of a verification.
type Functions struct {
	p                                   *Provider
	module                              unsafe.Pointer
	delay, fill, poison, check, explain unsafe.Pointer
}

// LoadFunctions loads the kernels. A provider that cannot compile any wraps
// ErrUnavailable.
func (p *Provider) LoadFunctions() (*Functions, error) {
	if !p.Simulated {
		return nil, fmt.Errorf("%s backend: %w: this version does not compile kernels at run time", p.Backend, ErrUnavailable)
	}
	f := &Functions{p: p}
	image := C.CString(loopbackImage)
	defer C.free(unsafe.Pointer(image))
	// C writes to locals: f holds Go pointers, which C must not come near.
	var module unsafe.Pointer
	if err := p.runtime("load kernels", -1, C.zb_module_load(p.table, &module, unsafe.Pointer(image))); err != nil {
		return nil, err
	}
	f.module = module
	for name, at := range map[string]*unsafe.Pointer{
		"zb_delay": &f.delay, "zb_fill": &f.fill, "zb_poison": &f.poison, "zb_check": &f.check, "zb_explain": &f.explain,
	} {
		var function unsafe.Pointer
		text := C.CString(name)
		err := p.runtime("find kernel "+name, -1, C.zb_module_function(p.table, &function, module, text))
		C.free(unsafe.Pointer(text))
		if err != nil {
			f.Close()
			return nil, err
		}
		*at = function
	}
	return f, nil
}

// Close unloads the kernels.
func (f *Functions) Close() {
	if f != nil && f.module != nil {
		C.zb_module_unload(f.p.table, f.module)
		f.module = nil
	}
}

// UseDelay gives the batch the delay kernel of isolated timing.
func (b *Batch) UseDelay(f *Functions) { b.c.delay = f.delay }

// Expect is what one rank sends and must receive in a verification launch, in
// elements. See collective.Result for block, source, step and base.
type Expect struct {
	Fill, Check int64
	// RecvBytes are poisoned before the launch.
	RecvBytes    int64
	Reduced      bool
	Block, Base  int64
	Source, Step int
}

// Wrong is a rank's wrong elements and the first of them.
type Wrong struct {
	Rank  int
	Count int64
	// Index is the first wrong element of the rank's receive buffer; Expected and
	// Got are its bits.
	Index         int64
	Expected, Got uint64
}

// Verify runs the work once with data and checks every element of every result.
// It returns the ranks that have wrong ones.
func (b *Batch) Verify(f *Functions, expect []Expect, seed uint64) ([]Wrong, error) {
	c := (*C.zb_expect)(C.calloc(C.size_t(b.n), C.size_t(unsafe.Sizeof(C.zb_expect{}))))
	defer C.free(unsafe.Pointer(c))
	found := (*C.uint64_t)(C.calloc(C.size_t(b.n), 32))
	defer C.free(unsafe.Pointer(found))
	for i, e := range expect {
		kind := C.int32_t(KindCopied)
		if e.Reduced {
			kind = KindReduced
		}
		unsafe.Slice(c, b.n)[i] = C.zb_expect{
			fill_count: C.uint64_t(e.Fill), check_count: C.uint64_t(e.Check),
			recv_bytes: C.uint64_t(e.RecvBytes),
			block:      C.uint64_t(e.Block), base: C.uint64_t(e.Base), kind: kind,
			src0: C.int32_t(e.Source), src_step: C.int32_t(e.Step),
		}
	}
	args := (*C.zb_verify_args)(C.calloc(1, C.size_t(unsafe.Sizeof(C.zb_verify_args{}))))
	defer C.free(unsafe.Pointer(args))
	*args = C.zb_verify_args{fill: f.fill, poison: f.poison, check: f.check, explain: f.explain, expect: c, seed: C.uint64_t(seed), found: found}
	C.zb_verify(b.c, args)
	if err := b.outcome(); err != nil {
		return nil, err
	}
	var wrong []Wrong
	words := unsafe.Slice((*uint64)(found), 4*b.n)
	for i := range b.n {
		w := words[4*i : 4*i+4]
		switch {
		case w[0] > 0:
			wrong = append(wrong, Wrong{Rank: i, Count: int64(w[0]), Index: int64(w[1]), Expected: w[2], Got: w[3]}) //nolint:gosec // counts of elements fit
		case w[2] != uint64(expect[i].Check): //nolint:gosec // not negative
			// A check that never ran finds nothing wrong either.
			return nil, fmt.Errorf("native: the check of rank %d looked at %d of %d elements", i, w[2], expect[i].Check)
		}
	}
	return wrong, nil
}
