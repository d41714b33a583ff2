package native_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/native"
)

// Threads that allocate at once share one heap where the process asks for it and the
// environment for nothing else.
func TestToolchainOneHeap(t *testing.T) {
	native.Toolchain(t)
	program := filepath.Join(t.TempDir(), "heap")
	compile(t, "-O1", "-Wall", "-Wextra", "-Werror", "-o", program, "testdata/heap_test.c", "-lpthread")
	heaps := func(environ []string, args ...string) int {
		cmd := exec.Command(program, args...) //nolint:gosec // built above
		cmd.Env = environ
		out, err := cmd.Output()
		require.NoError(t, err)
		return strings.Count(string(out), "<heap ")
	}
	for _, environ := range [][]string{{}, {"MALLOC_ARENA_MAX=3"}, {"GLIBC_TUNABLES=glibc.malloc.arena_max=3"}} {
		require.Greater(t, heaps(environ), 1, environ)
	}
	require.Equal(t, 1, heaps([]string{}, "one"))
	require.Equal(t, heaps([]string{"MALLOC_ARENA_MAX=3"}), heaps([]string{"MALLOC_ARENA_MAX=3"}, "one"), "the user's")
	require.Equal(t, heaps([]string{"GLIBC_TUNABLES=glibc.malloc.arena_max=3"}), heaps([]string{"GLIBC_TUNABLES=glibc.malloc.arena_max=3"}, "one"), "the user's")
}
