package main

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/judge"
	"zbench/bench/base/exit"
	"zbench/bench/base/finding"
	"zbench/bench/engine"
	"zbench/bench/run/record"
)

// soaked holds a finished folder, and the exit code that went with it, to what was
// planted.
func (c schemaCheck) soaked(t *testing.T, s soakSweep, dir string, code int) {
	t.Helper()
	text := readBytes(t, dir, "results.json")
	c.fits(t, "../../bench/run/record/schema/v2.json", text, dir)
	c.lines(t, "../../bench/run/record/schema/journal-v3.json", readBytes(t, dir, engine.JournalFile), dir)
	rec, err := record.Decode(strings.NewReader(text))
	require.NoError(t, err)
	require.Len(t, rec.Results, s.cases, "nothing vanishes and nothing appears")
	require.Equal(t, s.cases+1, strings.Count(readBytes(t, dir, "results.csv"), "\n"))
	count, keys := map[record.Status]int{}, map[string]bool{}
	for _, r := range rec.Results {
		count[r.Status]++
		keys[r.Key] = true
		require.Equal(t, r.Status == record.OK, r.Reason == "", r.Key)
		require.Equal(t, r.Status == record.Failed && s.stuck, r.Evidence != nil, r.Key)
		if r.Status == record.OK {
			require.NotNil(t, r.Burst, r.Key)
			require.NotNil(t, r.Isolated, r.Key)
		}
	}
	require.Len(t, keys, s.cases)
	require.True(t, s.stuck || count[record.Failed] == 0, "failed for no reason")
	require.True(t, s.wrong || count[record.WrongData] == 0, "wrong data for no reason")
	require.Zero(t, count[record.Interrupted])
	want := exit.OK
	switch {
	case count[record.WrongData] > 0:
		want = exit.WrongData
	case count[record.Failed] > 0 || count[record.OK] == 0:
		want = exit.Run
	}
	if faults := judge.Of(rec).Faults(); want == exit.OK && len(faults) > 0 { // that it finds what was planted, planted tests hold
		want = exit.Of(finding.Pass, faults)
	}
	require.Equal(t, want, code)
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	require.NoError(t, err)
	require.Empty(t, left, "temporary files")
}

// usage of the process: what must not grow.
type processUse struct{ goroutines, files, heap, resident, address int }

func (processUse) now(t *testing.T) processUse {
	t.Helper()
	debug.FreeOSMemory() // else what is resident is what the largest sweep took
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	open, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	statm, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	words := strings.Fields(string(statm))
	pages := func(i int) int {
		n, err := strconv.Atoi(words[i])
		require.NoError(t, err)
		return n * os.Getpagesize()
	}
	return processUse{runtime.NumGoroutine(), len(open), int(m.HeapAlloc), pages(1), pages(0)} //nolint:gosec // fits
}
