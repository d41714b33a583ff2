// Package cluster holds the built zbench against a real Slurm, Open MPI and network
// namespaces, all on one machine. `make system-test-cluster` starts the cluster
// (scripts/slurm.sh) and runs these tests inside it; anywhere else they skip.
package cluster

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// built is the zbench under test. The tests need a cluster around them.
func built(t *testing.T) string {
	t.Helper()
	zbench := os.Getenv("ZBENCH")
	if zbench == "" || os.Getenv("SLURM_CONF") == "" {
		t.Skip("no cluster: make system-test-cluster starts one")
	}
	return zbench
}

// ownSession is an mpirun whose session folder is its own. Open MPI 4.1 fails where two on
// one host make the folder that they would share.
func ownSession(mpirun string) string {
	return "bash -c 'OMPI_MCA_orte_tmpdir_base=$(mktemp -d) exec " + mpirun + "'"
}

// result is how a command ended.
type result struct {
	code        int
	out, errors string
}

// bash runs a script with variables in addition to this process's. It fails where the
// script could not be started or did not end.
func bash(t *testing.T, script string, env ...string) result {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	// salloc starts $SHELL, which a CI job may lack.
	cmd.Env = append(append(os.Environ(), "SHELL=/bin/bash"), env...)
	cmd.Dir = t.TempDir()
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	began := time.Now()
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil {
		require.ErrorAs(t, err, &exit)
	}
	t.Logf("%s: exit %d after %.1f s\n%s%s", script, cmd.ProcessState.ExitCode(), time.Since(began).Seconds(), tail(out.String()), tail(stderr.String()))
	return result{cmd.ProcessState.ExitCode(), out.String(), stderr.String()}
}

// tail is the end of a long text.
func tail(text string) string {
	const most = 4000
	if len(text) > most {
		return "…" + text[len(text)-most:]
	}
	return text
}

// longest is how long a job may take.
const longest = 15 * time.Minute

// batch runs a script as a batch job and waits for its end. Slurm's own waiting
// (sbatch --wait) looks every ten seconds.
func batch(t *testing.T, options, script string, env ...string) result {
	t.Helper()
	dir := t.TempDir()
	file, ended := filepath.Join(dir, "job.sh"), filepath.Join(dir, "code")
	text := "#!/bin/bash\ntrap 'echo $? > " + ended + ".new; mv " + ended + ".new " + ended + "' EXIT\n" + script
	require.NoError(t, os.WriteFile(file, []byte(text), 0o700)) //nolint:gosec // it is to be run
	r := bash(t, "sbatch --parsable --output="+dir+"/out --error="+dir+"/err "+options+" "+file, env...)
	require.Zero(t, r.code, r.errors)
	job := strings.TrimSpace(r.out)
	t.Cleanup(func() { _ = exec.Command("scancel", job).Run() })
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		if code, err := os.ReadFile(ended); err == nil {
			r.code = 0
			if c := strings.TrimSpace(string(code)); c != "0" {
				r.code = 1
			}
			break
		} else if !errors.Is(err, fs.ErrNotExist) {
			require.NoError(t, err)
		}
		if time.Since(began) > longest {
			state, _ := exec.Command("scontrol", "show", "job", job).CombinedOutput()
			require.Fail(t, "the job did not end", "%s", state)
		}
	}
	r.out, r.errors = read(t, dir+"/out"), read(t, dir+"/err")
	t.Logf("job %s: exit %d\n%s%s", job, r.code, tail(r.out), tail(r.errors))
	return r
}

// read is the text of a file; Slurm has made it.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}
