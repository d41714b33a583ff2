package native

/*
#include <stdlib.h>
#include "c/dl.h"
*/
import "C"

import (
	"path/filepath"
	"unsafe"
)

// companions are libraries that another opens by their bare name while it runs.
// The loader does not look beside the one that asks, so in a folder that is not
// on its path they are not found. nvrtc asks for its builtins so.
var companions = map[string]string{"libnvrtc.so": "libnvrtc-builtins.so.*"}

// openCompanions opens those beside a library that was found; from then on the
// loader knows them by name. What cannot be opened will be missed later, with
// the library's own words.
func (f *finder) openCompanions(s *Search) {
	pattern, known := companions[s.Library]
	if !known {
		return
	}
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(s.Path), pattern)) // the pattern is one
	for _, file := range files {
		if f.fatal(file) != "" {
			continue
		}
		name := C.CString(file)
		var why [256]C.char
		if h := C.zb_open(name, 0, &why[0], C.size_t(len(why))); h != nil {
			f.opened = append(f.opened, h)
		}
		C.free(unsafe.Pointer(name))
	}
}
