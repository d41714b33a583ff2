package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/bench/run/record"
	"zbench/test/longtest"
)

// Groups, strides and scales are marked by what is known of them, not of the whole
// world: one node and two are measured, four are not; nor are groups of four GPUs,
// or of one GPU a node.
func TestSplitsAreExtrapolatedByThemselves(t *testing.T) {
	longtest.OneGoroutine(t)
	dir := filepath.Join(t.TempDir(), "out")
	code, stderr := zbench(t, osFS{}, strings.Fields("collectives all_reduce --nodes 4 --groups 4,8 --strides 8 --scale 2 -b 64K -e 64K --place out -q --out "+dir)...)
	require.Zero(t, code, stderr)
	rec, err := record.Decode(strings.NewReader(readBytes(t, dir, "results.json")))
	require.NoError(t, err)
	marked := map[string]bool{}
	for _, r := range rec.Results {
		marked[strings.TrimPrefix(r.Key, "all_reduce/float/sum/65536/")] = r.Extrapolated
	}
	require.Equal(t, map[string]bool{
		"r32/g1/oop": true, "r4/g1/oop/x8": true, "r8/g1/oop/x4": false, "r4/g1/oop/x8/s8": true, "r16/g1/oop": false,
	}, marked)
	page := readBytes(t, dir, "report.html")
	require.Contains(t, page, "4 GPUs: from the number of links")
	require.Contains(t, page, "3 of 5 results are extrapolated: parts of their model have no measurements; the set-up lists them.")
	require.NotContains(t, page, "other node counts", "a group of four GPUs is of one node, as those that were measured")
}

// A folder in the place of a file is named, with what to do.
func TestFolderInPlaceOfAFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	code, stderr := zbench(t, osFS{}, small(dir)...)
	require.Zero(t, code, stderr)
	page := filepath.Join(dir, "report.html")
	require.NoError(t, os.Remove(page))
	require.NoError(t, os.Mkdir(page, 0o755))
	code, stderr = zbench(t, osFS{}, "report", dir)
	require.Equal(t, exit.Run, code)
	require.Contains(t, stderr, page+" is a folder; zbench would write a file there\n  → move it away")
}
