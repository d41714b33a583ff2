package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Programs that srun starts behind zbench meet in one file, whether the user has chosen a
// folder for it or not: Slurm sets TMPDIR for the first task of each node alone.
func TestProgramsOfSlurmMeetInOneFile(t *testing.T) {
	zbench := built(t)
	dir := t.TempDir()
	for _, library := range []string{"libamdhip64.so.6", "librccl.so.1", "libzbench-clock.so"} { // nobody loads them
		require.NoError(t, os.WriteFile(filepath.Join(dir, library), nil, 0o600))
	}
	program := zbench + " loopback -q --nodes 2 --clock host --cache-dir " + dir + " --libraries " + dir + " -- printenv ZBENCH_LOOPBACK_SHARED"
	for name, environment := range map[string]string{"no folder": "env -u TMPDIR ", "a folder": "env TMPDIR=" + dir + " "} {
		r := batch(t, tasks, environment+"srun "+program)
		require.Zero(t, r.code, name)
		met := strings.Fields(r.out)
		require.Len(t, met, 16, name)
		for _, file := range met {
			require.Equal(t, met[0], file, name)
		}
		require.Equal(t, name == "a folder", filepath.Dir(met[0]) == dir)
	}
}
