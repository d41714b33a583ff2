package rails

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// faultless are the packages of bench without a simulator in them. record names planted faults for people:
// that is FaultsOf, which no file here calls.
const faultless = "stat finding plan spec record collective jsonfile pattern plain table unit document"

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
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NotContains(t, string(text), "FaultsOf")
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, i := range f.Imports {
			path := strings.Trim(i.Path.Value, `"`)
			own := strings.HasPrefix(path, "zbench/")
			require.True(t, !own || slices.Contains(strings.Fields(faultless), strings.TrimPrefix(path, "zbench/bench/")), "%s imports %s", name, path)
			require.NotContains(t, []string{"reflect", "unsafe", "os", "plugin", "net"}, path, name)
		}
	}
}
