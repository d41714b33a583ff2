package cluster

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The batch script and the mpirun line of docs/CLUSTER.md run as they stand there.
func TestDocumentedJobsRun(t *testing.T) {
	zbench := built(t)
	text := read(t, "../../docs/CLUSTER.md")
	_, text, found := strings.Cut(text, "\n## Jobs that were run\n")
	require.True(t, found)
	text, _, _ = strings.Cut(text, "\n## ")
	fences := regexp.MustCompile("(?ms)^```\n(.*?)^```").FindAllStringSubmatch(text, -1)
	require.Len(t, fences, 2)
	dir := t.TempDir()
	env := []string{
		"PATH=" + filepath.Dir(zbench) + ":" + os.Getenv("PATH"), "TMPDIR=" + dir,
		"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_rmaps_base_oversubscribe=1",
	}
	for i, f := range fences {
		t.Run([]string{"sbatch", "mpirun"}[i], func(t *testing.T) {
			work, nodes := t.TempDir(), []int{8, 2}[i]
			if strings.HasPrefix(f[1], "#!") {
				script := filepath.Join(work, "job.sh")
				require.NoError(t, os.WriteFile(script, []byte(f[1]), 0o700)) //nolint:gosec // it is to be run
				require.Contains(t, f[1], "#SBATCH")
				options := regexp.MustCompile(`#SBATCH (.*)`).FindStringSubmatch(f[1])[1]
				require.Zero(t, batch(t, options, "cd "+work+" && bash "+script, env...).code)
			} else {
				require.Zero(t, bash(t, "cd "+work+"\n"+f[1], env...).code)
			}
			sameFigures(t, inOneProcess(t, zbench, nodes), filepath.Join(work, "sweep"))
			nothingLeft(t, zbench, dir)
		})
	}
}
