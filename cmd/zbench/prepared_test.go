package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/bench/base/folder"
	"zbench/bench/engine"
)

// prepared are ways in which somebody else can leave a name in a folder before zbench writes there.
var prepared = map[string]func(name, victim string) error{
	"link":      func(name, victim string) error { return os.Symlink(victim, name) },
	"relative":  func(name, victim string) error { return os.Symlink("../"+filepath.Base(victim), name) },
	"dangling":  func(name, victim string) error { return os.Symlink(victim+"-none", name) },
	"hard link": func(name, victim string) error { return os.Link(victim, name) },
	"pipe":      func(name, _ string) error { return syscall.Mkfifo(name, 0o600) },
	"folder":    func(name, _ string) error { return os.Mkdir(name, 0o700) },
	"device":    func(name, _ string) error { return os.Symlink("/dev/zero", name) },
	"huge": func(name, _ string) error {
		f, err := os.Create(name)
		if err != nil {
			return err
		}
		defer f.Close() //nolint:errcheck // it has no content
		return f.Truncate(1 << 40)
	},
}

// Whatever a folder holds under zbench's names, zbench ends, and changes nothing outside of it.
func TestPreparedFolders(t *testing.T) {
	besideScripts(t)
	for way, prepare := range prepared {
		for _, name := range []string{folder.LockFile, folder.RunFile, engine.JournalFile, "results.json"} {
			for _, force := range []bool{false, true} {
				if !force && name != folder.LockFile && name != folder.RunFile {
					continue // refused, as any folder with files
				}
				root := t.TempDir()
				out, victim := filepath.Join(root, "out"), filepath.Join(root, "victim")
				require.NoError(t, os.Mkdir(out, 0o700))
				require.NoError(t, os.WriteFile(victim, []byte("precious"), 0o600))
				require.NoError(t, prepare(filepath.Join(out, name), victim))
				args := []string{"collectives", "all_reduce", "--gpus-per-node", "2", "-b", "1K", "-e", "1K", "-c", "0", "--max-time", "0.001", "-q", "--out", out}
				if force {
					args = append(args, "--force")
				}
				ended := make(chan int, 1)
				go func() {
					code, _ := zbench(t, osFS{}, args...)
					ended <- code
				}()
				select {
				case code := <-ended:
					require.Contains(t, []int{exit.OK, exit.Run, exit.Usage}, code, "%s %s", way, name)
				case <-time.After(time.Minute):
					t.Fatalf("%s as %s: zbench does not end", name, way)
				}
				require.Equal(t, "precious", readBytes(t, victim), "%s as %s", name, way)
				require.NoFileExists(t, victim+"-none", "%s as %s", name, way)
			}
		}
	}
}

// A lock of another user than the folder's is not written.
func TestLockOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	lock := filepath.Join(t.TempDir(), folder.LockFile)
	require.NoError(t, os.WriteFile(lock, []byte("theirs"), 0o666)) //nolint:gosec // that is what is tested
	require.NoError(t, os.Chown(lock, 12345, 12345))
	_, _, err := osFS{}.Lock(lock, "ours")
	require.ErrorContains(t, err, "another user")
	require.Equal(t, "theirs", readBytes(t, lock))
}

// Code is not taken from where others can write.
func TestMine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lib.so")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, osFS{}.Mine(file))
	require.NoError(t, os.Chmod(file, 0o602)) //nolint:gosec // that is what is tested
	require.ErrorContains(t, osFS{}.Mine(file), "written by others")
	require.Error(t, osFS{}.Mine(file+"-none"))
}
