package survey

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What measures for the detector knows a driver's times alone: it imports neither the fabric,
// which has the faults, nor a provider. bench/rails has the same test.
func TestTheSurveyCannotReadFaults(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, i := range f.Imports {
			path := strings.Trim(i.Path.Value, `"`)
			require.False(t, strings.HasPrefix(path, "zbench/") && (strings.Contains(path, "fabric") || strings.Contains(path, "internal") || strings.Contains(path, "rccl")), "%s imports %s", name, path)
		}
	}
}
