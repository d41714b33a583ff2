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

	"zbench/bench/slice"
)

// Functions are the kernels a batch needs, on each of its devices: the delay of
// isolated timing and those of a verification.
type Functions struct {
	modules []*Module
	// by has each device's functions, in C memory: the batch's ranks point to it.
	by map[int]*C.zb_kernels
}

// LoadFunctions loads the kernels on devices. If the provider cannot compile, the error
// wraps ErrUnavailable.
func (p *Provider) LoadFunctions(devices []int) (*Functions, error) {
	f := noFunctions()
	p.Expect(len(functionFiles), devices)
	for _, device := range devices {
		if f.by[device] != nil {
			continue
		}
		if err := f.load(p, device); err != nil {
			f.Close()
			return nil, err
		}
	}
	return f, nil
}

func noFunctions() *Functions { return &Functions{by: map[int]*C.zb_kernels{}} }

// functionFiles are the kernels' sources in Functions.
var functionFiles = []string{"delay.hip", "verify.hip"}

func (f *Functions) load(p *Provider, device int) error {
	for _, file := range functionFiles {
		m, err := p.LoadModule(device, file, nil)
		if err != nil {
			return err
		}
		f.modules = append(f.modules, m)
		for _, r := range slice.Where(f.rows(device), func(r functionRow) bool { return r.file == file }) {
			function, err := m.Function("zb_" + r.name)
			if err != nil {
				return err
			}
			*r.at = function.ptr
		}
	}
	return nil
}

// functionRow is a kernel: the file that it is of, its name and where it belongs.
type functionRow struct {
	file, name string
	at         *unsafe.Pointer
}

// rows are the kernels of a device.
func (f *Functions) rows(device int) []functionRow {
	k := f.on(device)
	return []functionRow{
		{"delay.hip", "delay", &k.delay},
		{"verify.hip", "fill", &k.fill},
		{"verify.hip", "poison", &k.poison},
		{"verify.hip", "check", &k.check},
		{"verify.hip", "explain", &k.explain},
	}
}

// on is a device's kernels, empty at first.
func (f *Functions) on(device int) *C.zb_kernels {
	if f.by[device] == nil {
		f.by[device] = zeroed[C.zb_kernels](1)
	}
	return f.by[device]
}

// Close unloads the kernels. Batches must not use them afterwards.
func (f *Functions) Close() {
	if f == nil {
		return
	}
	for _, m := range f.modules {
		_ = m.Close() // after a failed batch this fails too, with no new information
	}
	for _, k := range f.by {
		C.free(unsafe.Pointer(k))
	}
	f.modules, f.by = nil, nil
}

// UseFunctions sets the kernels of each rank's device. Call it after all ranks are set.
func (b *Batch) UseFunctions(f *Functions) {
	for i := range b.ranks() {
		b.ranks()[i].kernels = f.by[int(b.ranks()[i].device)]
	}
}

// Expect is the data that one rank sends and must receive in a verification launch, in
// elements. See collective.Result for block, source, step and base.
type Expect struct {
	Fill, Check int64
	// RecvBytes are poisoned before the launch.
	RecvBytes    int64
	Reduced      bool
	Block, Base  int64
	Source, Step int
}

// Wrong is the number of a rank's wrong elements, and the first of them.
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
func (b *Batch) Verify(expect []Expect, seed uint64) ([]Wrong, error) {
	var m memory
	defer m.free()
	c, words := kept[C.zb_expect](&m, b.n), unsafe.Slice(kept[uint64](&m, 4*b.n), 4*b.n)
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
	args := kept[C.zb_verify_args](&m, 1)
	*args = C.zb_verify_args{expect: c, seed: C.uint64_t(seed), found: (*C.uint64_t)(unsafe.SliceData(words))}
	C.zb_verify(b.c, args)
	if err := b.outcome(); err != nil {
		return nil, err
	}
	var wrong []Wrong
	for i := range b.n {
		w := words[4*i : 4*i+4]
		switch {
		case w[0] > 0:
			wrong = append(wrong, Wrong{Rank: i, Count: int64(w[0]), Index: int64(w[1]), Expected: w[2], Got: w[3]}) //nolint:gosec // counts of elements fit
		case w[2] != uint64(expect[i].Check): //nolint:gosec // not negative
			// A check that did not run reports no wrong elements either.
			return nil, fmt.Errorf("native: the check of rank %d looked at %d of %d elements", i, w[2], expect[i].Check)
		}
	}
	return wrong, nil
}
