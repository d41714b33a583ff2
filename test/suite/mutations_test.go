package suite

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mutation is a block of scripts/mutations/*.txt: its keys with their text.
type mutation map[string]string

func mutations(t *testing.T) map[string]mutation {
	t.Helper()
	tables, err := filepath.Glob(filepath.Join(root, "scripts/mutations/*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, tables)
	all := map[string]mutation{}
	for _, table := range tables {
		text, err := os.ReadFile(table)
		require.NoError(t, err)
		var here mutation
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSuffix(line, "\n")
			if name, found := strings.CutPrefix(line, "["); found {
				name = strings.TrimSuffix(name, "]")
				require.Nil(t, all[name], "two mutations are named %s", name)
				here = mutation{}
				all[name] = here
				continue
			}
			key, value, found := strings.Cut(line, ":")
			if _, again := here[key]; found && here != nil && !again {
				here[key] = strings.ReplaceAll(strings.TrimPrefix(value, " "), `\n`, "\n")
			}
		}
	}
	return all
}

// Every mutation changes one place of a file that exists, and the test that it names is
// there: `make mutations`, which finds out otherwise, takes long.
func TestMutationsApply(t *testing.T) {
	for name, m := range mutations(t) {
		text, err := os.ReadFile(filepath.Join(root, m["file"]))
		require.NoError(t, err, name)
		require.NotEmpty(t, m["from"], name)
		if n := strings.Count(string(text), m["from"]); n != 1 {
			t.Errorf("%s: its text is %d times in %s: change the block in scripts/mutations as the code changed", name, n, m["file"])
		}
		folder, test, found := strings.Cut(m["test"], " ")
		if !found {
			continue
		}
		if !declares(t, filepath.Join(root, folder), test) {
			t.Errorf("%s: %s has no test %s: name the one that notices the mistake", name, folder, test)
		}
	}
}

func declares(t *testing.T, folder, test string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	require.NoError(t, err)
	declaration := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(test) + `\(t \*testing\.T\)`)
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		if declaration.Match(text) {
			return true
		}
	}
	return false
}
