package libraries

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/test/hung"
)

// inChroot is a command in a chroot that has the kernel's file systems.
func inChroot(folder string, args ...string) *exec.Cmd {
	command := exec.Command("unshare", append([]string{"--mount", "--propagation", "private", "bash", "-c", //nolint:gosec // the test's own
		`mount -t proc proc "$0/proc" && mount --rbind /sys "$0/sys" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"`, folder}, args...)...)
	command.Env = []string{"PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"}
	return command
}

// projectIn makes a folder in a chroot, with the built zbench in it. It returns the folder's path outside and inside.
func projectIn(t *testing.T, chroot string) (outside, inside string) {
	zbench := built(t)
	outside, err := os.MkdirTemp(chroot+"/root", "project") //nolint:usetesting // it lies in the chroot
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(outside)) })
	require.NoError(t, exec.Command("cp", zbench, filepath.Join(outside, "zbench")).Run()) //nolint:gosec // the built binary
	return outside, strings.TrimPrefix(outside, chroot)
}

// A C program that is compiled against HIP's and RCCL's own headers, linked with the loopback's libraries and started by
// `zbench loopback` is told why it hangs, and nothing where it does not.
func TestHangsOfAForeignProgramAreExplained(t *testing.T) {
	chroot := at(t, "ZBENCH_TRIXIE").folder
	outside, inside := projectIn(t, chroot)
	for _, name := range []string{"client.h", "hung_test.c"} {
		text, err := os.ReadFile("../../internal/native/testdata/" + name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(outside, name), text, 0o600))
	}
	out, err := inChroot(chroot, "bash", "-ec", "cd "+inside+`
./zbench loopback -q --env > env
cc -D_GNU_SOURCE -DREAL_HEADERS hung_test.c $(sed -n "s/^export LD_LIBRARY_PATH='\(.*\)'/-L\1/p" env) -l:librccl.so.1 -lamdhip64 -lhsa-runtime64 -lpthread -o hung`).CombinedOutput()
	require.NoError(t, err, "%s", out)
	folder := func() string {
		ids, err := os.MkdirTemp(outside, "ids") //nolint:usetesting // it lies in the chroot
		require.NoError(t, err)
		return strings.TrimPrefix(ids, chroot)
	}
	hung.Explained(t, folder, func(fault string, args ...string) *exec.Cmd {
		flags := []string{"env", "NCCL_DEBUG=WARN", inside + "/zbench", "loopback", "-q"}
		if fault != "" {
			flags = append(flags, "--fault", fault)
		}
		return inChroot(chroot, append(append(flags, "--", inside+"/hung"), args...)...)
	})
}
