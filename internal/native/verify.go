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

	"zbench/bench/base/slice"
)

// Functions holds the kernels of a batch on each of its devices: the delay of isolated timing, and
// the kernels of a verification.
type Functions struct {
	modules []*Module
	// The map `by` has the functions of each device in C memory, because the batch's ranks point to
	// them.
	by map[int]*C.zb_kernels
}

// LoadFunctions loads the kernels onto devices. If the provider cannot compile, the error
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

// functionFiles are the sources of the kernels in Functions.
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

// functionRow is a kernel: its source, its name, and where its function is stored.
type functionRow struct {
	file, name string
	at         *unsafe.Pointer
}

// rows lists the kernels of a device.
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

// Poison is the word that fills a receive buffer before a verification's launch. Before is the
// word that fills a send buffer before its data, if the work is AtOnce.
const (
	Poison = C.ZB_POISON
	Before = C.ZB_BEFORE
)

// Fill returns the kernel that writes a rank's data on a device.
func (f *Functions) Fill(device int) Function {
	return Function{ptr: f.on(device).fill, name: "zb_fill"}
}

// FillArgs returns the arguments of Fill: the address, and `count` elements of a rank's data from
// element `base` on. `ranks` is the number of ranks.
func (w Work) FillArgs(to Address, count, base int64, rank, ranks int, reduced bool, seed uint64) []any {
	kind := int32(KindCopied)
	if reduced {
		kind = KindReduced
	}
	return []any{to, uint64(count), int32(dtypeCodes[w.Dtype]), int32(opCodes[w.Op]), kind, int32(rank), int32(ranks), uint64(base), seed} //nolint:gosec // not negative
}

// on() returns the kernels of a device. They are empty at first.
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
		_ = m.Close() // after a failed batch Close fails too, with no new information
	}
	for _, k := range f.by {
		C.free(unsafe.Pointer(k))
	}
	f.modules, f.by = nil, nil
}

// UseFunctions gives each rank the kernels of its device. Call it after all ranks are set.
func (b *Batch) UseFunctions(f *Functions) {
	for i := range b.ranks() {
		b.ranks()[i].kernels = f.by[int(b.ranks()[i].device)]
	}
}

// Expect describes the data that one rank sends and must receive in a verification launch, in
// elements. See collective.Result for block, source, step and base.
type Expect struct {
	Fill, Check int64
	// RecvBytes is the size that is poisoned before the launch. SendBytes is the size that is
	// poisoned before it is filled, if the work is AtOnce.
	RecvBytes    int64
	SendBytes    int64
	Reduced      bool
	Block, Base  int64
	Source, Step int
	// FillBase is the index of the first filled element. SendAt is where it lies in the send
	// buffer, and RecvAt is where the first checked element lies in the receive buffer. All
	// three are 0 except for a Block.
	FillBase, SendAt, RecvAt int64
}

// Block is a part of a collective's buffers, in elements of Width bytes. It has Count elements,
// from SendAt on in the senders' buffers and from RecvAt on in the receivers' buffers. From and To
// are the only sender and the only receiver; −1 means all ranks.
type Block struct {
	SendAt, RecvAt, Count, Width int64
	From, To                     int
}

// Wrong is the number of wrong elements of a rank, and the first of them.
type Wrong struct {
	Rank  int
	Count int64
	// Index is the index of the first wrong element in the rank's receive buffer. Expected and
	// Got are its expected and actual bits.
	Index         int64
	Expected, Got uint64
}

// Verify runs the work once with data and checks every element of every result. With blocks, which
// only the loopback supports, it moves and checks only these; `expect` then has all ranks for the
// first block, all ranks for the second, and so on. It returns the ranks with wrong elements, once
// per block.
func (b *Batch) Verify(expect []Expect, seed uint64, blocks ...Block) ([]Wrong, error) {
	var m memory
	defer m.free()
	n, width := len(expect), int64(1)
	if len(blocks) > 0 {
		width = blocks[0].Width
	}
	c, words := kept[C.zb_expect](&m, n), unsafe.Slice(kept[uint64](&m, 4*n), 4*n)
	for i, e := range expect {
		kind := C.int32_t(KindCopied)
		if e.Reduced {
			kind = KindReduced
		}
		unsafe.Slice(c, n)[i] = C.zb_expect{
			fill_count: C.uint64_t(e.Fill), check_count: C.uint64_t(e.Check),
			recv_bytes: C.uint64_t(e.RecvBytes), send_bytes: C.uint64_t(e.SendBytes),
			block: C.uint64_t(e.Block), base: C.uint64_t(e.Base), kind: kind,
			src0: C.int32_t(e.Source), src_step: C.int32_t(e.Step),
			fill_base: C.uint64_t(e.FillBase), send_at: C.uint64_t(e.SendAt * width), recv_at: C.uint64_t(e.RecvAt * width),
		}
	}
	args := kept[C.zb_verify_args](&m, 1)
	*args = C.zb_verify_args{expect: c, seed: C.uint64_t(seed), found: (*C.uint64_t)(unsafe.SliceData(words)), parts: 1}
	if len(blocks) > 0 {
		args.blocks, args.parts = kept[C.zb_block](&m, len(blocks)), C.int32_t(len(blocks)) //nolint:gosec // a few
		for i, p := range blocks {
			unsafe.Slice(args.blocks, len(blocks))[i] = C.zb_block{
				send_at: C.uint64_t(p.SendAt), recv_at: C.uint64_t(p.RecvAt), count: C.uint64_t(p.Count), from: C.int32_t(p.From), to: C.int32_t(p.To),
			}
		}
	}
	C.zb_verify(b.c, args)
	if err := b.outcome(); err != nil {
		return nil, err
	}
	var wrong []Wrong
	for i := range n {
		w := words[4*i : 4*i+4]
		switch {
		case w[0] > 0:
			wrong = append(wrong, Wrong{Rank: i % b.n, Count: int64(w[0]), Index: int64(w[1]) + expect[i].RecvAt, Expected: w[2], Got: w[3]}) //nolint:gosec // counts of elements fit
		case w[2] != uint64(expect[i].Check): //nolint:gosec // not negative
			// A check that did not run would also report no wrong elements.
			return nil, fmt.Errorf("native: the check of rank %d looked at %d of %d elements", i%b.n, w[2], expect[i].Check)
		}
	}
	return wrong, nil
}
