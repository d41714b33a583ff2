package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/test/longtest"
)

// Flags that would make other cases are refused even with --force; the same ones
// in other words are not.
func TestResumeWithFlags(t *testing.T) {
	longtest.OneGoroutine(t)
	dir := cutAt(t, 3, "--verify-budget", "1M")
	for _, x := range []struct{ args, says string }{
		{"-b 2K", "--minbytes 1024, now 2K"},
		{"-d half --force", "--datatype float, now half"},
		{"--out other", "--out none, now other"},
		{"--verify-budget 2M", "--verify-budget 1048576, now 2M"},
		{"--keep-samples", "--keep-samples false, now true"},
		{"all_gather", "collectives all_reduce, now all_gather"},
	} {
		code, stderr := zbench(t, osFS{}, append([]string{"collectives", "--resume", dir}, strings.Fields(x.args)...)...)
		require.Equal(t, exit.Usage, code, x.args)
		require.Contains(t, stderr, x.says)
	}
	code, stderr := zbench(t, osFS{}, strings.Fields("collectives all_reduce --resume "+dir+" -b 1024 -d float32 --nodes 1 -q --format csv")...)
	require.Zero(t, code, stderr)
}

// Steps, graphs, groups and scales are the sweep's own too: it continues with them.
func TestResumeKeepsEveryAxis(t *testing.T) {
	longtest.OneGoroutine(t)
	more := strings.Fields("--nodes 2 -i 1K -G 2 --groups 2,4 --scale 1 --place out")
	whole := filepath.Join(t.TempDir(), "whole")
	code, stderr := zbench(t, osFS{}, small(whole, more...)...)
	require.Zero(t, code, stderr)
	dir, left := filepath.Join(t.TempDir(), "cut"), 20
	code, _ = zbench(t, fullDisk{osFS{}, &left}, small(dir, more...)...)
	require.Equal(t, exit.Run, code)
	code, stderr = zbench(t, osFS{}, "collectives", "--resume", dir)
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "12 cases to run, 4 done before: 12 passes")
	sameFolder(t, whole, dir)
}
