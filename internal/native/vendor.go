package native

/*
#include <stdlib.h>
#include "c/dl.h"
*/
import "C"

import (
	"fmt"
	"path/filepath"
	"strings"
	"unsafe"
)

// vendor says where a vendor's libraries are looked for. Adding one is one row
// here and a column in the symbol list.
type vendor struct {
	column C.int
	// collectives and runtime are file names, the preferred first.
	collectives, runtime []string
	// roots are variables that name the installation, lib its subfolder.
	roots []string
	fixed []string
	hint  string
}

var vendors = map[string]vendor{
	"rocm": {
		column:      C.ZB_ROCM,
		collectives: []string{"librccl.so.1", "librccl.so"},
		runtime:     []string{"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"},
		roots:       []string{"ROCM_PATH", "ROCM_HOME"},
		fixed:       []string{"/opt/rocm/lib"},
		hint:        "install ROCm or set ROCM_PATH; without a GPU use --backend loopback",
	},
	"cuda": {
		column:      C.ZB_CUDA,
		collectives: []string{"libnccl.so.2", "libnccl.so"},
		runtime:     []string{"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so"},
		roots:       []string{"CUDA_HOME", "CUDA_PATH"},
		fixed:       []string{"/usr/local/cuda/lib64"},
		hint:        "install CUDA and NCCL or set CUDA_HOME; without a GPU use --backend loopback",
	},
}

// openVendor opens the collectives library first and then the runtime that it
// brought along, so that the process never has two of them.
func (p *Provider) openVendor(o Options) error {
	v, known := vendors[o.Backend]
	if !known {
		return fmt.Errorf("unknown backend %q: valid are %s", o.Backend, strings.Join(Backends(), ", "))
	}
	folders := v.folders(o.Getenv)
	coll, err := p.openFirst(paths(folders, v.collectives), false)
	if err != nil {
		return fmt.Errorf("%s backend: no collectives library: %w; %s", o.Backend, err, v.hint)
	}
	runtime, err := p.openFirst(v.runtime, true)
	if err != nil {
		runtime, err = p.openFirst(paths(folders, v.runtime), false)
	}
	if err != nil {
		return fmt.Errorf("%s backend: no runtime library: %w; %s", o.Backend, err, v.hint)
	}
	if i := C.zb_fill(p.table, v.column, runtime, coll); i >= 0 {
		name := C.GoString(C.zb_symbol_at(i).name[v.column])
		return fmt.Errorf("%s backend: %w: the libraries lack %s; %s", o.Backend, ErrUnavailable, name, v.hint)
	}
	p.Libraries = []Library{
		{Name: v.runtime[len(v.runtime)-1], Path: pathOf(runtime, C.zb_symbol_at(0).name[v.column])},
		{Name: v.collectives[len(v.collectives)-1], Path: pathOf(coll, p.symbolName("collGetVersion", v.column))},
	}
	return nil
}

// folders returns where to look, the empty folder meaning the loader's path.
func (v vendor) folders(getenv func(string) string) []string {
	var out []string
	for _, variable := range v.roots {
		if root := getenv(variable); root != "" {
			out = append(out, filepath.Join(root, "lib"), filepath.Join(root, "lib64"))
		}
	}
	return append(append(out, ""), v.fixed...)
}

func paths(folders, names []string) []string {
	var out []string
	for _, folder := range folders {
		for _, name := range names {
			out = append(out, filepath.Join(folder, name))
		}
	}
	return out
}

// openFirst opens the first path that loads. The error wraps ErrUnavailable and
// lists what was tried, with the loader's word where a file was there but broken.
func (p *Provider) openFirst(candidates []string, onlyIfLoaded bool) (unsafe.Pointer, error) {
	flag := C.int(0)
	if onlyIfLoaded {
		flag = 1
	}
	var tried []string
	for _, path := range candidates {
		name := C.CString(path)
		var why [512]C.char
		h := C.zb_open(name, flag, &why[0], C.size_t(len(why)))
		C.free(unsafe.Pointer(name))
		if h != nil {
			p.handles = append(p.handles, h)
			return h, nil
		}
		text := C.GoString(&why[0])
		if strings.Contains(text, "No such file") || onlyIfLoaded {
			text = path
		}
		tried = append(tried, text)
	}
	return nil, fmt.Errorf("%w; tried %s", ErrUnavailable, strings.Join(tried, ", "))
}

func (p *Provider) symbolName(field string, column C.int) *C.char {
	for i := range C.zb_symbol_count() {
		if C.GoString(C.zb_symbol_at(i).field) == field {
			return C.zb_symbol_at(i).name[column]
		}
	}
	return nil
}

func pathOf(library unsafe.Pointer, symbol *C.char) string {
	var path [4096]C.char
	if C.zb_path_of(library, symbol, &path[0], C.size_t(len(path))) == 0 {
		return ""
	}
	return C.GoString(&path[0])
}
