package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/internal/preflight"
	"zbench/test/longtest"
)

// The libraries are built from the sources in the binary alone, and once. The program gets
// them, its arguments and its environment.
func TestLongLoopbackBuildsItsLibraries(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	cache := t.TempDir()
	// Of the surroundings, the compiler and the settings of ccache: it compiles the kernels
	// from the same preprocessed source once, not for each test.
	compiler := append(environment("CC=", "CXX=", "CCACHE_"), "PATH="+os.Getenv("PATH"))
	built, become := 0, 0
	run := func() int {
		s, _ := testState(t, "loopback", "--cache-dir", cache, "--no-data", "--", "sh", "-c", "true")
		s.Getenv = func(name string) string { return lastOf(compiler, name) }
		s.Environ = func() []string { return append(slices.Clone(compiler), "KEPT=1", "LD_LIBRARY_PATH=gone") }
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

// environment are this process's variables that begin with one of these.
func environment(prefixes ...string) []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(variable, p) })
	})
}

// lastOf is the value of a variable, empty if it is not set.
func lastOf(variables []string, name string) string {
	for _, v := range slices.Backward(variables) {
		if value, found := strings.CutPrefix(v, name+"="); found {
			return value
		}
	}
	return ""
}

// constant is a source of bytes that is not random.
type constant struct{}

func (constant) Read(p []byte) (int, error) { return len(p), nil }

// Processes meet in memory: data that they exchange is not written to a disk. TMPDIR names
// another folder, and the 64 MiB of a container are not enough.
func TestProcessesMeetInMemory(t *testing.T) {
	const gib = 1 << 30
	for name, c := range map[string]struct {
		tmpdir string
		slurm  string
		size   int64
		lacks  bool
		want   string
	}{
		"memory":           {size: 4 * gib, want: "/dev/shm"},
		"a container's":    {size: 64 << 20, want: "/tmp"},
		"there is none":    {size: 4 * gib, lacks: true, want: "/tmp"},
		"the user's":       {tmpdir: "/scratch", size: 4 * gib, want: "/scratch"},
		"space is unknown": {want: "/tmp"},
		"the user's /tmp":  {tmpdir: "/tmp", size: 4 * gib, want: "/tmp"},
		"Slurm's":          {tmpdir: "/tmp", slurm: "0", size: 4 * gib, want: "/dev/shm"},
		"another task's":   {slurm: "1", size: 4 * gib, want: "/dev/shm"},
		"a user of Slurm":  {tmpdir: "/scratch", slurm: "0", size: 4 * gib, want: "/scratch"},
	} {
		s, _ := testState(t)
		s.Getenv = func(name string) string {
			return map[string]string{"TMPDIR": c.tmpdir, "SLURM_LOCALID": c.slurm}[name]
		}
		s.FS = accessible{s.FS, !c.lacks}
		s.Space = func(folder string) (preflight.Space, error) {
			require.Equal(t, "/dev/shm", folder)
			if c.size == 0 {
				return preflight.Space{}, errors.New("planted")
			}
			return preflight.Space{Size: c.size}, nil
		}
		require.Equal(t, c.want, meetingFolder(s), name)
	}
}

// accessible is a file system all of whose files this process may write, or none.
type accessible struct {
	FS
	may bool
}

func (a accessible) Access(string) error {
	if !a.may {
		return errors.New("planted")
	}
	return nil
}
