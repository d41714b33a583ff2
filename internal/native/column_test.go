package native

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/test/longtest"
)

// columnEdits add a third vendor's column to each list of functions and numbers.
var columnEdits = map[string][][2]string{
	"abi.h": {
		{`ZB_VENDORS = \d`, `ZB_VENDORS = 9`},
		{`(#define ZB_COLUMNS\([^)]*)\)([ \\\n]*)\{([^}]*)\}, \{([^}]*)\}`, `$1, library, name)$2{$3, library}, {$4, name}`},
		{`(#define ZB_WORDS\([^)]*)\) \{([^}]*)\}`, `$1, third) {$2, #third}`},
		{`(ATTR\(\w+(?:, \d+)+)\)`, `$1, 7)`},
		{`("\w+"\)|NULL)\)( *\\?\n)`, `$1, ZB_RUNTIME, "third")$2`},
	},
	"blas.h": {
		{`([a-z]\w+|, )\)( *\\\n  ROW\(|\n\nenum|\n\n/\* Numbers)`, `$1, third)$2`},
		{`(ROW\(\w+(?:, \d+)+)\)`, `$1, 7)`},
		{`(#define ZB_LT_NUMBER\([^)]*)\)`, `$1, third)`},
	},
}

// A vendor with function names of its own adds its column in two headers: what takes a column from
// the lists, and the loopback, is compiled as it is.
func TestLongAColumnCostsTwoHeaders(t *testing.T) {
	longtest.OnlyOrDetected(t)
	dir := t.TempDir()
	for _, folder := range []string{"c", "kernels"} {
		require.NoError(t, os.CopyFS(filepath.Join(dir, folder), os.DirFS(folder)))
	}
	unit, err := os.ReadFile("unity.c")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "unity.c"), unit, 0o600))
	for name, edits := range columnEdits {
		file := filepath.Join(dir, "c", name)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, e := range edits {
			text = []byte(edited(t, string(text), e))
		}
		require.NoError(t, os.WriteFile(file, text, 0o600))
	}
	forward := []string{"-DFORWARD_COLLECTIVES", "-DFORWARD_COMPILER", "-DFORWARD_DRIVER", "-DFORWARD_HEURISTICS", "c/shared/forward.c"}
	for _, args := range [][]string{{"unity.c"}, {"-DZB_NAMES=0", "c/shared/runtime.c"}, {"-DZB_NAMES=1", "c/shared/runtime.c"}, append(forward, "-DZB_NAMES=0"), append(forward, "-DZB_NAMES=1")} {
		cc := exec.Command("cc", append([]string{"-fsyntax-only", "-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror"}, args...)...)
		cc.Dir = dir
		out, err := cc.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}
