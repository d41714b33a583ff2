// Package readers has a row for each reader of text that others wrote: its seeds, and what holds whatever the text is. One fuzz
// target runs them all, and a row of a file that is wounded must be refused or named.
//
// What a package keeps to itself is tested there, on the same changes (test/mutate).
package readers

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/test/mutate"
	"zbench/test/project"
)

// reader is a row of the registry.
type reader struct {
	name string
	// files are more seeds, beside those of testdata/seeds: patterns from the top of the project.
	files []string
	// read reads a text, and fails the test where what holds of every text does not hold. What it returns
	// is nil where the text is refused.
	read func(t *testing.T, text string) *reading
	// rows matches the lines of a file that are rows; nil for what has none. blind are wounds that cannot be
	// told, each with the reason.
	rows  *regexp.Regexp
	blind map[mutate.Wound]string
	// figure matches a number of a row that is a figure, as its group; nil is any number that stands alone. Another
	// number is a name, and a name may be any.
	figure *regexp.Regexp
}

// reading is what a reader made of a text: its figures, and what it names as missing, damaged or left out.
type reading struct {
	figures any
	named   []string
}

// separator stands between the parts of a text for a reader that takes several.
const separator = "\x1e"

// parts are the n parts of a text; missing ones are empty.
func parts(text string, n int) []string {
	return append(strings.SplitN(text, separator, n), make([]string, n)...)[:n]
}

// facts writes figures down, so that they can be compared.
func facts(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	require.NoError(t, err)
	return string(text)
}

// seeds are the texts that a reader's changes begin with.
func (r reader) seeds(t testing.TB) (all []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata/seeds", r.name))
	if err != nil {
		require.ErrorIs(t, err, os.ErrNotExist)
	}
	for line := range strings.Lines(string(text)) {
		seed, err := strconv.Unquote(strings.TrimSuffix(line, "\n"))
		require.NoError(t, err, "%s: a line is a string of Go: %s", r.name, line)
		all = append(all, seed)
	}
	for _, pattern := range r.files {
		top := filepath.Dir(project.File(t, "go.mod"))
		found, err := filepath.Glob(filepath.Join(top, pattern))
		require.NoError(t, err)
		require.NotEmpty(t, found, pattern)
		for _, name := range found {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			all = append(all, string(text))
		}
	}
	require.NotEmpty(t, all, "%s has no seeds", r.name)
	return all
}

// registry has all readers, by name.
func registry() []reader {
	all := slices.Concat(measured, described, own, words)
	slices.SortFunc(all, func(a, b reader) int { return strings.Compare(a.name, b.name) })
	return all
}

func named(t testing.TB, name string) (r reader, found bool) {
	t.Helper()
	all := registry()
	i := slices.IndexFunc(all, func(r reader) bool { return r.name == name })
	if i < 0 {
		return reader{}, false
	}
	return all[i], true
}
