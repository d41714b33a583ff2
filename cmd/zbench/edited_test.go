package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/bench/engine"
	"zbench/bench/run/record"
	"zbench/test/longtest"
	"zbench/test/seal"
)

// changes are a document with one value changed, value by value, each in several
// ways: of a list, the first element stands for all.
func changes(value any, put func(any) any, emit func(any)) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			changes(v[key], func(other any) any {
				c := maps.Clone(v)
				c[key] = other
				return put(c)
			}, emit)
		}
		emit(put(nil))
	case []any:
		emit(put([]any{}))
		if len(v) > 0 {
			emit(put(append(slices.Clone(v), v[0])))
			emit(put(v[1:]))
			changes(v[0], func(other any) any { return put(append([]any{other}, v[1:]...)) }, emit)
		}
	case json.Number:
		for _, n := range []any{0, 3, json.Number("1e300")} {
			emit(put(n))
		}
	case string:
		for _, text := range []any{"", "--help", v + "/x"} {
			emit(put(text))
		}
	case bool:
		emit(put(!v))
	}
}

// A journal with an edited header and a matching checksum is either resumed or refused: no
// panic, and the rest can be read.
func TestLongResumeWithAnyEditedHeader(t *testing.T) {
	longtest.OnlyOrDetected(t)
	besideScripts(t)
	dir := cutAt(t, 7)
	path := filepath.Join(dir, engine.JournalFile)
	header, parts, _ := strings.Cut(seal.Without(readBytes(t, path)), "\n")
	d := json.NewDecoder(strings.NewReader(header))
	d.UseNumber()
	var doc any
	require.NoError(t, d.Decode(&doc))
	ran, codes := 0, map[int]int{}
	changes(doc, func(other any) any { return other }, func(edited any) {
		text, err := json.Marshal(edited)
		require.NoError(t, err)
		journal := seal.Of(string(text) + "\n" + parts)
		if j, err := record.ReadJournal([]byte(journal)); err != nil || big(j) {
			return
		}
		args := []string{"collectives", "--resume", dir, "-q"}
		if ran++; ran%2 == 0 {
			args = append(args, "--force")
		}
		require.NoError(t, os.WriteFile(path, []byte(journal), 0o600))
		left := 2
		code, stderr := zbench(t, fullDisk{osFS{}, &left}, args...)
		codes[code]++
		require.Contains(t, []int{exit.OK, exit.Run, exit.Usage}, code, stderr)
		_, err = record.ReadJournal([]byte(readBytes(t, path)))
		require.NoError(t, err, "%s\n%s\n%s", text, args, stderr)
		if strings.Contains(stderr, "is inconsistent") {
			require.Equal(t, journal, readBytes(t, path), "it was refused, and is as it was")
		}
		_ = os.Remove(filepath.Join(dir, "results.json"))
	})
	t.Log(fmt.Sprint(ran, " journals, by exit code ", codes))
	require.Greater(t, ran, 100)
}

// big tells a sweep that would take long.
func big(j *record.Journal) bool {
	w, s := j.Header.Record.World, j.Header.Record.Spec.Sweep
	return max(w.Nodes*w.GPUsPerNode, w.GPUsPerProcess) > 64 || max(s.Iterations, s.Warmup, s.Checks, s.GraphLaunches) > 100 || s.MaxBytes > 1<<20
}

// What the options make and what the header plans must be the same cases.
func TestResumeRefusesAnotherPlan(t *testing.T) {
	longtest.OneGoroutine(t)
	for name, x := range map[string]struct{ old, now, says string }{
		"a case more": {`"max_bytes":4096`, `"max_bytes":8192`, "its options produce the case all_reduce/float/sum/8192/r8/g1/oop, which it does not plan"},
		"a case less": {`"max_bytes":4096`, `"max_bytes":2048`, "it plans the case all_reduce/float/sum/4096/r8/g1/oop, which its options do not produce"},
		"other bytes": {`"bytes":1024,`, `"bytes":1040,`, "the case all_reduce/float/sum/1024/r8/g1/oop that it plans differs from the one that its options produce"},
		"other label": {`"extrapolated":false`, `"extrapolated":true`, "the case all_reduce/float/sum/1024/r8/g1/oop that it plans differs from the one that its options produce"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := cutAt(t, 7)
			edit(t, dir, x.old, x.now)
			before := readBytes(t, dir, engine.JournalFile)
			code, stderr := zbench(t, osFS{}, "collectives", "--resume", dir)
			require.Equal(t, exit.Run, code, stderr)
			require.Contains(t, stderr, engine.JournalFile+" is inconsistent: "+x.says)
			require.Contains(t, stderr, "--out")
			require.Equal(t, before, readBytes(t, dir, engine.JournalFile))
		})
	}
}
