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
	// The recordings hold the bars. Here other work may share the cores: what it makes undecided is logged.
	for _, c := range cells {
		t.Log(c)
		if c.decided() {
			require.InDelta(t, 0, c.error(), 0.15, c)
		}
	}
}

// Where namespaces are not allowed the script says why, and with a code of its own.
func TestLinksAreRefused(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ip"), []byte("#!/bin/sh\necho Operation not permitted >&2\nexit 1\n"), 0o755)) //nolint:gosec // a program
	cmd := exec.Command(project.File(t, "scripts/ddp-steps.sh"), "run", dir, "2", "100", "2", "small")
	cmd.Env = append(os.Environ(), "LINKS=zbq", "PATH="+dir+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 3, exit.ExitCode())
	require.Regexp(t, `^links.sh: no links of a known rate here: (run as root|tc is missing|a bridge cannot be made: Operation not permitted)`, string(out))
}
