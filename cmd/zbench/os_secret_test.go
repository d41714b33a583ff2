package main

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/launch"
)

// All processes that start at once find one secret, which no other user can read.
func TestSecretOfAHost(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "zbench")
	found := make([][]byte, 16)
	var all sync.WaitGroup
	for i := range found {
		all.Go(func() {
			secret, err := secretIn(folder)
			if err == nil {
				found[i] = secret
			}
		})
	}
	all.Wait()
	for _, secret := range found {
		require.Len(t, secret, secretBytes)
		require.Equal(t, found[0], secret)
	}
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, left, 1)
	info, err := os.Stat(folder)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	require.NoError(t, os.Remove(filepath.Join(folder, "secret")))
	another, err := secretIn(folder)
	require.NoError(t, err)
	require.NotEqual(t, found[0], another)
}

// A folder that others can enter, a link and a secret of another length are refused.
func TestSecretIsRefused(t *testing.T) {
	dir := t.TempDir()
	open, link, short := filepath.Join(dir, "open"), filepath.Join(dir, "link"), filepath.Join(dir, "short")
	require.NoError(t, os.Mkdir(open, 0o700))
	require.NoError(t, os.Chmod(open, 0o750)) //nolint:gosec // this is what is refused
	require.NoError(t, os.Mkdir(short, 0o700))
	require.NoError(t, os.Symlink(short, link))
	for _, folder := range []string{open, link} {
		_, err := secretIn(folder)
		require.ErrorContains(t, err, folder+" is not a folder of this user with mode 0700")
	}
	require.NoError(t, os.WriteFile(filepath.Join(short, "secret"), []byte("short"), 0o600))
	_, err := secretIn(short)
	require.ErrorContains(t, err, "has 5 bytes instead of 32")
}

// The token of a run on one host differs between users and between runs, and is none where hosts
// cannot share it.
func TestTokenOfRanks(t *testing.T) {
	role := launch.Role{Kind: launch.Rank, By: "mpirun (Open MPI)", Size: 8, LocalSize: 8, Leader: launch.Leader{Host: "127.0.0.1", Port: 21000}}
	s := State{Getenv: func(string) string { return "" }, Secret: func() ([]byte, error) { return make([]byte, secretBytes), nil }}
	one, err := rankToken(s, role)
	require.NoError(t, err)
	require.NoError(t, launch.CheckToken(one.Reveal()))
	again, err := rankToken(s, role)
	require.NoError(t, err)
	require.Equal(t, one, again)
	other := role
	other.Leader.Port++
	another, err := rankToken(s, other)
	require.NoError(t, err)
	require.NotEqual(t, one, another)
	other = role
	other.LocalSize = 4
	s.Args = []string{"collectives", "all_reduce", "--out", "a b"}
	_, err = rankToken(s, other)
	require.ErrorContains(t, err, "ZBENCH_TOKEN is not set")
	require.Contains(t, hintIn(t, err), "Type:\n      export ZBENCH_TOKEN=$(zbench token)\n      mpirun -np 8 -x ZBENCH_TOKEN … zbench collectives all_reduce --out 'a b'\n")
}
