package suite

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every test and every script that is left to make check-long is run by it.
func TestWhatIsLongIsRun(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("there is no make")
	}
	cmd := exec.Command("make", "--no-print-directory", "--dry-run", "check-long")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	recipe := string(out)
	long := regexp.MustCompile(`(?m)^func (Test\w+)\(.*\n(?:.*\n)??\s*longtest\.Only(?:OrDetected)?\(t\)`)
	named := regexp.MustCompile(`(?m)^func TestLong[A-Z]\w*\(`)
	count := 0
	for _, p := range packages(t) {
		for _, name := range append(p.TestGoFiles, p.XTestGoFiles...) {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			require.NoError(t, err)
			found := long.FindAllStringSubmatch(string(text), -1)
			require.Len(t, found, len(regexp.MustCompile(`\blongtest\.Only(?:OrDetected)?\(t\)`).FindAllString(string(text), -1)), "%s/%s: longtest.Only is in a test's first lines", p.ImportPath, name)
			require.Len(t, named.FindAllString(string(text), -1), len(found), "%s/%s: a test is named TestLong… if it is left to make check-long", p.ImportPath, name)
			for _, f := range found {
				require.True(t, strings.HasPrefix(f[1], "TestLong"), "%s in %s is left to make check-long, which runs TestLong… alone", f[1], p.ImportPath)
				require.Regexp(t, `\./`+regexp.QuoteMeta(strings.TrimPrefix(p.ImportPath, "zbench/"))+`(\s|$)`, recipe, "make check-long does not run %s", f[1])
				count++
			}
		}
	}
	require.Greater(t, count, 15)
	require.Regexp(t, `\^TestScripts\$'`, recipe, "make check-long does not run the scripts")
}
