package gpu

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// rowsOf runs the script with a stand-in for this program, which says what it was
// asked and leaves a table as CODE and TABLE say.
func rowsOf(t *testing.T, folder string, env []string, rows ...string) (code int, printed string) {
	t.Helper()
	program := standIn(t, "compare", `echo "asked $3"
[ -z "$TABLE" ] || echo "table of $3" > "$OUT/compare.md"
exit ${CODE-0}
`)
	c := exec.Command("../../scripts/gpu-compare.sh", append([]string{program}, rows...)...)
	c.Env = append([]string{"PATH=" + os.Getenv("PATH"), "OUT=" + folder, "ZBENCH=zbench"}, env...)
	out, _ := c.CombinedOutput()
	return c.ProcessState.ExitCode(), string(out)
}

// Each row is a call of its own, with its own table; all are tests of this program.
func TestRowByRow(t *testing.T) {
	folder := t.TempDir()
	code, out := rowsOf(t, folder, []string{"TABLE=1"})
	require.Equal(t, 0, code, out)
	for row, name := range map[string]string{
		"memory": "Memory", "norm": "Norm", "products": "Products", "newton-schulz": "NewtonSchulz", "prepare": "Prepare", "burst": "Burst", "gemm": "Gemm",
	} {
		text, err := os.ReadFile(filepath.Join(folder, row, "compare.md"))
		require.NoError(t, err)
		require.Equal(t, "table of ^TestGPU"+name+"$\n", string(text))
		require.Contains(t, out, string(text))
		listed, err := exec.Command(os.Args[0], "-test.list", "^TestGPU"+name+"$").CombinedOutput() //nolint:gosec // this very program
		require.NoError(t, err)
		require.Contains(t, string(listed), "TestGPU"+name)
	}
}

// Rows are chosen by name; a missed bar continues to the next row, no GPU ends all.
func TestRowsThatFail(t *testing.T) {
	folder := t.TempDir()
	code, out := rowsOf(t, folder, []string{"CODE=1"}, "norm", "burst")
	require.Equal(t, 1, code, out)
	require.FileExists(t, filepath.Join(folder, "burst", "output.txt"))
	require.NoDirExists(t, filepath.Join(folder, "memory"))
	code, out = rowsOf(t, folder, []string{"CODE=5"}, "memory", "prepare")
	require.Equal(t, 5, code, out)
	require.Contains(t, out, "asked ^TestGPUMemory$")
	require.NoDirExists(t, filepath.Join(folder, "prepare"))
	code, out = rowsOf(t, folder, nil, "norms")
	require.Equal(t, 2, code)
	require.Contains(t, out, "unknown row norms: valid are memory norm products newton-schulz prepare burst gemm")
}
