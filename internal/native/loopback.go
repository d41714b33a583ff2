package native

/*
#include <stdlib.h>
#include <unistd.h>
#include "c/fake/pool.h"
#include "c/fake/world.h"
#include "c/shim.h"
static inline uint64_t zb_fired(void) { return zbl.hub != NULL ? zbl.hub->fired : 0; }
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"zbench/bench/hardware/backend"
)

// ErrMachine is wrapped by the error for a machine file that the loopback refuses.
var ErrMachine = errors.New("loopback")

// Share is one driver's part of a loopback world that several drivers share, in this
// process or in others. Every communicator then waits for the ranks of other drivers.
type Share struct {
	// File is the path of the file in which processes meet. Each process opens it, and
	// the first one creates it. Remove it when the run has ended. If it is empty, only
	// drivers of this process share the world.
	File string
	// Exists is true if another driver has made the file, so that a missing file is an error.
	Exists bool
	// First is the world rank of the first device that this process sees. Count is the
	// number of devices that it sees; 0 means all.
	First, Count int
}

// openLoopback opens the world of the machine file. Only one world can be open at a time.
// With a share, any number of drivers can open the same world.
func (p *Provider) openLoopback(machine []byte, share *Share) error {
	text := C.CString(string(machine))
	defer C.free(unsafe.Pointer(text))
	var how C.zbl_share
	if share == nil {
		C.zb_keep_memory()
	} else {
		how.several, how.exists, how.first, how.count = 1, C.int(b2i(share.Exists)), C.int(share.First), C.int(share.Count)
		if share.File != "" {
			C.zb_one_heap() // a host may have a thousand such processes
			how.path = C.CString(share.File)
			defer C.free(unsafe.Pointer(how.path))
		}
	}
	var why [256]C.char
	if C.zbl_join_world(text, &how, &why[0], C.size_t(len(why))) == 0 {
		return fmt.Errorf("%w: %s", ErrMachine, C.GoString(&why[0]))
	}
	C.zbl_fill(p.table)
	p.Simulated, p.builtin, p.vendorRow = true, true, p.vendor()
	p.Libraries = []backend.Loaded{
		{Name: "loopback runtime", Version: p.versionOf(RoleRuntime)},
		{Name: "loopback collectives", Version: p.versionOf(RoleCollectives)},
	}
	return nil
}

// RemoveLeft removes a shared file of the loopback if no process has it open, because all were
// killed. It does not touch other users' files, files of another kind, or links. It reports whether
// it removed the file.
func RemoveLeft(file string) bool {
	path := C.CString(file)
	defer C.free(unsafe.Pointer(path))
	return C.zbl_remove_left(path) != 0
}

// RemoveName removes the name of the file that this process has open as Share.File, unless the name
// belongs to another file by now. Processes that have the file open still meet there.
func RemoveName(file string) {
	path := C.CString(file)
	defer C.free(unsafe.Pointer(path))
	C.zbl_remove_name(path)
}

// HostInfo describes the host whose memory the loopback uses.
type HostInfo struct {
	// CPUs is the number of CPUs that this process may use.
	CPUs int
	// Memory is the size of the memory in bytes.
	Memory int64
}

// Host returns the host's CPUs and memory, as reported by the operating system.
func Host() HostInfo {
	page := int64(C.sysconf(C._SC_PAGESIZE))
	return HostInfo{
		CPUs:   int(C.zbl_cpus()),
		Memory: page * int64(C.sysconf(C._SC_PHYS_PAGES)),
	}
}

// Fired returns how often planted data faults have changed data in the loopback's world; 0
// for other providers.
func (p *Provider) Fired() int {
	if !p.Simulated {
		return 0
	}
	return int(C.zb_fired())
}

// Model returns the loopback's own closed form: the seconds for a size in bytes. A test requires
// that it equals the closed form in bench/work/fabric.
func Model(b, a, r, floor, k, bytes float64) float64 {
	c := C.zbl_curve{b: C.double(b), a: C.double(a), r: C.double(r), floor: C.double(floor), k: C.double(k)}
	return float64(C.zbl_model(&c, C.double(bytes)))
}
