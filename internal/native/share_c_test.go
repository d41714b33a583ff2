package native_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/native"
)

// The loopback in C, driven by several threads under the thread sanitizer and by several
// processes under the address sanitizer: clocks and data are the same, a host that waits
// elsewhere delays no rank, and a killed process is an asynchronous error.
func TestToolchainSharedWorldInC(t *testing.T) {
	native.Toolchain(t)
	t.Parallel()
	dir := t.TempDir()
	kernels := filepath.Join(dir, "kernels.o")
	compileKernels(t, kernels)
	for sanitizer, args := range map[string][]string{"thread": nil, "address,undefined": {filepath.Join(dir, "world")}} {
		program := filepath.Join(dir, sanitizer)
		compile(t, "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize="+sanitizer, "-fno-sanitize-recover=all",
			"-o", program, "testdata/share_test.c", kernels, "-ldl", "-lm")
		runs(t, program, args...)
	}
}

// Real time follows the model for one thread that drives all ranks, for a thread a rank and
// for a process a rank: by the times that the clock records, which no load of the host
// changes.
func TestToolchainPacedInC(t *testing.T) {
	native.Toolchain(t)
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "paced")
	compile(t, "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=thread", "-o", program,
		"testdata/paced_test.c", "testdata/no_kernels.c", "-ldl", "-lm")
	for _, args := range [][]string{{"one"}, {"threads"}, {"turns"}, {"processes", filepath.Join(dir, "world")}} {
		runs(t, program, args...)
	}
}

// Without a world every function returns an error, and none ends the process: the machine
// file is not there, is none, or is not named.
func TestToolchainWithoutWorld(t *testing.T) {
	native.Toolchain(t)
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "no_world")
	compile(t, "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-o", program,
		"testdata/no_world.c", "testdata/no_kernels.c", "-ldl", "-lm", "-lpthread")
	for _, file := range []string{filepath.Join(dir, "absent"), os.DevNull, ""} {
		cmd := exec.Command(program) //nolint:gosec // built above
		cmd.Env = append(os.Environ(), "ZBENCH_LOOPBACK="+file)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%q: %s", file, out)
		if file != "" {
			require.Contains(t, string(out), "zbench loopback: ", file)
			require.Contains(t, string(out), file)
		}
	}
}

// fp16 is converted as the compiler's own type is, whose conversions are a call for each
// element on most CPUs.
func TestToolchainHalf(t *testing.T) {
	native.Toolchain(t)
	t.Parallel()
	program := filepath.Join(t.TempDir(), "half")
	compile(t, "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, "testdata/half_test.c")
	runs(t, program)
}
