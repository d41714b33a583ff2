package collective_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A collective is named in four files: its row here, the function's row, the call, and
// the loopback's row. The list is that of CONTRIBUTING, "Adding a collective". Documents,
// tests and what tests use are left out, and so are the names of others' programs.
func TestACollectiveIsNamedInFourFiles(t *testing.T) {
	named := regexp.MustCompile(`all_to_all|[aA]llToAll\b|ALL_TO_ALL`)
	sources := map[string]bool{".go": true, ".c": true, ".h": true, ".cc": true, ".sh": true, ".yaml": true}
	var files []string
	read := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		rel := filepath.ToSlash(strings.TrimPrefix(path, "../../"))
		switch {
		case err != nil:
			return err
		case d.IsDir() && (rel == "test" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".git")):
			return fs.SkipDir
		case rel == "bench/judge/issues.go": // what others report of collectives
			return nil
		case rel == "bench/trace/names.go" || rel == "bench/formats/chakra.go": // other tools' words for those they have
			return nil
		case strings.HasPrefix(rel, "bench/trainer/"): // which collectives trainers call
			return nil
		case d.IsDir() || !sources[filepath.Ext(rel)] || strings.HasSuffix(rel, "_test.go"):
			return nil
		}
		read++
		text, err := os.ReadFile(path)
		if named.Match(text) {
			files = append(files, rel)
		}
		return err
	})
	require.NoError(t, err)
	require.Greater(t, read, 200)
	require.Equal(t, []string{
		"bench/collective/collective.go", "internal/native/c/abi.h", "internal/native/c/fake/collectives.h", "internal/native/c/launch.c",
	}, files)
}
