package suite

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// make ci runs make test in a fresh copy, and every step of make check and make system-test once.
func TestCIRunsEveryStep(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("there is no make")
	}
	steps := func(target string) []string {
		cmd := exec.Command("make", "--no-print-directory", "--dry-run", target)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		var names []string
		for word := range strings.FieldsSeq(string(out)) {
			if name, found := strings.CutPrefix(word, "timed-"); found && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return names
	}
	ci := steps("ci")
	require.ElementsMatch(t, slices.Concat([]string{"test-clone"}, steps("check"), steps("system-test")), ci)
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	require.NoError(t, err)
	for _, target := range regexp.MustCompile(`(?m)^((?:check|system-test)-[a-z-]+):.* ## `).FindAllStringSubmatch(string(text), -1) {
		require.Contains(t, ci, target[1])
	}
}
