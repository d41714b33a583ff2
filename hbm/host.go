package hbm

import (
	"fmt"
	"strings"
)

// HostFacts describe the host whose memory the loopback's streams measure.
type HostFacts struct {
	// Name is the CPU's model.
	Name string
	// CPUs are the CPUs that run the streams.
	CPUs int
	// Memory and Cache, the last level's, are in bytes; Cache is 0 if unknown.
	Memory, Cache int64
}

// HostMachine returns the loopback's machine file with one device, the host's memory: on the wall
// clock for timing, else on the virtual one for checks. Faults are lines as `store 0 BYTE`: after
// each launch a bit of that byte of the output flips.
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
