package hbm

import (
	"fmt"
	"strings"
)

// HostFacts describes the host whose memory the loopback's streams measure.
type HostFacts struct {
	// Name is the CPU's model.
	Name string
	// CPUs is the number of CPUs that run the streams.
	CPUs int
	// Memory is the size of the memory, and Cache is the size of the last-level cache, both in
	// bytes. Cache is 0 if unknown.
	Memory, Cache int64
}

// HostMachine returns a machine file for the loopback with one device, the host's memory. If timed
// is true, the clock is the wall clock; otherwise it is the virtual clock, for checks. A fault is a
// line such as `store 0 BYTE`: after each launch one bit of that byte of the output is flipped.
func HostMachine(timed bool, faults []string, host HostFacts) []byte {
	var b strings.Builder
	clock := "virtual"
	if timed {
		clock = "wall"
	}
	fmt.Fprintf(&b, "zbench-machine 1\nclock "+clock+"\nranks 1\ngpus_per_process 1\nhbm_bytes %d\ncores %d\ngpu host\n", host.Memory, host.CPUs)
	for _, f := range faults {
		fmt.Fprintf(&b, "fault %s\n", f)
	}
	return []byte(b.String())
}
