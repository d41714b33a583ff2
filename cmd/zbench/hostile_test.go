package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/report"
	"zbench/test/longtest"
	"zbench/test/project"
)

const escapes = "\x1b]0;owned\x07\x1b[31m\u009b2J\u202e"

// Whatever names, keys and versions hold, nothing that moves a terminal's cursor or
// sets its title comes out of zbench, in any form.
func TestLongNoEscapeSequenceReachesTheTerminal(t *testing.T) {
	longtest.Only(t)
	dir := t.TempDir()
	log := project.Read(t, "testdata/logs/bare_all_reduce.log")
	named := filepath.Join(dir, "a"+escapes+".log")
	require.NoError(t, os.WriteFile(named, []byte(log), 0o600))
	sweep := filepath.Join(dir, "sweep")
	code, stderr := zbench(t, osFS{}, small(sweep)...)
	require.Zero(t, code, stderr)
	text := readBytes(t, sweep, "results.json")
	text = strings.Replace(text, `"version": "`, `"version": "\u001b[31m\u009b2J`, 1)
	text = strings.ReplaceAll(text, `"op": "sum"`, `"op": "\u001b[31mred"`)
	require.NoError(t, os.WriteFile(filepath.Join(sweep, "results.json"), []byte(text), 0o600))
	commands := [][]string{
		{"import", named, "--out", filepath.Join(dir, "x"+escapes)},
		{"import", filepath.Join(dir, "missing"+escapes)},
		{"report", sweep},
		{"report", named},
		{"recommend", sweep},
		{"recommend", named, "--framework", "ddp", "--preset", "llama3-8b"},
		{"collectives", escapes},
		{"--" + escapes},
		{escapes},
		{"list", escapes},
		{"collectives", "--resume", filepath.Join(dir, escapes)},
		{"doctor", "--backend", "rocm", "--rocm-path", filepath.Join(dir, escapes)},
		{"kernels", "muon", "--shape", escapes},
		{"hbm", "--size", escapes},
	}
	for _, format := range report.FormatNames() {
		commands = append(commands, []string{"import", named, "--force", "--out", filepath.Join(dir, "y"), "--format", format})
	}
	for _, args := range commands {
		s, out := testState(t, args...)
		var stderr bytes.Buffer
		s.Stderr = Stream{Writer: &stderr}
		Main(context.Background(), s)
		for _, said := range []string{out.String(), stderr.String()} {
			require.False(t, strings.ContainsAny(said, "\x1b\x07\u009b\u202e"), "%q: %q", args, said)
		}
	}
}

// No cell of a CSV begins as a spreadsheet's formula; negative numbers stay numbers.
func TestNoFormulaInCSV(t *testing.T) {
	longtest.OneGoroutine(t)
	dir := filepath.Join(t.TempDir(), "out")
	code, stderr := zbench(t, osFS{}, small(dir)...)
	require.Zero(t, code, stderr)
	text := readBytes(t, dir, "results.json")
	text = strings.ReplaceAll(text, `"op": "sum"`, `"op": "=HYPERLINK(\"http://x\")"`)
	text = strings.ReplaceAll(text, `"key": "`, `"key": "\t=1+1`)
	text = strings.ReplaceAll(text, `"dtype": "float"`, `"dtype": "@SUM(1)"`)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "results.json"), []byte(text), 0o600))
	code, stderr = zbench(t, osFS{}, "report", dir)
	require.Zero(t, code, stderr)
	rows, err := csv.NewReader(strings.NewReader(readBytes(t, dir, "results.csv"))).ReadAll()
	require.NoError(t, err)
	for _, row := range rows {
		for _, cell := range row {
			require.False(t, cell != "" && strings.ContainsRune("=+-@\t\r\n", rune(cell[0])), cell)
		}
	}
	require.Contains(t, strings.Join(rows[1], " "), `'=HYPERLINK`)
}
