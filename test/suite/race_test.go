package suite

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"zbench/test/longtest"
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

// raceable finds from the syntax trees of this module what scripts/raceable.sh
// finds by words.
func raceable(t *testing.T) []string {
	t.Helper()
	starts := func(p listed, files []string) bool {
		return slices.ContainsFunc(files, func(f string) bool { return startsGoroutine(t, filepath.Join(p.Dir, f)) })
	}
	return withTests(packages(t),
		func(p listed) bool { return starts(p, slices.Concat(p.GoFiles, p.CgoFiles)) },
		func(p listed) bool { return starts(p, slices.Concat(p.TestGoFiles, p.XTestGoFiles)) })
}

// script runs scripts/raceable.sh on a module.
func script(t *testing.T, root string) []string {
	t.Helper()
	out, err := exec.Command("../../scripts/raceable.sh", root).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return strings.Fields(string(out))
}

// `make check-race` leaves out no package of this module whose tests start a
// goroutine. It may run one too many: words are found in strings, too.
func TestLongRaceDetectorSeesEveryGoroutine(t *testing.T) {
	longtest.OnlyOrDetected(t)
	list := script(t, root)
	needed := raceable(t)
	require.NotEmpty(t, needed)
	for _, name := range needed {
		require.Contains(t, list, name, "scripts/raceable.sh does not list a package whose tests start goroutines")
	}
	require.NotContains(t, list, "zbench/bench/base/unit", "a package of one goroutine")
}

// Each folder of the archive is a package, and whether it is listed.
var planted = map[string]bool{
	"statement": true, "inline": true, "method": true, "after": true, "parallel": true, "depends": true, "testdepends": true,
	"external": true, "output": true, "finalizer": true, "aside": false, "plain": false, "comment": false, "untested": false,
}

func TestRaceableFindsPlantedGoroutines(t *testing.T) {
	module := t.TempDir()
	archive, err := txtar.ParseFile("testdata/planted.txtar")
	require.NoError(t, err)
	require.NoError(t, txtar.Write(archive, module))
	list := script(t, module)
	for _, name := range slices.Sorted(maps.Keys(planted)) {
		require.Equal(t, planted[name], slices.Contains(list, "planted/"+name), "%s: %v", name, list)
	}
}

// The race detector and the sanitizers also check what is done with unsafe
// pointers: so one of the two runs the tests of every package that is built of code
// that has such pointers.
func TestLongUnsafePointersAreChecked(t *testing.T) {
	longtest.OnlyOrDetected(t)
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	require.NoError(t, err)
	variable := func(name string) []string {
		found := regexp.MustCompile(`(?m)^` + name + ` +:= (.+)$`).FindSubmatch(text)
		require.NotNil(t, found, "the packages of make check-memory")
		return strings.Fields(string(found[1]))
	}
	for _, name := range variable("PLAIN") {
		require.NotContains(t, packages(t)[name].Imports, "unsafe", "make check-memory does not look at %s", name)
		require.Contains(t, packages(t), name)
	}
	cmd := exec.Command("go", append([]string{"list"}, variable("NATIVE")...)...)
	cmd.Dir = root
	out, err := cmd.Output()
	require.NoError(t, err)
	checked := slices.Concat(script(t, root), strings.Fields(string(out)))
	unsafe := withTests(packages(t),
		func(p listed) bool { return slices.Contains(p.Imports, "unsafe") },
		func(p listed) bool { return slices.Contains(slices.Concat(p.TestImports, p.XTestImports), "unsafe") })
	require.Contains(t, unsafe, "zbench/internal/native")
	for _, name := range unsafe {
		require.Contains(t, checked, name, "neither make check-race nor make check-memory runs its tests")
	}
}
