package native_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/internal/native"
)

// A process that is killed at any of its system calls leaves a file that is removed, and one
// that another process uses stays.
func TestToolchainFilesThatKilledProcessesLeave(t *testing.T) {
	native.Toolchain(t)
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "left")
	compile(t, "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
		"-o", program, "testdata/left_test.c", "testdata/no_kernels.c", "-ldl", "-lm", "-lpthread")
	runs(t, program, t.TempDir())
}

// Being in use is what counts, not age: the file of a process that runs stays, and that of a
// killed one goes.
func TestFileInUseStays(t *testing.T) {
	file := sharedFile(t)
	child := startChild(t, child{Machine: sharedMachine(t), File: file, Count: 1, Do: "meet"})
	require.Equal(t, "meet open", child.next(t))
	long := time.Unix(1e9, 0)
	require.NoError(t, os.Chtimes(file, long, long))
	require.False(t, native.RemoveLeft(file))
	require.FileExists(t, file)
	require.NoError(t, child.cmd.Process.Kill())
	_ = child.cmd.Wait()
	require.True(t, native.RemoveLeft(file))
	require.NoFileExists(t, file)
	require.False(t, native.RemoveLeft(file), "there is none")
}

// arenaBytes is the size of a file where processes meet.
const arenaBytes = 64 << 30

// What only looks like a file where processes met stays.
func TestOtherFilesStay(t *testing.T) {
	const magic = 0x7a62656e63680006
	dir := t.TempDir()
	made := 0
	file := func(mode os.FileMode, size int64, head uint64) string {
		made++
		name := filepath.Join(dir, string(rune('a'+made)))
		require.NoError(t, os.WriteFile(name, nil, mode))
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		require.NoError(t, err)
		require.NoError(t, f.Truncate(size))
		if head != 0 {
			require.NoError(t, binary.Write(f, binary.NativeEndian, head))
		}
		require.NoError(t, f.Close())
		return name
	}
	gone := func(name string) { require.True(t, native.RemoveLeft(name)) }
	stays := func(name, why string) {
		require.False(t, native.RemoveLeft(name), why)
		_, err := os.Lstat(name)
		require.NoError(t, err, why)
	}
	gone(file(0o600, 0, 0))
	gone(file(0o600, arenaBytes, 0))
	gone(file(0o600, arenaBytes, magic))
	gone(file(0o600, arenaBytes/2, magic-1)) // another build's
	stays(file(0o600, 100, 0), "another size")
	stays(file(0o600, arenaBytes, 0x7f454c46), "another content")
	stays(file(0o640, arenaBytes, magic), "another mode")
	stays(dir, "a folder")
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(file(0o600, arenaBytes, magic), link))
	stays(link, "a link")
	target, err := os.Readlink(link)
	require.NoError(t, err)
	require.FileExists(t, target)
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	stays(pipe, "a pipe")
	foreign := file(0o600, arenaBytes, magic)
	// Without root's rights, or in a namespace without that user, there is no such file.
	if err := os.Chown(foreign, os.Geteuid()+1, -1); !errors.Is(err, os.ErrPermission) && !errors.Is(err, syscall.EINVAL) {
		require.NoError(t, err)
		stays(foreign, "another user's")
	}
}
