package docs_test

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// mostLines is the longest that a file of code may be (CONTRIBUTING, Style). funlen holds the
// functions of Go.
const mostLines = 300

// tooLong are the files of code with more lines.
func tooLong(t *testing.T, tree fs.FS) []string {
	t.Helper()
	var out []string
	require.NoError(t, fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && name != "." || d.Name() == "bin"):
			return fs.SkipDir
		case d.IsDir() || !slices.Contains([]string{".go", ".c", ".h", ".hip", ".cc", ".sh"}, path.Ext(name)):
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if bytes.Count(text, []byte("\n")) > mostLines {
			out = append(out, name)
		}
		return err
	}))
	return out
}

func TestFilesThatAreTooLongAreFound(t *testing.T) {
	line := []byte("// a line\n")
	require.Equal(t, []string{"a/b.c"}, tooLong(t, fstest.MapFS{
		"a/b.c": {Data: bytes.Repeat(line, 301)}, "a/c.go": {Data: bytes.Repeat(line, 300)}, "a/d.md": {Data: bytes.Repeat(line, 900)}, ".cache/x.go": {Data: bytes.Repeat(line, 900)},
	}))
}

// A file holds one idea: it fits on a few screens.
func TestNoFileIsTooLong(t *testing.T) {
	require.Empty(t, tooLong(t, os.DirFS("..")))
}
