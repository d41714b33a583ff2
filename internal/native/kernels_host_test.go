package native_test

import (
	"path/filepath"
	"slices"
	"testing"

	"zbench/internal/native"
)

// Barriers, shared memory and shuffles on the host, in C++: every way of
// switching stacks, both sizes of wave, and with the sanitizers watching.
func TestToolchainHostKernels(t *testing.T) {
	native.Toolchain(t)
	for name, flags := range map[string][]string{
		"assembly":   {"-O2"},
		"ucontext":   {"-O2", "-DZBK_UCONTEXT"},
		"waves":      {"-O2", "-DZB_WAVE=32"},
		"sanitizers": {"-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(t.TempDir(), "host_test")
			native.Compile(t, "", "c++", slices.Concat(flags, []string{
				"-std=c++17", "-fno-exceptions", "-fno-rtti", "-Wall", "-Wextra", "-Werror", "testdata/host_test.cc", "-o", program,
			})...)
			runs(t, program)
		})
	}
}

// What NVIDIA's norms hold in registers by words, asked for at once, is what the
// others' hold: for every norm, type and way, and with fewer threads a row.
func TestToolchainHostNormsForNVIDIA(t *testing.T) {
	native.Toolchain(t)
	t.Parallel()
	program := filepath.Join(t.TempDir(), "norms_test")
	native.Compile(t, "", "c++", "-O0", "-std=c++17", "-fno-exceptions", "-fno-rtti", "-Wall", "-Wextra", "-Werror",
		"-DZB_WAVE=32", "testdata/norms_test.cc", "-o", program)
	runs(t, program)
}
