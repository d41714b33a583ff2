package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/exit"
	"zbench/internal/longtest"
)

// The libraries are built from the sources in the binary alone, and once. The program gets
// them, its arguments and its environment.
func TestLongLoopbackBuildsItsLibraries(t *testing.T) {
	longtest.Only(t)
	cache := t.TempDir()
	built, become := 0, 0
	run := func() int {
		s, _ := testState(t, "loopback", "--cache-dir", cache, "--no-data", "--", "sh", "-c", "true")
		s.Getenv = func(name string) string { return map[string]string{"PATH": os.Getenv("PATH")}[name] }
		s.Environ = func() []string { return []string{"PATH=" + os.Getenv("PATH"), "KEPT=1", "LD_LIBRARY_PATH=gone"} }
		s.Random = constant{}
		s.Start = func(c Command) (Child, error) {
			built++
			return startProcess(c, os.Stderr, os.Stderr)
		}
		s.Become = func(file string, argv, environ []string) error {
			become++
			require.Equal(t, "sh", filepath.Base(file))
			require.Equal(t, []string{"sh", "-c", "true"}, argv)
			require.Contains(t, environ, "KEPT=1")
			require.Contains(t, environ, "ZBENCH_LOOPBACK_DATA=0")
			require.NotContains(t, environ, "LD_LIBRARY_PATH=gone")
			return errors.New("as far as this test goes")
		}
		return Main(context.Background(), s)
	}
	require.Equal(t, exit.Run, run(), "the program could not be started")
	require.Equal(t, exit.Run, run())
	require.Equal(t, 1, built)
	require.Equal(t, 2, become)
	for _, name := range loopbackNames {
		found, err := filepath.Glob(filepath.Join(cache, "*/rocm/lib", name))
		require.NoError(t, err)
		require.Len(t, found, 1, name)
	}
}

// constant is a source of bytes that is not random.
type constant struct{}

func (constant) Read(p []byte) (int, error) { return len(p), nil }
