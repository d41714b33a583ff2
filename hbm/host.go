package hbm

import (
	"fmt"
	"strings"

	"zbench/internal/native"
)

// HostMachine is the loopback's machine file for measuring the host's memory:
// one device that is the host, on the wall clock. Faults are lines as `store 0
// BYTE`: after each launch a bit of that byte of the output flips.
func HostMachine(faults []string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "zbench-machine 1\nclock wall\nranks 1\ngpus_per_process 1\nhbm_bytes %d\ngpu host\n", native.Host().Memory)
	for _, f := range faults {
		fmt.Fprintf(&b, "fault %s\n", f)
	}
	return []byte(b.String())
}
