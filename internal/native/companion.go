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

// openCompanions opens the libraries that another one opens by bare name at run time. The loader
// does not search the folder of the opening library, so they are not found in a folder
// that is not on its path; afterwards the loader finds them by name. nvrtc opens its builtins this
// way. If one cannot be opened, the library reports it later.
func (f *finder) openCompanions(s *Search, pattern string) {
	if pattern == "" {
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
