package native_test

import (
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
	out, err := exec.Command("c++", "-O0", "-std=c++17", "-fno-exceptions", "-fno-rtti", "-c", "unity.cc", "-o", kernels).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for sanitizer, args := range map[string][]string{"thread": nil, "address,undefined": {filepath.Join(dir, "world")}} {
		program := filepath.Join(dir, sanitizer)
		compile(t, "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize="+sanitizer, "-fno-sanitize-recover=all",
			"-o", program, "testdata/share_test.c", kernels, "-ldl", "-lm")
		out, err := exec.Command(program, args...).CombinedOutput() //nolint:gosec // built above
		require.NoError(t, err, "%s", out)
	}
}
