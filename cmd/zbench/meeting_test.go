package main

import (
	"context"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/internal/launch"
)

// Only files with just such a name are looked at, in the folders where processes meet.
func TestLeftFilesAreLookedForByName(t *testing.T) {
	const name = "zbench-0123456789abcdef"
	tree := fstest.MapFS{
		"scratch/" + name:                          {},
		"scratch/zbench-loopback-0123456789abcdef": {},
		"dev/shm/zbench-fedcba9876543210":          {},
		"tmp/zbench-loopback-fedcba9876543210":     {},
		"tmp/zbench-loopback-fedcba987654321":      {},
		"tmp/zbench-loopback-fedcba98765432100":    {},
		"tmp/zbench-loopback-FEDCBA9876543210":     {},
		"tmp/zbench-slurm.0123456789abcdef":        {},
		"tmp/my-" + name:                           {},
		"tmp/" + name + ".log":                     {},
		"tmp/zbench-fedcba9876543210":              {Mode: fs.ModeDir},
		"tmp/zbench-ffffffffffffffff":              {Mode: fs.ModeSymlink},
		"home/" + name:                             {},
	}
	want := []string{"/dev/shm/zbench-fedcba9876543210", "/tmp/zbench-loopback-fedcba9876543210", "/scratch/" + name, "/scratch/zbench-loopback-0123456789abcdef"}
	for _, start := range []func(s State) error{
		func(s State) error { return (&world{}).meet(s, &opening{Machine: []byte("planted")}) },
		func(s State) error {
			_, err := arenaFile(s, launch.Role{})
			return err
		},
	} {
		var got []string
		s, _ := testState(t)
		s.FS = withFolders{s.FS, tree}
		s.Random = constant{}
		s.Getenv = func(name string) string { return map[string]string{"TMPDIR": "/scratch"}[name] }
		s.RemoveLeft = func(file string) bool {
			got = append(got, file)
			return true
		}
		require.NoError(t, start(s))
		require.Equal(t, want, got)
	}
}

// withFolders is a file system with the folders of a planted one.
type withFolders struct {
	FS
	tree fstest.MapFS
}

func (l withFolders) ReadDir(name string) ([]fs.DirEntry, error) {
	return l.tree.ReadDir(strings.TrimPrefix(name, "/"))
}

// left are the files in a folder.
func left(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// What a killed sweep of several processes leaves, the next one removes; two that run at
// once do not touch each other's.
func TestSweepsRemoveWhatKilledOnesLeft(t *testing.T) {
	zbench, folder := program(t), t.TempDir()
	token, err := launch.NewToken(constant{})
	require.NoError(t, err)
	// Between its choice and its use a port can be taken by another test: the sweep then ends, and is begun again.
	begin := func() (kill func(), file string) {
		for range 5 {
			l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it ends at once
			require.NoError(t, err)
			require.NoError(t, l.Close())
			_, port, err := net.SplitHostPort(l.Addr().String())
			require.NoError(t, err)
			before := left(t, folder)
			cmd := exec.CommandContext(context.Background(), zbench, "collectives", "--backend", "loopback", "--out", filepath.Join(t.TempDir(), "out")) //nolint:gosec // this test's own program
			cmd.Env = append(os.Environ(), plantedHost+"="+hosts[0].name, "TMPDIR="+folder, launch.TokenVariable+"="+token,
				"RANK=0", "LOCAL_RANK=0", "WORLD_SIZE=2", "LOCAL_WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1", "MASTER_PORT="+port)
			require.NoError(t, cmd.Start())
			ended := make(chan struct{})
			go func() { _ = cmd.Wait(); close(ended) }()
			kill = func() { _ = cmd.Process.Kill(); <-ended }
			t.Cleanup(kill)
			for waiting := true; waiting; {
				files := slices.DeleteFunc(left(t, folder), func(name string) bool { return slices.Contains(before, name) })
				if len(files) == 1 {
					return kill, files[0]
				}
				select {
				case <-ended:
					waiting = false
				case <-time.After(10 * time.Millisecond):
				}
			}
		}
		require.Fail(t, "no sweep left a file")
		return nil, ""
	}
	kill, first := begin()
	kill()
	require.Equal(t, []string{first}, left(t, folder))
	kill, second := begin()
	require.Equal(t, []string{second}, left(t, folder), "the killed one's is gone")
	_, third := begin()
	require.ElementsMatch(t, []string{second, third}, left(t, folder), "both run")
	kill()
	_, fourth := begin()
	require.ElementsMatch(t, []string{third, fourth}, left(t, folder))
}
