package native

/*
#include <stdlib.h>
#include "c/compile.h"
#include "c/shim.h"
*/
import "C"

import (
	"fmt"
	"math"
	"slices"
	"unsafe"
)

// Module is a compiled kernel source on one device.
type Module struct {
	p      *Provider
	ptr    unsafe.Pointer
	device int
	file   string
}

// Function is a kernel that can be launched on its module's device.
type Function struct {
	ptr  unsafe.Pointer
	name string
}

// LoadModule compiles a kernel source for a device, or takes the code from the cache,
// and loads it onto the device. On the loopback it uses the kernels in the binary,
// whatever the defines are. Without a compiler the error wraps ErrUnavailable.
func (p *Provider) LoadModule(device int, file string, defines []string) (*Module, error) {
	info, err := p.Device(device)
	if err != nil {
		return nil, err
	}
	if err := p.Compiles(); err != nil {
		return nil, err
	}
	code, err := p.compiler.compile(order{
		CompileRequest{File: file, Defines: defines, Arch: info.Arch, Wave: info.Wave}, device, info.identity(), info.Name,
	})
	if err != nil {
		return nil, fmt.Errorf("%s backend: %w", p.Backend, err)
	}
	return p.loadCode(device, file, code)
}

// Compiles returns nil if the provider can compile kernels. Otherwise the error wraps
// ErrUnavailable and says what was searched and what to do next.
func (p *Provider) Compiles() error {
	err := p.compiler.usable()
	if err == nil {
		return nil
	}
	what, remedy := err.Error(), "install "+p.vendor().Product
	if s := p.search(RoleCompiler); s.Flag != "" {
		what, remedy = what+": tried "+s.tried(), remedy+", or name the file with --"+s.Flag
	}
	return &UnavailableError{p.Backend, what, remedy, p.Searches()}
}

// loadCode loads compiled code, copied to temporary C memory.
func (p *Provider) loadCode(device int, file string, code []byte) (*Module, error) {
	image := C.CBytes(slices.Concat(code, []byte{0}))
	defer C.free(image)
	m := &Module{p: p, device: device, file: file}
	// C writes to a local variable, because m contains Go pointers, which must not be passed to C.
	var ptr unsafe.Pointer
	err := p.runtime("load "+file, device, C.zb_load_module(p.table, C.int(device), image, &ptr))
	if err != nil {
		return nil, err
	}
	m.ptr = ptr
	return m, nil
}

// Function finds a kernel of the module.
func (m *Module) Function(name string) (Function, error) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	var ptr unsafe.Pointer
	err := m.p.runtime("find kernel "+name+" of "+m.file, m.device, C.zb_module_function(m.p.table, C.int(m.device), &ptr, m.ptr, text))
	return Function{ptr: ptr, name: name}, err
}

// Close unloads the module. Its functions become invalid.
func (m *Module) Close() error {
	if m == nil || m.ptr == nil {
		return nil
	}
	ptr := m.ptr
	m.ptr = nil
	return m.p.runtime("unload "+m.file, m.device, C.zb_module_unload(m.p.table, C.int(m.device), ptr))
}

// argument is the memory of one kernel argument, aligned for any type.
type argument struct {
	bits uint64
	_    uint64
}

// Launch enqueues a kernel on a stream. Arguments must have the types of the kernel's parameters:
// int32, uint32, int64, uint64, float32, float64, Buffer or Address. They are copied before Launch
// returns.
func (p *Provider) Launch(s Stream, f Function, l Launch, args ...any) error {
	if p.table.launchKernel == nil {
		return fmt.Errorf("%s backend: %w: kernels cannot be launched", p.Backend, ErrUnavailable)
	}
	var m memory
	defer m.free()
	step, err := m.list([]Step{{Function: f, Launch: l, Args: args}})
	if err != nil {
		return err
	}
	code := C.zb_launch(p.table, C.int(s.device), f.ptr, &step.grid[0], &step.block[0], step.shared, s.ptr, step.params)
	return p.runtime("launch "+f.name, s.device, code)
}

// argumentBits returns an argument's bytes in little-endian order; a narrow type fills the low
// bytes.
func argumentBits(arg any) (uint64, error) {
	switch v := arg.(type) {
	case int32:
		return uint64(uint32(v)), nil //nolint:gosec // the same bits
	case uint32:
		return uint64(v), nil
	case int64:
		return uint64(v), nil //nolint:gosec // the same bits
	case uint64:
		return v, nil
	case float32:
		return uint64(math.Float32bits(v)), nil
	case float64:
		return math.Float64bits(v), nil
	case Buffer:
		return uint64(uintptr(v.ptr)), nil
	case Address:
		return uint64(uintptr(unsafe.Pointer(v.ptr()))), nil
	}
	return 0, fmt.Errorf("a %T cannot be a kernel argument", arg)
}
