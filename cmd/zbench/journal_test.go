package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/bench/base/folder"
	"zbench/bench/engine"
	"zbench/bench/run/record"
	"zbench/test/longtest"
)

func TestNothingToResume(t *testing.T) {
	dir := t.TempDir()
	code, stderr := zbench(t, osFS{}, "collectives", "--resume", dir)
	require.Equal(t, exit.Usage, code)
	require.Contains(t, stderr, "journal.jsonl does not exist")
	path := filepath.Join(dir, engine.JournalFile)
	for text, says := range map[string]string{
		"":       "line 1: not a zbench record",
		`{"sche`: "line 1: not a zbench record",
		"{}\n":   "line 1: unknown version",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		for _, args := range [][]string{{"collectives", "--resume", dir}, {"report", dir}, {"recommend", path}} {
			code, stderr = zbench(t, osFS{}, args...)
			require.Equal(t, exit.Run, code, args)
			require.Contains(t, stderr, path+": record: journal: "+says)
		}
	}
}

// A header alone is a record of cases that were not begun; damage in the middle
// is named with its line.
func TestHeaderAloneAndDamage(t *testing.T) {
	dir := cutAt(t, 4)
	path, text := filepath.Join(dir, engine.JournalFile), readBytes(t, dir, engine.JournalFile)
	lines := strings.SplitAfter(text, "\n")
	require.NoError(t, os.WriteFile(path, []byte(lines[0]), 0o600))
	code, stderr := zbench(t, osFS{}, "report", dir)
	require.Zero(t, code, stderr)
	require.Equal(t, 6, strings.Count(readBytes(t, dir, "results.csv"), "interrupted,stopped before this case was finished"))
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(text, lines[2], lines[2][:20]+"\n", 1)), 0o600))
	for _, args := range [][]string{{"report", dir}, {"recommend", dir}, {"collectives", "--resume", dir}} {
		code, stderr = zbench(t, osFS{}, args...)
		require.Equal(t, exit.Run, code)
		require.Contains(t, stderr, path+": record: journal: line 3: ")
	}
}

// A signal leaves a record and says how to go on; killed while it continues, the
// journal is ahead of that record, and is what is read.
func TestSignalThenResumeThenKill(t *testing.T) {
	whole, dir := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "out")
	code, _ := zbench(t, osFS{}, small(whole)...)
	require.Zero(t, code)
	s, _ := testState(t, small(dir, "--progress")...)
	signals := make(chan string)
	stderr := &signalling{signals: signals}
	s.Signals, s.Stderr = signals, Stream{Writer: stderr}
	s.Getenv = func(name string) string { return map[string]string{"SOURCE_DATE_EPOCH": "1795219200"}[name] }
	require.Equal(t, exit.Interrupted, Main(context.Background(), s))
	require.Contains(t, stderr.String(), "zbench collectives --resume "+dir)
	count := func() int {
		rec, err := readEither(s, dir)
		require.NoError(t, err)
		n := 0
		for _, r := range rec.Results {
			if r.Status == record.OK {
				n++
			}
		}
		return n
	}
	before := count()
	left := 1
	code, _ = zbench(t, fullDisk{osFS{}, &left}, "collectives", "--resume", dir)
	require.Equal(t, exit.Run, code)
	require.Greater(t, count(), before)
	code, _ = zbench(t, osFS{}, "collectives", "--resume", dir)
	require.Zero(t, code)
	sameFolder(t, whole, dir)
}

// What a process that was killed was writing goes when the sweep continues; what
// is not zbench's stays.
func TestResumeRemovesUnfinishedFiles(t *testing.T) {
	dir := cutAt(t, 5)
	for _, name := range []string{".knees.json.123.tmp", ".mine", "mine.tmp"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600))
	}
	code, stderr := zbench(t, osFS{}, "collectives", "--resume", dir)
	require.Zero(t, code, stderr)
	require.NoFileExists(t, filepath.Join(dir, ".knees.json.123.tmp"))
	require.FileExists(t, filepath.Join(dir, ".mine"))
	require.FileExists(t, filepath.Join(dir, "mine.tmp"))
}

// A folder that is written over keeps nothing that could be taken for the new
// run's: neither a record nor a journal.
func TestForceOverAnOldFolder(t *testing.T) {
	longtest.OneGoroutine(t)
	dir := filepath.Join(t.TempDir(), "out")
	code, _ := zbench(t, osFS{}, small(dir)...)
	require.Zero(t, code)
	left := 0
	code, _ = zbench(t, fullDisk{osFS{}, &left}, small(dir, "--force", "--seed", "7")...)
	require.Equal(t, exit.Run, code)
	s, _ := testState(t)
	rec, err := readEither(s, dir)
	require.NoError(t, err)
	require.Equal(t, uint64(7), rec.Spec.Seed)
	require.Equal(t, record.Interrupted, rec.Results[0].Status)
}

// Samples are kept up to 64 ranks, and above where it is asked for.
func TestLongKeepSamples(t *testing.T) {
	longtest.Only(t)
	for args, kept := range map[string]bool{"--nodes 8": true, "--nodes 9": false, "--nodes 9 --keep-samples": true} {
		dir := filepath.Join(t.TempDir(), "out")
		code, stderr := zbench(t, osFS{}, strings.Fields("collectives all_reduce -b 1M -e 1M --place out --out "+dir+" "+args)...)
		require.Zero(t, code, stderr)
		_, err := os.Stat(filepath.Join(dir, "samples.f32"))
		require.Equal(t, kept, err == nil, args)
		require.Equal(t, kept, strings.Contains(readBytes(t, dir, engine.JournalFile), `"ranks":"`), args)
		if kept {
			require.Contains(t, readBytes(t, dir, "samples.json"), record.SeriesRanks)
		}
	}
}

// What did not fit when the sweep was begun has no place in its journal, though
// it would fit now.
func TestResumeSkipsWhatWasSkipped(t *testing.T) {
	longtest.OneGoroutine(t)
	dir := cutAt(t, 0)
	edit(t, dir, `"status":"interrupted","reason":"stopped before this case was finished"`, `"status":"skipped","reason":"memory"`)
	code, stderr := zbench(t, osFS{}, "collectives", "--resume", dir)
	require.Zero(t, code, stderr)
	rec, err := record.Decode(strings.NewReader(readBytes(t, dir, "results.json")))
	require.NoError(t, err)
	require.Equal(t, "memory", rec.Results[0].Reason)
	code, stderr = zbench(t, osFS{}, "collectives", "--resume", dir)
	require.Zero(t, code)
	require.Contains(t, stderr, "is complete")
}

// spy notes what is done with the journal.
type spy struct {
	osFS
	did *[]string
}

type spyFile struct {
	folder.AppendFile
	did *[]string
}

func (d spy) Append(name string) (folder.AppendFile, error) {
	f, err := d.osFS.Append(name)
	return spyFile{f, d.did}, err
}

func (f spyFile) Write(p []byte) (int, error) {
	*f.did = append(*f.did, "write "+string(p[len(p)-1:]))
	return f.AppendFile.Write(p)
}

func (f spyFile) Sync() error  { *f.did = append(*f.did, "sync"); return f.AppendFile.Sync() }
func (f spyFile) Close() error { *f.did = append(*f.did, "close"); return f.AppendFile.Close() }

// Each line is written whole, in one write, and made durable before the next.
func TestJournalIsDurable(t *testing.T) {
	var did, want []string
	code, _ := zbench(t, spy{osFS{}, &did}, small(filepath.Join(t.TempDir(), "out"))...)
	require.Zero(t, code)
	for range 12 {
		want = append(want, "write \n", "sync")
	}
	require.Equal(t, append(want, "close"), did)
}
