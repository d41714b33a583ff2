package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A command's files begin with its name. They may use the files that belong to no command, never those
// of another command: what two commands need is in a file that belongs to none.
func TestCommandsUseNoFilesOfOthers(t *testing.T) {
	require.Empty(t, acrossWalls(t, "."))
	require.Equal(t, []string{"watch.go uses probe of screen.go"}, acrossWalls(t, filepath.Join("testdata", "walls")))
}

// acrossWalls lists the uses of one command's names in another command's files.
func acrossWalls(t *testing.T, dir string) (out []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	defined, used := map[string]string{}, map[string][]*ast.Ident{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		for name := range f.Scope.Objects {
			defined[name] = filepath.Base(file)
		}
		used[filepath.Base(file)] = f.Unresolved // names from other files of the package, or from the language
	}
	for _, file := range slices.Sorted(maps.Keys(used)) {
		for _, id := range used[file] {
			own, other := commandOf(file), commandOf(defined[id.Name])
			if own != "" && other != "" && own != other {
				out = append(out, file+" uses "+id.Name+" of "+defined[id.Name])
			}
		}
	}
	return out
}

// commandOf returns the command to which a file belongs, or "".
func commandOf(file string) (name string) {
	for _, c := range commands {
		if strings.HasPrefix(file, c.name) && len(c.name) > len(name) {
			name = c.name
		}
	}
	return name
}
