package peers

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
	"zbench/test/project"
)

// parseFile imports a file the way the command does.
func parseFile(t *testing.T, path string) *record.Record {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	rec, err := Parse(strings.NewReader(string(data)), Hints{File: filepath.Base(path)})
	require.NoError(t, err)
	return rec
}

// text reads a synthetic log.
func text(t *testing.T, name string) string {
	t.Helper()
	return project.Read(t, "testdata/logs/"+name)
}

// ownLogs are the files of all synthetic logs.
func ownLogs(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(project.File(t, "testdata/logs"), "*.log"))
	require.NoError(t, err)
	return files
}

func parseText(t *testing.T, log string, o Hints) *record.Record {
	t.Helper()
	rec, err := Parse(strings.NewReader(log), o)
	require.NoError(t, err)
	return rec
}

func codes(rec *record.Record) []string {
	out := []string{}
	for _, w := range rec.Warnings {
		out = append(out, w.Code)
	}
	return out
}

// brief is a result in one line: key, median in µs, samples, bandwidths in GB/s.
func brief(r record.Result) string {
	return fmt.Sprintf("%s %.8g x%d %.4g %.4g %s", r.Key, r.Burst.MeanOfRanks.Median*1e6, r.Burst.MeanOfRanks.N, *r.AlgBW/1e9, *r.BusBW/1e9, r.Verified.State)
}

func worldBrief(w record.World) string {
	return fmt.Sprintf("%dr %dn %d/node %d/proc %s", w.Ranks, w.Nodes, w.GPUsPerNode, w.GPUsPerProcess, w.GPU)
}

func skipBrief(rec *record.Record) []string {
	out := []string{}
	for _, k := range rec.Source.Imports[0].Skipped {
		out = append(out, fmt.Sprintf("%s %v", strings.SplitN(k.Reason, ":", 2)[0], k.Lines))
	}
	return out
}
