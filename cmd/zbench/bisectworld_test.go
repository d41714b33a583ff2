package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/bench/run/spec"
	"zbench/test/longtest"
	"zbench/test/project"
)

// In an allocation every child is asked for all of its nodes: the request has the world that
// the search's cases are of. A child that measured something else is left out with what it
// lacks.
func TestBisectAsksForTheAllocation(t *testing.T) {
	longtest.OneGoroutine(t)
	vars := map[string]string{}
	for line := range strings.Lines(project.Read(t, "testdata/launchers/batch")) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(line, "#") {
			vars[name] = value
		}
	}
	dir := filepath.Join(t.TempDir(), "out")
	s, stdout, stderr, commands := bisectState(t, nil,
		"all_reduce", "--backend", "loopback", "--launch", "slurm", "--sizes", "256K,1M", "--place", "out", "--out", dir, "--variant", "a=", "--variant", "b=X=1")
	s.Getenv = func(name string) string { return vars[name] }
	require.Equal(t, exit.Run, Main(context.Background(), s), stderr) // the planted children run on 2 ranks
	require.NotEmpty(t, *commands)
	require.Contains(t, (*commands)[0].Argv, "--launch=slurm")
	asked, err := spec.Read([]byte(readBytes(t, dir, "child.json")))
	require.NoError(t, err)
	require.Equal(t, spec.World{Nodes: 2, GPUsPerNode: 8, GPUsPerProcess: 1}, asked.World)
	require.Contains(t, unfolded(stdout.String()), "a is left out: its record has a time of none of 2 cases; the first, all_reduce/float/sum/262144/r16/g1/oop: it did not run.")
	require.NotContains(t, stdout.String(), "against ,")
}
