package schema

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the schemas")

func TestSchemasAreCurrent(t *testing.T) {
	comments, err := Comments("../../bench", "../../internal/doctor", "../../internal/topo")
	require.NoError(t, err)
	for _, d := range Documents {
		text, err := Generate(d, comments)
		require.NoError(t, err)
		file := filepath.Join("../..", d.File)
		if *update {
			require.NoError(t, os.WriteFile(file, text, 0o644))
		}
		committed, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Empty(t, firstDifference(string(committed), string(text)), "%s is not current: run go generate ./internal/schema, and think of older readers", d.File)
	}
}

// firstDifference is the first line that two texts do not share.
func firstDifference(a, b string) string {
	was, now := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(was), len(now)) {
		if was[i] != now[i] {
			return fmt.Sprintf("line %d: %q, generated %q", i+1, was[i], now[i])
		}
	}
	if len(was) != len(now) {
		return fmt.Sprintf("%d lines, generated %d", len(was), len(now))
	}
	return ""
}

// Every schema is named in the document that explains the files.
func TestSchemasAreExplained(t *testing.T) {
	text, err := os.ReadFile("../../docs/RECORD.md")
	require.NoError(t, err)
	for _, d := range Documents {
		require.Contains(t, string(text), "(../"+d.File+")")
	}
}
