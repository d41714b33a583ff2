package native

/*
#include <unistd.h>
#include "c/fake/pool.h"
*/
import "C"

// HostInfo is what is known of the machine whose memory the loopback stands on.
type HostInfo struct {
	// CPUs are those this process may use.
	CPUs int
	// Memory and Free are in bytes, LastCache the last level of cache in bytes;
	// zero where the machine does not tell.
	Memory, Free, LastCache int64
}

// Host asks the machine.
func Host() HostInfo {
	page := int64(C.sysconf(C._SC_PAGESIZE))
	h := HostInfo{
		CPUs:   int(C.zbl_cpus()),
		Memory: page * int64(C.sysconf(C._SC_PHYS_PAGES)),
		Free:   page * int64(C.sysconf(C._SC_AVPHYS_PAGES)),
	}
	for _, level := range []C.int{C._SC_LEVEL4_CACHE_SIZE, C._SC_LEVEL3_CACHE_SIZE, C._SC_LEVEL2_CACHE_SIZE} {
		if size := int64(C.sysconf(level)); size > 0 {
			h.LastCache = size
			break
		}
	}
	return h
}
