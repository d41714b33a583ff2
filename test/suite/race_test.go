package suite

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
)

// starters are the functions that run their argument, or code of a package that
// has them, in another goroutine.
var starters = []string{
	"Go", "AfterFunc", "Parallel", "RunParallel", "Eventually", "EventuallyWithT", "Never",
	"Notify", "NotifyContext", "SetFinalizer", "AddCleanup",
}

// startsGoroutine reads the syntax tree: a go statement, or a call of a starter.
func startsGoroutine(t *testing.T, file string) bool {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	found := false
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.CallExpr:
			f := n.Fun
			if i, generic := f.(*ast.IndexExpr); generic {
				f = i.X
			}
			if s, selector := f.(*ast.SelectorExpr); selector && slices.Contains(starters, s.Sel.Name) {
				found = true
			}
		}
		return !found
	})
	return found
}

type listed struct {
	ImportPath, Dir, ForTest                                  string
	GoFiles, CgoFiles, TestGoFiles, XTestGoFiles, TestImports []string
	XTestImports, Deps                                        []string
}

// starting is whether one of a package's files starts a goroutine.
func (p listed) starting(t *testing.T, files ...string) bool {
	t.Helper()
	return slices.ContainsFunc(files, func(f string) bool { return startsGoroutine(t, filepath.Join(p.Dir, f)) })
}

// raceable finds from the syntax trees of a module what scripts/raceable.sh
// finds by words.
func raceable(t *testing.T, root string) []string {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,CgoFiles,TestGoFiles,XTestGoFiles,TestImports,XTestImports,Deps", "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	require.NoError(t, err)
	packages := map[string]listed{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); err == io.EOF { //nolint:errorlint // the decoder's own
			break
		}
		require.NoError(t, err)
		packages[p.ImportPath] = p
	}
	code := map[string]bool{}
	for name, p := range packages {
		code[name] = p.starting(t, slices.Concat(p.GoFiles, p.CgoFiles)...)
	}
	var found []string
	for name, p := range packages {
		tests := slices.Concat(p.TestGoFiles, p.XTestGoFiles)
		if len(tests) == 0 {
			continue
		}
		built := []string{name}
		for _, direct := range slices.Concat([]string{name}, p.TestImports, p.XTestImports) {
			built = append(append(built, direct), packages[direct].Deps...)
		}
		if p.starting(t, tests...) || slices.ContainsFunc(built, func(b string) bool { return code[b] }) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// script runs scripts/raceable.sh on a module.
func script(t *testing.T, root string) []string {
	t.Helper()
	out, err := exec.Command("../../scripts/raceable.sh", root).CombinedOutput()
	require.NoError(t, err, "%s", out)
	found := strings.Fields(string(out))
	slices.Sort(found)
	return found
}

// `make check-race` leaves out no package of this module whose tests start a
// goroutine. It may run one too many: words are found in strings, too.
func TestRaceDetectorSeesEveryGoroutine(t *testing.T) {
	list := script(t, "../..")
	needed := raceable(t, "../..")
	require.NotEmpty(t, needed)
	for _, name := range needed {
		require.Contains(t, list, name, "scripts/raceable.sh does not list a package whose tests start goroutines")
	}
	require.NotContains(t, list, "zbench/bench/unit", "a package of one goroutine")
}

// Each folder of the archive is a package, and whether it is listed.
var planted = map[string]bool{
	"statement": true, "inline": true, "method": true, "after": true, "parallel": true, "depends": true, "testdepends": true,
	"external": true, "output": true, "finalizer": true, "aside": false, "plain": false, "comment": false, "untested": false,
}

func TestRaceableFindsPlantedGoroutines(t *testing.T) {
	root := t.TempDir()
	archive, err := txtar.ParseFile("testdata/planted.txtar")
	require.NoError(t, err)
	require.NoError(t, txtar.Write(archive, root))
	list := script(t, root)
	for _, name := range slices.Sorted(maps.Keys(planted)) {
		require.Equal(t, planted[name], slices.Contains(list, "planted/"+name), "%s: %v", name, list)
	}
}
