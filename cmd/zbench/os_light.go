package main

import (
	"os"
	"runtime"
	"runtime/debug"

	"zbench/bench/table"
)

// lightGC is GOGC for a process that follows. Its live heap is about 1 MB.
const lightGC = 40

// light lets Go's runtime take little in a process whose Go code only reads orders and
// writes reports: one thread runs it at a time. With more, the runtime keeps one spinning
// and another that watches while C waits for other processes: half of the CPU time of a
// thousand processes on one host. What the environment asks for stays.
//
// Until the process has opened its ranks the heap has Go's usual limit, which it does not
// reach: early collections took a quarter of the CPU time from the start until then. The
// returned function then collects what only the start took, and keeps the heap small.
func light() (settle func()) {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
	table.Forget()
	return func() {
		if os.Getenv("GOGC") == "" {
			debug.SetGCPercent(lightGC)
		}
		debug.FreeOSMemory()
	}
}
