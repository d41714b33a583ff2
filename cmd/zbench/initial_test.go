package main

import (
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/pattern"
)

// maxInitial is what a package may allocate before main. A run may have a thousand
// processes on a host, and each of them initialises all packages.
const maxInitial = 20 << 10

// initialBytes are the lines of GODEBUG=inittrace=1 of zbench's packages, but for this one:
// with it come the variables of its tests.
var initialBytes = pattern.New(`(?m)^init (zbench/(?:bench|hbm|internal|rccl|report)\S*) @.*?, (\d+) bytes, `)

// TestPackagesAllocateLittleAtTheStart reads the trace of Go's runtime of this test's own
// program, which has all packages of zbench.
func TestPackagesAllocateLittleAtTheStart(t *testing.T) {
	child := exec.Command(os.Args[0], "-test.run", "^$")
	child.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	trace, err := child.CombinedOutput()
	require.NoError(t, err)
	found := initialBytes.FindAllStringSubmatch(string(trace), -1)
	require.NotEmpty(t, found, "%s", trace)
	for _, line := range found {
		bytes, err := strconv.Atoi(line[2])
		require.NoError(t, err)
		require.LessOrEqual(t, bytes, maxInitial, "%s allocates %d bytes before main: use pattern.New, sync.OnceValue or a function", line[1], bytes)
	}
}
