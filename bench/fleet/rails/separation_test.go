package rails

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The detector knows times and counters. It imports nothing that has faults, and the data
// that it is given have no room for one.
func TestTheDetectorCannotReadFaults(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, i := range f.Imports {
			path := strings.Trim(i.Path.Value, `"`)
			own := strings.HasPrefix(path, "zbench/")
			require.True(t, !own || path == "zbench/bench/stat" || path == "zbench/bench/finding", "%s imports %s", name, path)
			require.NotContains(t, []string{"reflect", "unsafe", "os", "plugin", "net"}, path, name)
		}
	}
}
