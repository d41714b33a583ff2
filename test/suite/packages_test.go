package suite

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is this module's.
const root = "../.."

// listed is a package as go list describes it.
type listed struct {
	ImportPath, Dir                              string
	GoFiles, CgoFiles, TestGoFiles, XTestGoFiles []string
	Imports, TestImports, XTestImports, Deps     []string
}

// packages are this module's, by path.
func packages(t *testing.T) map[string]listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,CgoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports,Deps", "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	require.NoError(t, err)
	all := map[string]listed{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		all[p.ImportPath] = p
	}
}

// withTests are the packages whose own tests have a property, or that are tested with
// code of this module that has it.
func withTests(all map[string]listed, code, tests func(listed) bool) []string {
	has := map[string]bool{}
	for name, p := range all {
		has[name] = code(p)
	}
	var found []string
	for name, p := range all {
		if len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 {
			continue
		}
		var built []string
		for _, direct := range slices.Concat([]string{name}, p.TestImports, p.XTestImports) {
			built = append(append(built, direct), all[direct].Deps...)
		}
		if tests(p) || slices.ContainsFunc(built, func(b string) bool { return has[b] }) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}
