package trainers

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/test/project"
)

// Two processes train over links of 100 Mbit/s: the script records what the tests of recordings read, and
// zbench's predictions hold.
func TestLiveSteps(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(project.File(t, "scripts/ddp-steps.sh"), "run", dir, "2", "100", "2", "small scale=0.1 backward=0.4 caps=0.25,1")
	cmd.Env = append(os.Environ(), "ZBENCH_TORCH="+chroot(t), "LINKS=zbt", "REPS=3")
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 3 && os.Getenv("CI") == "" {
		t.Skip(string(out))
	}
	require.NoError(t, err, "%s", out)
	r := readRecording(t, filepath.Join(dir, "small.json"))
	structure(t, r)
	cells, _ := r.cells(t)
	decided := 0
	for _, c := range cells {
		t.Log(c)
		if c.decided() {
			decided++
			require.InDelta(t, 0, c.error(), 0.08, c)
		}
	}
	require.Positive(t, decided)
}
