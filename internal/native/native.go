// Package native is the only package with C in it: the libraries underneath zbench (ROCm's, CUDA's
// or the built-in loopback's) behind one table of functions, and the timed loop that runs on that
// table.
//
// Open a Provider, make streams, buffers and communicators on it, put them into a Batch, and let
// the batch run bursts. Every call that needs a current device sets it itself, in the same cgo
// call, because the current device belongs to the operating-system thread. Only Batch.Cancel is
// safe for concurrent use.
package native

/*
#cgo CFLAGS: -std=c11 -D_GNU_SOURCE -O2 -Wall -fvisibility=hidden
#cgo linux LDFLAGS: -ldl -lm
#include <stdlib.h>
#include "c/abi.h"
#include "c/dl.h"
#include "c/sense.h"
#include "c/loop.h"
#include "c/fake/world.h"
#include "c/shim.h"
*/
import "C"

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"zbench/bench/base/exit"
	"zbench/bench/hardware/backend"
)

// ErrUnavailable is wrapped by the errors of Open if this machine has no such library or
// no usable device.
var ErrUnavailable = exit.ErrUnavailable

// Backends returns the providers in listing order.
func Backends() []string { return backend.Names() }

// Choice selects the provider to open.
type Choice struct {
	// Backend is one of Backends.
	Backend string
	// Machine is the machine file of the loopback; unused by the others.
	Machine []byte
	// Share is set if other drivers drive the loopback's world, too; nil if none does.
	Share *Share
	// Named has the values of flags, by Setting.Flag; Getenv looks up the variables if a
	// flag is not given.
	Named  map[string]string
	Getenv func(string) string
	// Cache keeps compiled kernels; nil keeps none.
	Cache CodeCache
	// Needs lists the roles of the required libraries; no other library of the vendor
	// is searched for. With nil all are searched for, and collectives and runtime are
	// required.
	Needs []Role
	// Wants are the roles of further libraries that are used if found.
	Wants []Role
	// Within is the time limit for opening one library; 0 means OpenWithin.
	Within time.Duration
	// Context cancels the search for libraries; nil never does.
	Context context.Context //nolint:containedctx // a Choice is of one call
	// Progress is called for each task that takes seconds: compiling a kernel, opening a slow
	// library. The caller is the requesting goroutine; nil means no calls. The built-in loopback
	// has no such tasks.
	Progress func(Task)
	// Record notes the provider's calls, for tests; nil notes none.
	Record *Recording
}

func (o Choice) within() time.Duration { return cmp.Or(max(o.Within, 0), OpenWithin) }

// given is the reason why the search was cancelled, nil if it was not.
func (o Choice) given() error {
	if o.Context == nil || o.Context.Err() == nil {
		return nil
	}
	return context.Cause(o.Context)
}

// Provider is one set of libraries. Close it when done.
type Provider struct {
	// Backend is its name; Simulated is true if its times come from a model. Libraries are the
	// opened ones, or the loopback itself.
	Backend   string
	Simulated bool
	Libraries []backend.Loaded

	table *C.zb_table
	// vendorRow is the libraries' row; the loopback uses the first vendor's names.
	vendorRow backend.Vendor
	builtin   bool
	used      bool
	handles   []unsafe.Pointer
	// devices are the devices with streams.
	devices  []C.int32_t
	searches []*Library
	compiler *Compiler
	// sensors is the vendor's management library; nil if there is none.
	sensors *C.zb_sense
}

// Open loads a provider. The error about an unknown backend lists the valid ones; the error of a
// missing library wraps ErrUnavailable and lists the searched places.
func Open(o Choice) (*Provider, error) {
	p := &Provider{Backend: o.Backend, table: zeroed[C.zb_table](1)}
	var err error
	if o.Backend == "loopback" {
		err = p.openLoopback(o.Machine, o.Share)
	} else {
		err = p.openVendor(o)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	p.record(o.Record)
	p.compiler = &Compiler{table: p.table, vendor: p.vendor(), version: p.versionOf(RoleCompiler), cache: o.Cache}
	if !p.builtin {
		p.compiler.tasks.tell = o.Progress
	}
	return p, nil
}

// vendor returns the row of the provider's libraries; the built-in loopback's compiler has ROCm's
// interface.
func (p *Provider) vendor() backend.Vendor { return backend.Like(p.Backend) }

// Close frees the provider's resources. It may be called twice.
func (p *Provider) Close() {
	if p.table == nil {
		return
	}
	if p.builtin {
		C.zbl_shutdown()
	}
	for _, h := range p.handles {
		// A vendor's library that has used a GPU has threads of its own: it stays loaded
		// until the process ends.
		if !p.used || p.Simulated {
			C.zb_close(h)
		}
	}
	p.closeSensors()
	C.free(unsafe.Pointer(p.table))
	p.table, p.handles = nil, nil
}

// Symbols lists the names of the symbol list.
func Symbols() []string {
	names := make([]string, int(C.zb_symbol_count()))
	for i := range names {
		names[i] = C.GoString(C.zb_symbol_at(C.int(i)).field)
	}
	return names
}

// Has reports whether the provider has the named symbol of the list.
func (p *Provider) Has(symbol string) bool {
	i := slices.Index(Symbols(), symbol)
	return i >= 0 && C.zb_has(p.table, C.int(i)) != 0
}

// graphSymbols are the symbols that a replayed burst needs.
var graphSymbols = []string{"streamBeginCapture", "streamEndCapture", "graphInstantiate", "graphLaunch", "graphExecDestroy", "graphDestroy"}

// CanCapture returns nil if the provider has graphs, otherwise an error that wraps ErrUnavailable
// and names the missing symbol.
func (p *Provider) CanCapture() error {
	for _, s := range graphSymbols {
		if !p.Has(s) {
			return fmt.Errorf("%s backend: %w: the runtime library has no %s, which graphs (-G) need", p.Backend, ErrUnavailable, p.nameOf(s))
		}
	}
	return nil
}

// Lacks returns the public name of the first of these symbols of the list that the provider lacks; empty if it has all.
func (p *Provider) Lacks(symbols ...string) string {
	for _, s := range symbols {
		if !p.Has(s) {
			return p.nameOf(s)
		}
	}
	return ""
}

// CollectivesVersion returns that of the collectives library; empty if unknown.
func (p *Provider) CollectivesVersion() string { return p.versionOf(RoleCollectives) }

// nameOf returns a listed symbol's name in the provider's library.
func (p *Provider) nameOf(symbol string) string {
	v, ok := backend.Of(p.Backend)
	if i := slices.Index(Symbols(), symbol); ok && i >= 0 {
		return C.GoString(C.zb_symbol_at(C.int(i)).name[v.Column])
	}
	return symbol
}
