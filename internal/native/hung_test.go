package native_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"zbench/internal/native"
	"zbench/test/hung"
)

// A program of HIP and RCCL that hangs is told which rank waits for which in which call. The same program without the
// fault is told nothing.
func TestToolchainHangsAreExplained(t *testing.T) {
	native.Toolchain(t)
	t.Parallel()
	program := filepath.Join(t.TempDir(), "hung")
	compile(t, "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
		"-DZB_NAMES=0", "-DFORWARD_COLLECTIVES=1", "-o", program,
		"testdata/hung_test.c", "c/shared/runtime.c", "c/shared/forward.c", "testdata/no_kernels.c", "-ldl", "-lm", "-lpthread")
	hung.Explained(t, t.TempDir, func(fault string, args ...string) *exec.Cmd {
		dir, faults := t.TempDir(), []string(nil)
		if fault != "" {
			faults = []string{fault}
		}
		together, apart := clientMachines(t, dir, faults...)
		machine := map[string]string{"threads": together, "processes": apart}[args[0]]
		return clientCommand(program, []string{"NCCL_DEBUG=WARN", "ZBENCH_LOOPBACK=" + machine, "ZBENCH_LOOPBACK_SHARED=" + filepath.Join(dir, "world")}, args...)
	})
}
