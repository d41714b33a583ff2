package hbm

import (
	"fmt"
	"strings"

	"zbench/internal/native"
)

// HostMachine is the loopback's machine file with one device that is the host's
// memory: on the wall clock where it is timed, else on the virtual one, where
// kernels are checked. Faults are lines as `store 0 BYTE`: after each launch a bit
// of that byte of the output flips.
func HostMachine(timed bool, faults []string) []byte {
	var b strings.Builder
	clock := "virtual"
	if timed {
		clock = "wall"
	}
	fmt.Fprintf(&b, "zbench-machine 1\nclock "+clock+"\nranks 1\ngpus_per_process 1\nhbm_bytes %d\ngpu host\n", native.Host().Memory)
	for _, f := range faults {
		fmt.Fprintf(&b, "fault %s\n", f)
	}
	return []byte(b.String())
}
