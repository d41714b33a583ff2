package native

/*
#include <stdlib.h>
#include "c/fake/world.h"
*/
import "C"

import "unsafe"

// RemoveLeft removes a file where processes of a loopback met, if none of them still has
// it open: they were killed. It leaves alone what another user owns, what is no such file,
// and links. It tells whether it has removed the file.
func RemoveLeft(file string) bool {
	path := C.CString(file)
	defer C.free(unsafe.Pointer(path))
	return C.zbl_remove_left(path) != 0
}

// RemoveName removes the name of the file that this process has open as Share.File; not
// that of another file that has it by now. Processes that have opened it still meet there.
func RemoveName(file string) {
	path := C.CString(file)
	defer C.free(unsafe.Pointer(path))
	C.zbl_remove_name(path)
}
