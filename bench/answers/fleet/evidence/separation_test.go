package evidence

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/test/project"
)

// reached are the packages of zbench that one imports, and those that these import.
func reached(t *testing.T, root string, seen map[string]bool) map[string]bool {
	t.Helper()
	if seen[root] {
		return seen
	}
	seen[root] = true
	files, err := filepath.Glob(filepath.Join(project.File(t, strings.TrimPrefix(root, "zbench/")), "*.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files, root)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, i := range f.Imports {
			if path := strings.Trim(i.Path.Value, `"`); strings.HasPrefix(path, "zbench/") {
				reached(t, path, seen)
			}
		}
	}
	return seen
}

// Whatever decides which component is slow reaches neither the fabric, which resolves
// faults, nor the loopback, which computes their times, by any way. The driver reaches the
// loopback: the same walk finds it there.
func TestWhatJudgesCannotReachFaults(t *testing.T) {
	for _, root := range []string{"bench/answers/fleet/rails", "bench/answers/fleet/evidence", "bench/answers/fleet/nodescreen"} {
		for path := range reached(t, "zbench/"+root, map[string]bool{}) {
			for _, faults := range []string{"zbench/bench/work/fabric", "zbench/internal", "zbench/rccl", "zbench/hbm", "zbench/cmd"} {
				require.False(t, path == faults || strings.HasPrefix(path, faults+"/"), "%s reaches %s", root, path)
			}
		}
	}
	require.Contains(t, reached(t, "zbench/rccl", map[string]bool{}), "zbench/internal/native")
}
