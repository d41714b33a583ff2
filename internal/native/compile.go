package native

/*
#include <stdlib.h>
#include "c/compile.h"
#include "c/dl.h"
#include "c/shim.h"
*/
import "C"

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unsafe"

	"zbench/bench/base/slice"
	"zbench/bench/hardware/backend"
)

// CompileRequest describes a compilation.
type CompileRequest struct {
	// File is the name of a kernel source, as in Kernel.File.
	File string
	// Defines are macros for the compiler, as NAME or NAME=VALUE.
	Defines []string
	// Arch is the target, such as gfx942 or sm_90. With AMD's libraries it may be empty on
	// a device: hiprtc then compiles for the current device.
	Arch string
	// Wave is the number of threads in a wave; 0 selects the architecture's own number.
	Wave int
}

// CodeCache keeps compiled code between runs. A key is a hash of all inputs of the
// compilation.
type CodeCache interface {
	Load(key string) (code []byte, ok bool)
	Store(key string, code []byte)
}

// CompileError is the error of a source that did not compile.
type CompileError struct {
	File, Arch string
	Options    []string
	// Call is the function of the compiler that failed. Text is its error string.
	// Log is the compiler's output.
	Call, Text, Log string
}

func (e *CompileError) Error() string {
	text := fmt.Sprintf("%s for %s: %s: %s (options %s)", e.File, e.Arch, e.Call, e.Text, strings.Join(e.Options, " "))
	if log := strings.TrimSpace(e.Log); log != "" {
		text += "\n" + log
	}
	return text
}

// Compiler is a vendor's run-time compiler.
type Compiler struct {
	table   *C.zb_table
	vendor  backend.Vendor
	version string
	cache   CodeCache
	tasks   compilations
	close   func()
	// Search has the search for the library; nil for the built-in loopback.
	Search *Library
}

// OpenCompiler opens only the run-time compiler of a backend. It needs no other library
// of the vendor and no GPU. Close the compiler when done.
func OpenCompiler(o Choice) (*Compiler, error) {
	f, err := newFinder(o)
	if err != nil {
		return nil, err
	}
	defer f.end()
	for _, row := range f.v.Libraries {
		if row.Role == RoleCompiler {
			f.find(row)
		}
	}
	p := &Provider{Backend: o.Backend, table: zeroed[C.zb_table](1)}
	p.take(f)
	if err := f.o.given(); err != nil {
		p.Close()
		return nil, err
	}
	s := p.search(RoleCompiler)
	c := &Compiler{table: p.table, vendor: f.v, version: p.versionOf(RoleCompiler), cache: o.Cache, tasks: compilations{tell: o.Progress}, Search: s, close: p.Close}
	s.Version = c.version
	if err := c.usable(); err != nil {
		p.Close()
		return nil, &UnavailableError{o.Backend, err.Error() + ": tried " + s.tried(), cmp.Or(s.Remedy, "install "+f.v.Product+", or name the file with --"+s.Flag), p.Searches()}
	}
	return c, nil
}

// Close closes the library that OpenCompiler opened.
func (c *Compiler) Close() { c.close() }

// compilerFields are the functions of the symbol list that a compilation calls.
var compilerFields = []string{"rtcCreate", "rtcCompile", "rtcLogSize", "rtcLog", "rtcCodeSize", "rtcCode", "rtcDestroy"}

func (c *Compiler) usable() error {
	for i, name := range Symbols() {
		if slices.Contains(compilerFields, name) && C.zb_has(c.table, C.int(i)) == 0 {
			return fmt.Errorf("no run-time compiler (no %s)", C.GoString(C.zb_symbol_at(C.int(i)).name[c.vendor.Column]))
		}
	}
	return nil
}

// options returns the compiler's options: the language, the architecture and the macros.
func (c *Compiler) options(r CompileRequest) []string {
	list := append([]string{"-std=c++17"}, c.vendor.Options...)
	if r.Arch != "" {
		list = append(list, c.vendor.ArchOption+r.Arch)
	}
	wave := r.Wave
	for _, prefix := range slices.Sorted(maps.Keys(c.vendor.Waves)) {
		if wave == 0 && strings.HasPrefix(r.Arch, prefix) {
			wave = c.vendor.Waves[prefix]
		}
	}
	if wave != 0 {
		list = append(list, fmt.Sprintf("-DZB_WAVE=%d", wave))
	}
	return append(list, slice.Map(r.Defines, func(d string) string { return "-D" + d })...)
}

// Compile compiles a kernel source for r.Arch, or returns the code from the cache.
func (c *Compiler) Compile(r CompileRequest) ([]byte, error) {
	return c.compile(order{CompileRequest: r, device: -1, identity: r.Arch})
}

// order is a request with the device that the code is for, −1 for none. The field `identity` names
// that device if Arch is empty.
type order struct {
	CompileRequest
	device   int
	identity string
	// model is the device's name, used in messages if Arch is empty.
	model string
}

func (c *Compiler) compile(r order) ([]byte, error) {
	source, err := KernelFile(r.File)
	if err != nil {
		return nil, err
	}
	return c.compileText(r, source)
}

// compileText compiles any text under the name of r.File.
func (c *Compiler) compileText(r order, source string) ([]byte, error) {
	if err := c.usable(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	options := c.options(r.CompileRequest)
	key := ""
	if c.cache != nil {
		key = cacheKey(source, c.vendor.Product, c.version, r.identity, options)
	}
	c.tasks.count(key, c.cache != nil)
	if c.cache != nil {
		if code, ok := c.cache.Load(key); ok {
			return code, nil
		}
	}
	end := c.tasks.begin(r)
	code, err := c.run(r, source, options)
	end()
	if err == nil && c.cache != nil {
		c.cache.Store(key, code)
	}
	return code, err
}

// cacheKey returns a hash of all inputs of the compilation. Their lengths are hashed too, so that
// the parts cannot run into each other.
func cacheKey(source, product, version, identity string, options []string) string {
	h := sha256.New()
	for _, part := range append([]string{source, product, version, identity}, options...) {
		_, _ = fmt.Fprintf(h, "%d:%s", len(part), part) // a hash cannot fail
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (c *Compiler) run(r order, source string, options []string) ([]byte, error) {
	var m memory
	defer m.free()
	list, out := kept[*C.char](&m, len(options)), kept[C.zb_compiled](&m, 1)
	for i, o := range options {
		unsafe.Slice(list, len(options))[i] = m.text(o)
	}
	C.zb_compile(c.table, C.int(r.device), m.text(source), m.text(r.File), C.int(len(options)), list, out)
	m = append(m, unsafe.Pointer(out.code), unsafe.Pointer(out.log))
	if out.call != nil {
		e := &CompileError{File: r.File, Arch: r.Arch, Options: options, Call: C.GoString(out.call), Text: C.GoString(C.zb_rtc_error(c.table, out.result))}
		if e.Arch == "" {
			e.Arch = "this device"
		}
		if out.log != nil {
			e.Log = C.GoString(out.log)
		}
		return nil, e
	}
	return C.GoBytes(unsafe.Pointer(out.code), C.int(out.bytes)), nil
}
