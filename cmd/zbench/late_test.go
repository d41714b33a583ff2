package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/judge"
	"zbench/bench/base/exit"
	"zbench/bench/run/record"
	"zbench/test/longtest"
)

// sweepOf runs a small sweep as a user would and reads its record.
func sweepOf(t *testing.T, seed int, faults ...string) *record.Record {
	t.Helper()
	dir := filepath.Join(t.TempDir(), fmt.Sprint(seed, len(faults)))
	args := []string{"collectives", "all_reduce", "-b", "64K", "-e", "4M", "-f", "8", "--place", "out", "-q", "--seed", strconv.Itoa(seed), "--out", dir}
	for _, f := range faults {
		args = append(args, "--fault", f)
	}
	s, _ := testState(t, args...)
	require.Equal(t, min(len(faults), 1)*exit.Regression, Main(context.Background(), s))
	text, err := s.FS.ReadFile(filepath.Join(dir, "results.json"))
	require.NoError(t, err)
	rec, err := record.Decode(bytes.NewReader(text))
	require.NoError(t, err)
	return rec
}

// A late GPU is named in every seed; a slow link, which delays everybody alike,
// names no rank, and neither does a healthy node.
func TestLateGPUIsNamed(t *testing.T) {
	longtest.OneGoroutine(t)
	for seed := range 1 { // test/planted has a hundred
		late := judge.Late(sweepOf(t, seed, "late_gpu:node=0,gpu=5,seconds=2e-5"))
		require.Len(t, late, 1)
		require.Len(t, late[0].Late, 1, "seed %d", seed)
		require.Equal(t, 5, late[0].Late[0].Rank)
		for _, faults := range [][]string{nil, {"slow_link:node=0,a=1,b=2,left=0.5"}} {
			require.Empty(t, judge.Late(sweepOf(t, seed, faults...))[0].Late, "seed %d, %v", seed, faults)
		}
	}
}
