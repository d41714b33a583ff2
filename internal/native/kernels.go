package native

/*
#cgo CXXFLAGS: -std=c++17 -O2 -Wall -fvisibility=hidden -fno-exceptions -fno-rtti
#cgo linux LDFLAGS: -Wl,--as-needed -static-libgcc
#include <stdint.h>
#include <stdlib.h>
#include "kernels/table.h"
*/
import "C"

import (
	"embed"
	"fmt"
	"io/fs"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"
)

// kernelFiles are the kernel sources that are compiled at run time for the present GPU. Like
// `sources`, this variable also makes the build depend on every file in its folder. The linker is
// g++ because there are .cc files. --as-needed drops libstdc++, which is not used. -static-libgcc
// is needed because _Float16 in c/fake takes libgcc of GCC 12, which not every host has as a shared
// library.
//
//go:embed kernels
var kernelFiles embed.FS

// A Kernel is a function of a kernel source that a provider can launch.
type Kernel struct {
	// Name is the name of the function. File is the name of its source, so that a caller can
	// compile each file once.
	Name, File string
}

// KindReduced and KindCopied are the kinds of data in a verification; KernelBlock is the block size
// of its kernels.
const (
	KindReduced = 0
	KindCopied  = 1
	KernelBlock = 256
)

// MaxVerifiedRanks is the largest number of ranks that zb_fill and zb_check support: up to this
// number, 1/n in half precision does not depend on the rounding mode. With more ranks every element
// counts as wrong.
const MaxVerifiedRanks = 8192

// kernelParts lists the files that make up a source, in order. The first line of a source names
// the files before it, because no file includes another.
func kernelParts(file string) ([]string, error) {
	text, err := kernelFiles.ReadFile("kernels/" + file)
	if err != nil || !strings.HasSuffix(file, ".hip") {
		valid, _ := fs.Glob(kernelFiles, "kernels/*.hip") // Glob fails only for a bad pattern
		return nil, fmt.Errorf("native: no kernel source %q: valid are %s", file, strings.ReplaceAll(strings.Join(valid, ", "), "kernels/", ""))
	}
	first, _, _ := strings.Cut(string(text), "\n")
	words := strings.Fields(first)
	return append(slices.DeleteFunc(words, func(w string) bool { return !strings.HasSuffix(w, ".h") }), file), nil
}

// Kernels returns all kernels in the order of the table.
func Kernels() []Kernel {
	list := make([]Kernel, 0, int(C.zbl_kernel_count()))
	for i := range C.zbl_kernel_count() {
		k := C.zbl_kernel_at(i)
		list = append(list, Kernel{Name: C.GoString(k.name), File: C.GoString(k.file)})
	}
	return list
}

// kernelTexts caches the results of KernelFile by file, because up to 1,024 devices need the same
// text.
var kernelTexts sync.Map

// KernelFile returns the whole text of a kernel source. Its parts have #line
// directives, so that the compiler's errors name the right file.
func KernelFile(file string) (string, error) {
	if text, ok := kernelTexts.Load(file); ok {
		return text.(string), nil
	}
	parts, err := kernelParts(file)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, part := range parts {
		data, err := kernelFiles.ReadFile("kernels/" + part)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&text, "#line 1 %q\n%s", part, data)
	}
	kernelTexts.Store(file, text.String())
	return text.String(), nil
}

// Launch is the geometry of a launch: blocks and threads per block in each dimension, and the
// dynamic shared memory per block in bytes.
type Launch struct {
	Grid, Block [3]uint32
	Shared      uint32
}

// line returns a one-dimensional launch.
func line(grid, block uint32) Launch {
	return Launch{Grid: [3]uint32{grid, 1, 1}, Block: [3]uint32{block, 1, 1}}
}

// runKernel runs a kernel of the table in this thread: folded into loops if possible,
// otherwise thread by thread. An argument is an integer, a float or a pointer. A launch
// that would hang on a GPU returns an error here.
func runKernel(name string, l Launch, folded bool, args ...any) error {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	k := C.zbl_kernel_find(text)
	if k == nil || int(k.nparams) != len(args) {
		return fmt.Errorf("native: no kernel %s of %d arguments", name, len(args))
	}
	var pinned runtime.Pinner
	defer pinned.Unpin()
	given := slices.Clone(args)
	for i, arg := range args {
		switch v := arg.(type) {
		case int:
			given[i] = int64(v)
		case unsafe.Pointer:
			pinned.Pin(v)
			given[i] = Buffer{ptr: v}
		}
	}
	var m memory
	defer m.free()
	step, err := m.list([]Step{{Function: Function{name: name}, Launch: l, Args: given}})
	if err != nil {
		return err
	}
	how := C.zbk_launch{grid: step.grid, block: step.block, shared: step.shared}
	var why [160]C.char
	if C.zbk_run(k, &how, C.int(b2i(folded)), step.params, &why[0], C.size_t(len(why))) != 0 {
		return fmt.Errorf("native: kernel %s: %s", name, C.GoString(&why[0]))
	}
	return nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// ElementString formats the bits from zb_explain as a value of the type with the given
// ncclDataType_t.
func ElementString(dtype int, bits uint64) string {
	float := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 32) }
	switch dtype {
	case 0:
		return strconv.Itoa(int(int8(bits)))
	case 2:
		return strconv.Itoa(int(int32(bits)))
	case 4:
		return strconv.FormatInt(int64(bits), 10)
	case 1, 3, 5:
		return strconv.FormatUint(bits, 10)
	case 6:
		return float(HalfValue(uint16(bits)))
	case 7:
		return float(float64(math.Float32frombits(uint32(bits))))
	case 8:
		return strconv.FormatFloat(math.Float64frombits(bits), 'g', -1, 64)
	case 9:
		return float(float64(math.Float32frombits(uint32(bits) << 16)))
	}
	// The bits are printed, because the fp8 formats of gfx942 differ from the formats of other
	// GPUs.
	return fmt.Sprintf("0x%02x", bits)
}

// HalfValue converts a binary16 to float64.
func HalfValue(bits uint16) float64 {
	exponent, fraction := int(bits>>10&31), float64(bits&1023)
	sign := 1 - 2*float64(bits>>15)
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 31:
		if fraction != 0 {
			return math.NaN()
		}
		return sign * math.Inf(1)
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}
