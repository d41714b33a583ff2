package hbm

import (
	"fmt"
	"strings"
)

// HostFacts describe the host whose memory the loopback's streams are timed on.
type HostFacts struct {
	// Name is the CPU's model.
	Name string
	// CPUs are those that run the streams.
	CPUs int
	// Memory and Cache, the last level's, are in bytes; 0 for a cache that is not
	// known.
	Memory, Cache int64
}

// HostMachine is the loopback's machine file with one device that is the host's
// memory: on the wall clock where it is timed, else on the virtual one, where
// kernels are checked. Faults are lines as `store 0 BYTE`: after each launch a bit
// of that byte of the output flips.
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
