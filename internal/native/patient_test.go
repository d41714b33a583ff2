package native_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// The prctl operation that asks for the calling thread's timer slack.
const getTimerSlack = 30

// A process that follows lets its timers be late, and only such a process. The variable of
// the innermost launcher counts.
func TestFollowersTimersMayBeLate(t *testing.T) {
	if want := os.Getenv("ZBENCH_TEST_SLACK"); want != "" {
		slack, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, getTimerSlack, 0, 0)
		require.Zero(t, errno)
		require.Equal(t, want == "late", slack == 5_000_000, "%d ns", slack)
		return
	}
	for _, c := range []struct{ env, want string }{
		{"", "prompt"},
		{"RANK=0", "prompt"},
		{"RANK=3", "late"},
		{"SLURM_PROCID=7", "late"},
		{"RANK=0 SLURM_PROCID=7", "prompt"},
		{"OMPI_COMM_WORLD_RANK=1 SLURM_PROCID=0", "late"},
		{"PMI_RANK=2", "late"},
		{"ZBENCH_RANK=2", "late"},
	} {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFollowersTimersMayBeLate$") //nolint:gosec // this test
		for _, v := range os.Environ() {
			if name, _, _ := strings.Cut(v, "="); !strings.HasSuffix(name, "RANK") && name != "SLURM_PROCID" {
				child.Env = append(child.Env, v)
			}
		}
		child.Env = append(append(child.Env, "ZBENCH_TEST_SLACK="+c.want), strings.Fields(c.env)...)
		out, err := child.CombinedOutput()
		require.NoError(t, err, "%s: %s", c.env, out)
	}
}
