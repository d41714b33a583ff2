package trainers

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/test/project"
)

// forked is the Python of all tests that has imported PyTorch; folder is in the chroot, with a python3 that
// has a program run there.
var forked struct {
	sync.Mutex
	root, folder string
	cmd          *exec.Cmd
	until        io.Closer
}

func TestMain(m *testing.M) {
	code := m.Run()
	if forked.cmd != nil {
		_ = forked.until.Close()
		_ = forked.cmd.Wait()
		_ = os.RemoveAll(filepath.Join(forked.root, forked.folder))
	}
	os.Exit(code)
}

// python is the folder of forked, which the first call starts.
func python(t *testing.T, root, libraries string) string {
	t.Helper()
	forked.Lock()
	defer forked.Unlock()
	if forked.cmd != nil {
		return forked.folder
	}
	at, err := os.MkdirTemp(filepath.Join(root, "tmp"), "forked") //nolint:usetesting // the chroot sees its own /tmp, and all tests share it
	require.NoError(t, err)
	forked.root, forked.folder = root, "/tmp/"+filepath.Base(at)
	require.NoError(t, os.WriteFile(filepath.Join(at, "python3"), []byte(project.Read(t, "test/trainers/forked.py")), 0o755))                                            //nolint:gosec // it is to be run
	cmd := exec.Command("chroot", root, "env", "OMP_NUM_THREADS=1", "LD_LIBRARY_PATH="+libraries, "python3", forked.folder+"/python3", "serve", forked.folder+"/socket") //nolint:gosec // the test's own words
	cmd.Stderr = os.Stderr
	forked.until, err = cmd.StdinPipe()
	require.NoError(t, err)
	listens, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	forked.cmd = cmd
	_, err = io.ReadAll(listens)
	require.NoError(t, err)
	return forked.folder
}
