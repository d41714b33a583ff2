package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/bench/engine"
	"zbench/test/longtest"
)

// question is a model, small enough for a short sweep.
var question = []string{"--framework", "ddp", "--total-params", "40M", "--layers", "4", "--step-ms", "1"}

// served is a sweep that continues for the bucket size: two rounds upwards and a
// second pass.
func served(more ...string) []string {
	sweep := []string{"collectives", "all_reduce", "--place", "in", "-b", "64K", "-e", "16M", "-f", "4", "-n", "2", "--max-time", "0.001"}
	return slices.Concat(sweep, question, more)
}

// Wherever the disk fills up, between two rounds too, the sweep resumed with the
// same question ends in the folder of one that was never stopped. Nothing finished
// runs again.
func TestLongDiskFullInEveryRoundThenResume(t *testing.T) {
	longtest.Only(t)
	besideScripts(t)
	whole := filepath.Join(t.TempDir(), "whole")
	code, stderr := zbench(t, osFS{}, served("--out", whole)...)
	require.Zero(t, code, stderr)
	text := readBytes(t, whole, engine.JournalFile)
	require.Contains(t, text, `{"reason":"extension"`)
	require.Contains(t, text, `{"reason":"answer_sizes"`)
	lines := strings.Split(text, "\n")
	for n := range len(lines) - 2 {
		if around := lines[max(0, n-1):min(len(lines), n+4)]; n%19 > 0 && !slices.ContainsFunc(around, func(l string) bool { return strings.HasPrefix(l, `{"reason"`) }) {
			continue // every line where a round begins, some of the others
		}
		dir := filepath.Join(t.TempDir(), "cut")
		left := n
		code, stderr := zbench(t, fullDisk{osFS{}, &left}, served("--out", dir)...)
		require.Equal(t, exit.Run, code, "line %d: %s", n, stderr)
		before := readBytes(t, dir, engine.JournalFile)
		code, stderr = zbench(t, osFS{}, append([]string{"collectives", "--resume", dir}, question...)...)
		require.Zero(t, code, "line %d: %s", n, stderr)
		require.True(t, strings.HasPrefix(readBytes(t, dir, engine.JournalFile), before[:strings.LastIndex(before, "\n")+1]), "nothing finished is written again")
		sameFolder(t, whole, dir)
	}
}

// The journal holds the question: a sweep that is resumed without any flag adds the
// rounds that it would have added.
func TestLongResumeKeepsTheQuestion(t *testing.T) {
	longtest.Only(t)
	whole, dir := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "cut")
	code, _ := zbench(t, osFS{}, served("--out", whole)...)
	require.Zero(t, code)
	text := readBytes(t, whole, engine.JournalFile)
	before, _, found := strings.Cut(text, `{"reason":"extension"`)
	require.True(t, found)
	left := strings.Count(before, "\n") + 1
	code, _ = zbench(t, fullDisk{osFS{}, &left}, served("--out", dir)...)
	require.Equal(t, exit.Run, code)
	code, stderr := zbench(t, osFS{}, "collectives", "--resume", dir)
	require.Zero(t, code, stderr)
	sameFolder(t, whole, dir)
}
