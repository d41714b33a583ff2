package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/exit"
)

// printed runs a command and returns its exit code and both outputs.
func printed(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	s, out := testState(t, args...)
	var b bytes.Buffer
	s.Stderr = Stream{Writer: &b}
	code = Main(context.Background(), s)
	return code, out.String(), b.String()
}

// The table of documents and formats. A change is one of this list too.
func TestFormatsOfDocuments(t *testing.T) {
	require.Equal(t, []string{"table", "markdown", "csv", "json"}, collectivesDocument.names())
	require.Equal(t, []string{"table", "markdown", "csv", "json"}, kernelsDocument.names())
	require.Equal(t, []string{"table", "markdown", "json"}, adviceDocument.names())
	require.Equal(t, []string{"table", "markdown", "json"}, kneesDocument.names())
	require.Equal(t, []string{"table", "markdown", "json"}, doctorDocument.names())
	require.Equal(t, []string{"table", "markdown", "csv", "json", "junit"}, compareDocument.names())
	require.Equal(t, []string{"table", "markdown", "csv", "json", "junit"}, bisectDocument.names())
	require.Equal(t, []string{"table", "markdown", "json"}, topoDocument.names())
	require.Equal(t, []string{"table", "markdown"}, driftDocument.names())
	require.Equal(t, []string{"table", "markdown", "json"}, railsDocument.names())
	require.Equal(t, []string{"table", "markdown", "json"}, screenDocument.names())
}

// A format is one file: what this registers is printed, offered by the help and by
// the error of a wrong name, and refused for the documents that it does not have.
func TestAFormatIsOneFile(t *testing.T) {
	before := slices.Clone(formats)
	t.Cleanup(func() { formats = before })
	register(format{
		name: "count", order: 9,
		collectives: func(s State, r sweepOutput) error {
			_, err := fmt.Fprintf(s.Stdout, "%d results\n", len(r.Results))
			return err
		},
		advice: func(s State, d advised) error {
			_, err := fmt.Fprintf(s.Stdout, "%d records\n", len(d.records))
			return err
		},
	})
	dir := filepath.Join(t.TempDir(), "out")
	code, stdout, stderr := printed(t, small(dir, "--format", "count", "-q")...)
	require.Zero(t, code, stderr)
	require.Equal(t, "6 results\n", stdout)
	_, stdout, _ = printed(t, "collectives", "--help")
	require.Regexp(t, `table,\s+markdown,\s+csv,\s+json,\s+count`, stdout)
	code, _, stderr = printed(t, small(dir, "--format", "none")...)
	require.Equal(t, exit.Usage, code)
	require.Contains(t, stderr, `unknown format "none": valid are table, markdown, csv, json, count`)
	code, stdout, stderr = printed(t, "recommend", dir, "--framework", "ddp", "--preset", "llama3-8b", "--format", "count")
	require.Contains(t, []int{exit.OK, exit.Want}, code, stderr)
	require.Equal(t, "1 records\n", stdout)
}

// A document that a format does not have is refused before anything is run, with the
// formats that it has.
func TestFormatsThatADocumentLacks(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	for _, one := range []struct {
		args  []string
		valid string
	}{
		{[]string{"collectives", "--out", out, "--format", "yaml"}, "table, markdown, csv, json"},
		{[]string{"import", "none.log", "--format", "yaml"}, "table, markdown, csv, json"},
		{[]string{"hbm", "--out", out, "--format", "yaml"}, "table, markdown, csv, json"},
		{[]string{"kernels", "rmsnorm", "--out", out, "--format", "yaml"}, "table, markdown, csv, json"},
		{[]string{"kernels", "muon", "--shape", "8x8", "--out", out, "--format", "yaml"}, "table, markdown, csv, json"},
		{[]string{"recommend", "none.log", "--format", "csv"}, "table, markdown, json"},
		{[]string{"recommend", "none.log", "--framework", "ddp", "--preset", "llama3-8b", "--format", "csv"}, "table, markdown, json"},
		{[]string{"doctor", "--format", "csv"}, "table, markdown, json"},
		{[]string{"topo", "--format", "csv", "--out", out}, "table, markdown, json"},
		{[]string{"topo", "a.json", "--format", "json"}, "table, markdown"},
		{[]string{"rails", "--matrix", "none", "--out", out, "--format", "csv"}, "table, markdown, json"},
	} {
		code, stdout, stderr := printed(t, one.args...)
		require.Equal(t, exit.Usage, code, "%q: %s", one.args, stderr)
		require.Contains(t, stderr, ": valid are "+one.valid+"\n  → zbench ", "%q", one.args)
		require.Empty(t, stdout, "%q", one.args)
		require.NoDirExists(t, out)
	}
}

// The sizes near the plateau have the form that was asked for, too.
func TestKneesInEveryFormat(t *testing.T) {
	oneGoroutine(t)
	dir := filepath.Join(t.TempDir(), "out")
	code, _, stderr := printed(t, small(dir)...)
	require.Zero(t, code, stderr)
	for name, begins := range map[string]string{"table": "SIMULATED: ", "markdown": "## Message sizes", "json": "{\n"} {
		code, stdout, stderr := printed(t, "recommend", dir, "--format", name)
		require.Equal(t, exit.Want, code, stderr)
		require.True(t, len(stdout) > len(begins) && stdout[:len(begins)] == begins, "%s: %.60q", name, stdout)
	}
}
