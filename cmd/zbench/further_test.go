package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// question is a model, small enough for a short sweep.
var question = []string{"--framework", "ddp", "--total-params", "40M", "--layers", "4", "--step-ms", "1"}

// served is a sweep that goes on for the bucket size: two rounds upwards and a
// second pass.
func served(more ...string) []string {
	sweep := []string{"collectives", "all_reduce", "--place", "in", "-b", "64K", "-e", "16M", "-f", "4", "-n", "2", "--max-time", "0.001"}
	return slices.Concat(sweep, question, more)
}

// Wherever the disk fills up, between two rounds too, the sweep resumed with the
// same question ends in the folder of one that was never stopped. Nothing finished
// runs again.
func TestDiskFullInEveryRoundThenResume(t *testing.T) {
	if testing.Short() {
		t.Skip("many sweeps")
	}
	whole := filepath.Join(t.TempDir(), "whole")
	code, stderr := zbench(t, osFS{}, served("--out", whole)...)
	require.Zero(t, code, stderr)
	text := readBytes(t, whole, journalFile)
	require.Contains(t, text, `{"why":"extension"`)
	require.Contains(t, text, `{"why":"second_pass"`)
	lines := strings.Split(text, "\n")
	for n := range len(lines) - 2 {
		if around := lines[max(0, n-1):min(len(lines), n+4)]; n%19 > 0 && !slices.ContainsFunc(around, func(l string) bool { return strings.HasPrefix(l, `{"why"`) }) {
			continue // every line where a round begins, some of the others
		}
		dir := filepath.Join(t.TempDir(), "cut")
		left := n
		code, stderr := zbench(t, fullDisk{osFS{}, &left}, served("--out", dir)...)
		require.Equal(t, exitRun, code, "line %d: %s", n, stderr)
		before := readBytes(t, dir, journalFile)
		code, stderr = zbench(t, osFS{}, append([]string{"collectives", "--resume", dir}, question...)...)
		require.Zero(t, code, "line %d: %s", n, stderr)
		require.True(t, strings.HasPrefix(readBytes(t, dir, journalFile), before[:strings.LastIndex(before, "\n")+1]), "nothing finished is written again")
		sameFolder(t, whole, dir)
	}
}

// Resumed without the question, the rounds that the journal has are finished, and
// no others begin; the question asked later adds them.
func TestResumeWithoutTheQuestion(t *testing.T) {
	oneGoroutine(t)
	whole, dir := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "cut")
	code, _ := zbench(t, osFS{}, served("--out", whole)...)
	require.Zero(t, code)
	text := readBytes(t, whole, journalFile)
	before, _, found := strings.Cut(text, `{"why":"extension"`)
	require.True(t, found)
	left := strings.Count(before, "\n") + 1
	code, _ = zbench(t, fullDisk{osFS{}, &left}, served("--out", dir)...)
	require.Equal(t, exitRun, code)
	code, stderr := zbench(t, osFS{}, "collectives", "--resume", dir)
	require.Zero(t, code, stderr)
	require.Equal(t, 1, strings.Count(readBytes(t, dir, journalFile), `{"why"`))
	code, stderr = zbench(t, osFS{}, append([]string{"collectives", "--resume", dir}, question...)...)
	require.Zero(t, code, stderr)
	sameFolder(t, whole, dir)
}
