package rails

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// empty has a package without contents for every path.
type empty struct{}

func (empty) Import(path string) (*types.Package, error) {
	p := types.NewPackage(path, path[strings.LastIndex(path, "/")+1:])
	p.MarkComplete()
	return p, nil
}

// The detector knows times and counters: what Judge, a plan and its rounds are made of takes
// nothing of this module but statistics and the form of findings, and nothing that could look
// for faults elsewhere. A survey, whose request has them, is not among it.
func TestTheDetectorCannotReadFaults(t *testing.T) {
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if !strings.HasSuffix(name, "_test.go") {
			f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			files = append(files, f)
		}
	}
	info := types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	// What other packages have is not needed: they are empty, and errors are not looked at.
	config := types.Config{Importer: empty{}, Error: func(error) {}}
	self, _ := config.Check("zbench/bench/answers/fleet/rails", fset, files, &info)
	declared := map[types.Object]ast.Node{}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				declared[info.Defs[n.Name]] = n
			case *ast.TypeSpec:
				declared[info.Defs[n.Name]] = n
			case *ast.ValueSpec:
				for _, name := range n.Names {
					declared[info.Defs[name]] = n
				}
			}
			return true
		})
	}
	seen := map[types.Object]bool{}
	var reach func(o types.Object)
	reach = func(o types.Object) {
		if seen[o] || declared[o] == nil {
			return
		}
		seen[o] = true
		ast.Inspect(declared[o], func(n ast.Node) bool {
			id, is := n.(*ast.Ident)
			if !is {
				return true
			}
			p, is := info.Uses[id].(*types.PkgName)
			if !is {
				reach(info.Uses[id])
				return true
			}
			path := p.Imported().Path()
			if strings.HasPrefix(path, "zbench/") {
				require.Contains(t, []string{"zbench/bench/base/stat", "zbench/bench/base/finding", "zbench/bench/base/slice", "zbench/bench/base/plain"}, path, o.Name())
			}
			require.NotContains(t, []string{"reflect", "unsafe", "os", "plugin", "net"}, path, o.Name())
			return true
		})
	}
	next, _, _ := types.LookupFieldOrMethod(self.Scope().Lookup("Plan").Type(), true, self, "Next")
	for _, root := range []types.Object{self.Scope().Lookup("Judge"), self.Scope().Lookup("NewPlan"), next} {
		require.Contains(t, declared, root)
		reach(root)
	}
	require.Greater(t, len(seen), 100)
	require.False(t, seen[self.Scope().Lookup("Survey")])
}
