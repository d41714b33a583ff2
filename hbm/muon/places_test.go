package muon

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a family with a driver, a request, a page and findings of its own adds to files that others
// share. Trainers and their flags name the optimizer of the same name.
func TestMuonIsNamedInFourSharedFiles(t *testing.T) {
	named := regexp.MustCompile(`(?i)muon`)
	own := regexp.MustCompile(`muon[^/]*(/|$)|_test\.go$|^bench/trainer/|^cmd/zbench/adviceflags\.go$`)
	sources := regexp.MustCompile(`\.(go|c|h|cc|hip)$`)
	var files []string
	read := 0
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		rel := filepath.ToSlash(strings.TrimPrefix(path, "../../"))
		switch {
		case err != nil:
			return err
		case d.IsDir() && (rel == "test" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".git")):
			return fs.SkipDir
		case d.IsDir() || !sources.MatchString(rel) || own.MatchString(rel):
			return nil
		}
		read++
		text, err := os.ReadFile(path)
		if named.Match(text) {
			files = append(files, rel)
		}
		return err
	}))
	require.Greater(t, read, 200)
	require.Equal(t, []string{"bench/spec/kernels.go", "cmd/zbench/kernels.go", "internal/native/kernels/table.cc", "internal/native/unity.cc"}, files)
}
