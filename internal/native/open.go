package native

/*
#include <stdlib.h>
#include "c/dl.h"
#include "c/shim.h"
*/
import "C"

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"zbench/bench/hardware/backend"
)

// UnavailableError means that a provider is not available on this host. It wraps ErrUnavailable.
type UnavailableError struct {
	Backend string
	// What describes the missing or defective part; Remedy is the next step.
	What, Remedy string
	// Searches has the search for every library, whether it was found or not.
	Searches []*Library
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("%s backend: %v: %s; %s, or use --backend loopback, which needs no GPU", e.Backend, ErrUnavailable, e.What, e.Remedy)
}

func (e *UnavailableError) Unwrap() error { return ErrUnavailable }

func newFinder(o Choice) (*finder, error) {
	v, known := backend.Of(o.Backend)
	if !known {
		return nil, fmt.Errorf("unknown backend %q: valid are %s", o.Backend, strings.Join(Backends(), ", "))
	}
	return &finder{o: o, v: v, handles: map[C.int]unsafe.Pointer{}}, nil
}

// openVendor opens the collectives library first and then the runtime that it loaded, so that the
// process never has two runtimes. If the user named a runtime, that runtime is opened first, and
// the collectives library uses it if possible. All libraries are searched for even if one is
// missing, so that doctor can list them.
func (p *Provider) openVendor(o Choice) error {
	f, err := newFinder(o)
	if err != nil {
		return err
	}
	defer f.end()
	for _, row := range f.order() {
		f.find(row)
	}
	p.take(f)
	if err := f.o.given(); err != nil {
		return err
	}
	for _, s := range p.searches { // report the versions of the libraries that were found, even if other libraries are missing
		if s.Found() {
			s.Version = p.versionOf(s.Role)
		}
	}
	if err := f.complete(); err != nil {
		return err
	}
	if !p.Simulated && slices.Contains(o.Needs, RoleDriver) {
		p.openSensors(f)
	}
	// The runtime comes first, then the collectives library: readers of records rely on this order.
	for _, role := range []Role{RoleRuntime, RoleCollectives, RoleDriver, RoleCompiler} {
		if s := p.search(role); s.Found() {
			p.Libraries = append(p.Libraries, backend.Loaded{Name: s.Name, Version: s.Version, Path: s.Path})
		}
	}
	return nil
}

// order returns the needed libraries in the order of the table; a runtime that the user named comes
// first.
func (f *finder) order() []backend.Library {
	rows := slices.DeleteFunc(slices.Clone(f.v.Libraries), func(row backend.Library) bool {
		return f.o.Needs != nil && !slices.Contains(slices.Concat(f.o.Needs, f.o.Wants), row.Role)
	})
	slices.SortStableFunc(rows, func(a, b backend.Library) int { return f.before(a) - f.before(b) })
	return rows
}

func (f *finder) before(row backend.Library) int {
	if file, _ := f.o.setting(row.Flag); file != "" && row.Role == RoleRuntime {
		return -1
	}
	return 0
}

// take passes the opened libraries to the provider.
func (p *Provider) take(f *finder) {
	p.vendorRow, p.handles = f.v, f.opened
	p.searches = append(p.searches, f.found...)
	for kind, h := range f.handles {
		C.zb_fill(p.table, C.int(f.v.Column), kind, h)
	}
	C.zb_fill(p.table, C.int(f.v.Column), C.ZB_LOOPBACK, f.handles[C.ZB_RUNTIME])
	// Only the loopback's own libraries have a clock, because a model gives their times.
	// These libraries move data unless the movement is switched off.
	p.Simulated = p.table.nowNs != nil
	C.zb_move_data(p.table, 0)
}

func (p *Provider) search(role Role) *Library { return searchFor(p.searches, role) }

// Searches returns the search for each library in the order of opening; nil for the built-in
// loopback.
func (p *Provider) Searches() []*Library { return p.searches }

// complete returns an error if a required library or function is missing.
func (f *finder) complete() error {
	fail := func(remedy, format string, args ...any) error {
		return &UnavailableError{f.o.Backend, fmt.Sprintf(format, args...), remedy, f.found}
	}
	for _, s := range f.found {
		if s.Found() || !s.Required {
			continue
		}
		if s.By != "" {
			return fail(cmp.Or(s.Remedy, "name a library that can be loaded with --"+s.Flag), "no %s library: %s gives %s", s.Role, s.By, s.tried())
		}
		return fail(cmp.Or(s.Remedy, fmt.Sprintf("install %s, name its folder with --%s or the file with --%s", f.v.Product, f.v.Root.Flag, s.Flag)),
			"no %s library %s: tried %s", s.Role, s.Name, s.tried())
	}
	for _, s := range f.found {
		if name := s.lacks(); name != "" {
			return fail(fmt.Sprintf("use a newer %s, or name another file with --%s", f.v.Product, s.Flag), "%s lacks %s", s.Path, name)
		}
	}
	if name, have := f.twice(); name != "" {
		return fail(fmt.Sprintf("name one installation with --%s, or the libraries' files so that all belong to one", f.v.Root.Flag),
			"this process has %d of %s: %s; one copy does not know the work of another", len(have), name, strings.Join(have, " and "))
	}
	return nil
}

// twice() returns the name and the paths of a library that must be loaded only once but was loaded
// several times; "" if there is none.
func (f *finder) twice() (name string, have []string) {
	for _, row := range f.v.Libraries {
		name := row.Name()
		if have := loadedLibraries(name); row.Alone && len(have) > 1 {
			return name, have
		}
	}
	return "", nil
}

// versionOf returns a library's version; "" if it is unknown.
func (p *Provider) versionOf(role Role) string {
	var v, minor C.int
	switch role {
	case RoleRuntime:
		if C.zb_runtime_version(p.table, &v) == 0 {
			return p.vendorRow.Version(int(v))
		}
	case RoleCollectives:
		if C.zb_coll_version(p.table, &v) == 0 {
			return collVersion(int(v))
		}
	case RoleDriver:
		if C.zb_driver_version(p.table, &v) == 0 {
			return p.vendorRow.Version(int(v))
		}
	case RoleCompiler:
		if C.zb_rtc_version(p.table, &v, &minor) == 0 {
			return fmt.Sprintf("%d.%d", v, minor)
		}
	default: // the library of products reports no version
	}
	return ""
}
