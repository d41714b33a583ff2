package native

/*
#include <unistd.h>
#include "c/fake/pool.h"
*/
import "C"

// HostInfo describes the host whose memory the loopback uses.
type HostInfo struct {
	// CPUs are those this process may use.
	CPUs int
	// Memory is in bytes.
	Memory int64
}

// Host queries the operating system.
func Host() HostInfo {
	page := int64(C.sysconf(C._SC_PAGESIZE))
	return HostInfo{
		CPUs:   int(C.zbl_cpus()),
		Memory: page * int64(C.sysconf(C._SC_PHYS_PAGES)),
	}
}
