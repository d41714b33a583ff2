// Package native is the only package with C in it. It puts the libraries underneath zbench (ROCm's,
// CUDA's or the built-in loopback's) behind one table of functions, and has the timed loop that
// runs on that table.
//
// Open a Provider, make streams, buffers and communicators on it, put them into a Batch, and let
// the batch run bursts. Every call that needs a current device sets it in the same cgo call,
// because the current device belongs to the operating-system thread. Only Batch.Cancel is safe for
// concurrent use.
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
	"zbench/bench/hardware/policy"
)

// ErrUnavailable is wrapped by the errors of Open if this host does not have the library,
// or no usable device.
var ErrUnavailable = exit.ErrUnavailable

// Backends returns the names of the providers in listing order.
func Backends() []string { return backend.Names() }

// Choice selects the provider to open.
type Choice struct {
	// Backend is the name of the provider, one of Backends.
	Backend string
	// Machine is the machine file of the loopback. Other providers ignore it.
	Machine []byte
	// Share is set if other drivers also drive the loopback's world; nil if none does.
	Share *Share
	// Named has the values of flags, by Setting.Flag. Getenv looks up the variables of
	// flags that are not given.
	Named  map[string]string
	Getenv func(string) string
	// Cache keeps compiled kernels; nil compiles them every time.
	Cache CodeCache
	// Needs lists the roles of the required libraries; other libraries of the vendor
	// are not searched for. If it is nil, all are searched for, and collectives and
	// runtime are required.
	Needs []Role
	// Wants are the roles of additional libraries, which are used if found.
	Wants []Role
	// Within is the time limit for opening one library; 0 means OpenWithin.
	Within time.Duration
	// Context cancels the search for libraries; with nil, nothing cancels it.
	Context context.Context //nolint:containedctx // a Choice is of one call
	// Progress is called for each task that takes seconds, such as compiling a kernel or
	// opening a slow library; nil means no calls. It is called on the goroutine that requested
	// the task. The built-in loopback has no such tasks.
	Progress func(Task)
	// Record records the provider's calls, for tests; nil records none.
	Record *Recording
}

func (o Choice) within() time.Duration { return cmp.Or(max(o.Within, 0), OpenWithin) }

// given() returns the reason why the search was cancelled, nil if it was not.
func (o Choice) given() error {
	if o.Context == nil || o.Context.Err() == nil {
		return nil
	}
	return context.Cause(o.Context)
}

// Provider is one set of libraries. Close it when done.
type Provider struct {
	// Backend is the name of the provider. Simulated is true if the times come from a model.
	// Libraries are the opened libraries, or the loopback itself.
	Backend   string
	Simulated bool
	Libraries []backend.Loaded

	table *C.zb_table
	// vendorRow describes the libraries. The loopback uses the first vendor's names.
	vendorRow backend.Vendor
	builtin   bool
	used      bool
	handles   []unsafe.Pointer
	// devices are the devices that have streams.
	devices  []C.int32_t
	searches []*Library
	compiler *Compiler
	// sensors is the vendor's management library; nil if it was not found.
	sensors *C.zb_sense
}

// Open loads a provider. For an unknown backend the error lists the valid ones. For a missing
// library the error wraps ErrUnavailable and lists the places that were searched.
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

// vendor returns the description of the provider's libraries. The built-in loopback's compiler has
// ROCm's interface.
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
		// A vendor's library that has used a GPU has threads of its own, so it stays
		// loaded until the process ends.
		if !p.used || p.Simulated {
			C.zb_close(h)
		}
	}
	p.closeSensors()
	C.free(unsafe.Pointer(p.table))
	p.table, p.handles = nil, nil
}

// Symbols returns the names of all rows of the symbol list.
func Symbols() []string {
	names := make([]string, int(C.zb_symbol_count()))
	for i := range names {
		names[i] = C.GoString(C.zb_symbol_at(C.int(i)).field)
	}
	return names
}

// Has reports whether the provider has the symbol with the given name in the list.
func (p *Provider) Has(symbol string) bool {
	i := slices.Index(Symbols(), symbol)
	return i >= 0 && C.zb_has(p.table, C.int(i)) != 0
}

// CanCall returns an error that wraps ErrUnavailable if the libraries lack a function that these
// calls need.
func (p *Provider) CanCall(c policy.Calls) error {
	flag, symbol := c.Lacking(p.Has)
	if symbol == "" {
		return nil
	}
	return fmt.Errorf("%s backend: %w: the libraries have no %s, which %s needs", p.Backend, ErrUnavailable, cmp.Or(p.nameOf(symbol), "such function"), flag)
}

// Lacks returns the public name of the first of the given symbols that the provider lacks; "" if it
// has all of them.
func (p *Provider) Lacks(symbols ...string) string {
	for _, s := range symbols {
		if !p.Has(s) {
			return p.nameOf(s)
		}
	}
	return ""
}

// CollectivesVersion returns the version of the collectives library; "" if it is unknown.
func (p *Provider) CollectivesVersion() string { return p.versionOf(RoleCollectives) }

// nameOf returns the name of a listed symbol in the provider's library.
func (p *Provider) nameOf(symbol string) string {
	v, ok := backend.Of(p.Backend)
	if i := slices.Index(Symbols(), symbol); ok && i >= 0 {
		return C.GoString(C.zb_symbol_at(C.int(i)).name[v.Column])
	}
	return symbol
}
