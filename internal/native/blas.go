package native

/*
#include <stdlib.h>
#include "c/blas.h"
#include "c/dl.h"
#include "c/shim.h"
#include "c/timer.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unsafe"

	"zbench/bench/hardware/backend"
)

// BLAS is the vendor's library of matrix products, used on one stream. Close it when done.
type BLAS struct {
	// Library is the name and path of the library.
	Library backend.Loaded
	p       *Provider
	c       *C.zb_blas
	stream  Stream
	// Setting returns the variable whose name is in `faster`.
	faster string
	opened unsafe.Pointer
}

// Setting returns the environment setting that selects the library's fastest product, as
// "NAME=value"; "" if there is none. On Instinct GPUs hipBLASLt has AMD's fastest products; on
// other GPUs rocBLAS decides itself. zbench compares with the vendor's best.
func (b *BLAS) Setting() string {
	if b.faster == "" {
		return ""
	}
	name := C.CString(b.faster)
	defer C.free(unsafe.Pointer(name))
	return b.faster + "=" + C.GoString(C.getenv(name))
}

// prefer sets a variable to 1 in this process, unless the user has set it.
func prefer(variable string) {
	name, on := C.CString(variable), C.CString("1")
	defer C.free(unsafe.Pointer(name))
	defer C.free(unsafe.Pointer(on))
	C.setenv(name, on, 0)
}

// FindBLAS searches for the vendor's matrix products and opens the library. Start prepares the
// library for use. Call FindBLAS before any use of a device. If the library is missing, the error
// wraps ErrUnavailable and lists the places that were searched.
func (p *Provider) FindBLAS(o Choice) (*BLAS, error) {
	v, _ := backend.Of(o.Backend)
	if v.Faster != "" {
		prefer(v.Faster)
	}
	f, library, path, err := findProducts(o, v.BLAS)
	if err != nil {
		return nil, err
	}
	defer f.end()
	return p.newBLAS(f, library, path)
}

// findProducts opens the first usable file of a library of products. End the finder when done.
func findProducts(o Choice, lib backend.Library) (f *finder, library unsafe.Pointer, path string, err error) {
	if len(lib.Names) == 0 {
		return nil, nil, "", fmt.Errorf("%w: the %s backend has no library of matrix products", ErrUnavailable, o.Backend)
	}
	if f, err = newFinder(o); err != nil {
		return nil, nil, "", err
	}
	search := &Library{Role: lib.Role, Name: lib.Name()}
	for _, path := range f.inFolders(lib, lib.Names) {
		if h := f.try(search, path, false); h != nil {
			return f, h, path, nil
		}
	}
	f.end()
	if err := o.given(); err != nil {
		return nil, nil, "", err
	}
	return nil, nil, "", fmt.Errorf("%w: library not found: %s: tried %s", ErrUnavailable, search.Name, search.tried())
}

func (p *Provider) newBLAS(f *finder, library unsafe.Pointer, path string) (*BLAS, error) {
	b := &BLAS{
		Library: backend.Loaded{Name: filepath.Base(path), Path: path}, p: p, opened: library, faster: f.v.Faster,
		c: zeroed[C.zb_blas](1),
	}
	var lacks *C.char
	if C.zb_blas_fill(b.c, C.int(f.v.Column), library, &lacks) == 0 {
		b.Close()
		return nil, fmt.Errorf("%w: %s lacks %s", ErrUnavailable, path, C.GoString(lacks))
	}
	if name, have := f.twice(); name != "" {
		b.Close()
		return nil, fmt.Errorf("%w: %s loads another %s: %s", ErrUnavailable, path, name, strings.Join(have, " and "))
	}
	return b, nil
}

// Start creates the library's handle for a stream.
func (b *BLAS) Start(s Stream) error {
	b.stream = s
	if code := C.zb_blas_open(b.p.table, b.c, C.int(s.device), s.ptr); code != 0 {
		return fmt.Errorf("%s: create a handle: code %d", b.Library.Path, int(code))
	}
	return nil
}

// UseWorkspace sets the workspace of the products. An empty buffer selects the library's own
// workspace. ROCm's library always uses its own.
func (b *BLAS) UseWorkspace(w Buffer) error {
	if b.c.cuda_workspace == nil {
		return nil
	}
	if code := C.zb_blas_workspace(b.c, b.stream.ptr, w.ptr, C.size_t(w.Bytes)); code != 0 {
		return fmt.Errorf("%s: set the workspace: code %d", b.Library.Path, int(code))
	}
	return nil
}

// Close frees the handle and the library. It may be called twice.
func (b *BLAS) Close() {
	if b.c == nil {
		return
	}
	C.zb_blas_end(b.c)
	C.free(unsafe.Pointer(b.c))
	C.zb_close(b.opened)
	b.c = nil
}

// Matrix is a batch of row-major bf16 matrices. Row is the distance between rows, and Each is
// the distance between matrices, both in elements.
type Matrix struct {
	At        Address
	Row, Each int
}

// ErrVendor means that the library refused a product. Nothing was launched, and the device stays
// usable.
var ErrVendor = errors.New("the vendor's matrix product failed")

// Gemm computes C = Alpha·A·Bᵀ, or Alpha·A·B if Plain is true. C has M rows and N columns;
// the depth is K. C may be part of a larger matrix.
type Gemm struct {
	C, A, B        Matrix
	M, N, K, Batch int
	Alpha          float32
	// If Plain is true, B has K rows and N columns, otherwise N rows and K columns. If TurnA
	// is true, A has K rows and M columns.
	Plain, TurnA bool
	// Type is the type of A, B and C; fp8 is not allowed.
	Type Element
}

// Product returns a step of a Timer that runs one product of the vendor.
func (b *BLAS) Product(g Gemm) Step { return Step{blas: b, gemm: g} }

// fillGemm makes a step run a vendor's product instead of a kernel.
func (m *memory) fillGemm(to *C.zb_step, s Step) {
	g := kept[C.zb_gemm](m, 1)
	g.blas = s.blas.c
	g.c, g.a, g.b = s.gemm.C.c(), s.gemm.A.c(), s.gemm.B.c()
	g.m, g.n, g.k, g.batch = C.int(s.gemm.M), C.int(s.gemm.N), C.int(s.gemm.K), C.int(s.gemm.Batch)
	g.alpha, g.plain_b = C.float(s.gemm.Alpha), C.int(b2i(s.gemm.Plain))
	g.turn_a, g._type = C.int(b2i(s.gemm.TurnA)), elementNumbers[s.gemm.Type]
	to.params = (*unsafe.Pointer)(unsafe.Pointer(g))
	to.vendor = C.zb_vendor_call(C.zb_gemm_call)
}

func (m Matrix) c() C.zb_matrix {
	return C.zb_matrix{at: unsafe.Pointer(m.At.ptr()), row: C.int(m.Row), each: C.int64_t(m.Each)}
}
