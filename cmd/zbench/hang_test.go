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

// stuckCases are the cases of a folder's record that have evidence: by size, the
// ranks that have not started.
func stuckCases(t *testing.T, dir string) map[int64]string {
	t.Helper()
	rec, err := record.Decode(strings.NewReader(readBytes(t, dir, "results.json")))
	require.NoError(t, err)
	out := map[int64]string{}
	for _, r := range rec.Results {
		if r.Evidence != nil {
			require.Equal(t, record.Failed, r.Status)
			out[r.Bytes] = r.Evidence.Ranks[0].Ranks + " " + r.Evidence.Ranks[0].State.Text()
		}
	}
	return out
}

// A hang leaves evidence in the record, the page and the error; the journal alone
// has it, and a sweep that continues keeps it beside that of the next one. Without
// the fault there is none.
func TestEvidenceIsKept(t *testing.T) {
	longtest.OneGoroutine(t)
	dir := filepath.Join(t.TempDir(), "out")
	args := []string{"collectives", "all_reduce", "-b", "512K", "-e", "4M", "--place", "out", "-q", "--nodes", "2", "--out"}
	code, stderr := zbench(t, osFS{}, append(args, dir, "--fault", "hang:node=1,gpu=3,bytes=1e6,launch=2")...)
	require.Equal(t, exit.Run, code)
	require.Contains(t, stderr, "all_reduce at 1 MiB failed: ")
	require.Contains(t, stderr, "to run the rest: `zbench collectives --resume "+dir)
	require.Contains(t, stderr, "in launch 3 of 5 of the warm-up: rank 11 not started; ranks 0–10, 12–15 not finished")
	require.Equal(t, map[int64]string{1 << 20: "11 not started"}, stuckCases(t, dir))

	require.NoError(t, os.Remove(filepath.Join(dir, "results.json")))
	require.NoError(t, os.Remove(filepath.Join(dir, "report.html")))
	code, stderr = zbench(t, osFS{}, "report", dir)
	require.Zero(t, code, stderr)
	require.Contains(t, readBytes(t, dir, "report.html"), "How far each rank got")

	code, stderr = zbench(t, osFS{}, "collectives", "--resume", dir, "-q")
	require.Equal(t, exit.Run, code, stderr)
	require.Equal(t, map[int64]string{1 << 20: "11 not started", 2 << 20: "11 not started"}, stuckCases(t, dir))

	whole := filepath.Join(t.TempDir(), "whole")
	code, stderr = zbench(t, osFS{}, append(args, whole)...)
	require.Zero(t, code, stderr)
	require.Empty(t, stuckCases(t, whole))
	require.NotContains(t, readBytes(t, whole, "report.html"), "How far each rank got")
}
