package native_test

import (
	"path/filepath"
	"testing"

	"zbench/internal/native"
)

// The calls of HIP and RCCL that programs may make, and those that they may not, are what
// the real libraries make of them, without a race, on the host's clock and on the model's.
func TestToolchainMisuse(t *testing.T) {
	native.Toolchain(t)
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "misuse")
	compile(t, "-g", "-O1", "-fsanitize=thread", "-Wall", "-Wextra", "-DZB_NAMES=0", "-DFORWARD_COLLECTIVES=1", "-o", program,
		"testdata/misuse_test.c", "c/shared/runtime.c", "c/shared/forward.c", "testdata/no_kernels.c", "-ldl", "-lm", "-lpthread")
	compile(t, "-shared", "-fPIC", "-o", filepath.Join(dir, "kernels.so"), "testdata/client_kernels.c")
	clock := filepath.Join(dir, "clock.so")
	compile(t, "-O1", "-shared", "-fPIC", "-o", clock, "c/shared/clock.c", "-ldl")
	together, _ := clientMachines(t, dir)
	for _, env := range [][]string{nil, {"LD_PRELOAD=" + clock, "ZBENCH_LOOPBACK_CLOCK=virtual"}} {
		runClient(t, program, append(env, "ZBENCH_LOOPBACK="+together))
	}
	runClient(t, program, []string{"ZBENCH_LOOPBACK=" + machineOf(t, together, "22203")}, "older")
	runClient(t, program, []string{"ZBENCH_LOOPBACK=" + machineOf(t, together, "23102")}, "newest")
}
