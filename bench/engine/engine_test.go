package engine_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/bench/base/folder"
	"zbench/bench/engine"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/test/foldertest"
	"zbench/test/longtest"
)

// whole is the folder of a request that ran to its end.
func whole(t *testing.T, want spec.Spec) map[string]string {
	t.Helper()
	files := foldertest.New()
	require.NoError(t, run(context.Background(), t, files, want, &modelled{}))
	require.Empty(t, files.Locks, "the lock is released")
	return files.Files("out")
}

// A request leaves the record, the journal, the samples and, where one is asked
// for, the bucket size; the record holds the request.
func TestRun(t *testing.T) {
	files := whole(t, small())
	rec, err := record.Decode(strings.NewReader(files[engine.ResultsFile]))
	require.NoError(t, err)
	require.NoError(t, engine.Verdict(rec, "out"))
	require.Len(t, rec.Results, 6)
	require.Equal(t, 16, rec.World.Ranks)
	require.Equal(t, 8, rec.Spec.World.GPUsPerNode, "defaults are resolved")
	require.Contains(t, files, "samples.f32")
	require.NotContains(t, files, engine.AdviceFile)
	read, err := spec.Read([]byte(files[engine.ResultsFile]))
	require.NoError(t, err)
	same(t, files, whole(t, *read))
	read, err = spec.Read([]byte(files[engine.JournalFile]))
	require.NoError(t, err)
	same(t, files, whole(t, *read))
}

// Wherever the disk fills up, what is there resumes to the folder of a sweep that
// was not cut off, and nothing finished is taken again.
func TestCutAtEveryLine(t *testing.T) {
	want := whole(t, small())
	for left := range 12 {
		files := foldertest.New()
		files.Left = left
		require.ErrorIs(t, run(context.Background(), t, files, small(), &modelled{}), foldertest.ErrFull)
		before := files.Files("out")[engine.JournalFile]
		files.Left = -1
		require.NoError(t, resume(t, files))
		got := files.Files("out")
		require.True(t, strings.HasPrefix(got[engine.JournalFile], before[:strings.LastIndex(before, "\n")+1]))
		same(t, want, got)
	}
}

// A sweep that is cancelled is saved and resumes to the same folder.
func TestCancelledThenResumed(t *testing.T) {
	want := whole(t, small())
	for at := 1; at < 36; at += 5 {
		ctx, cancel := context.WithCancel(context.Background())
		files := foldertest.New()
		require.NoError(t, run(ctx, t, files, small(), &modelled{at: at, stop: cancel}))
		rec, err := record.Decode(strings.NewReader(files.Files("out")[engine.ResultsFile]))
		require.NoError(t, err)
		require.ErrorContains(t, engine.Verdict(rec, "out"), "interrupted")
		require.NoError(t, resume(t, files))
		same(t, want, files.Files("out"))
	}
}

// A sweep that has lost a process is a run error that names it. It is saved, with the closing's
// error left out, and resumes to the same folder.
func TestLostThenResumed(t *testing.T) {
	want := whole(t, small())
	lost := &plan.GroupError{Failures: []plan.ProcessFailure{{Process: 3, Host: "node1", Failure: plan.Failure{Kind: plan.FailedLost, Message: "its connection ended"}}}}
	for at := 1; at < 36; at += 5 {
		files := foldertest.New()
		require.NoError(t, run(context.Background(), t, files, small(), &modelled{at: at, fails: lost, closing: errors.New("the communicators did not close")}))
		rec, err := record.Decode(strings.NewReader(files.Files("out")[engine.ResultsFile]))
		require.NoError(t, err)
		err = engine.Verdict(rec, "out")
		require.ErrorContains(t, err, " was interrupted: a process was lost: process 3 on node1: its connection ended")
		var exits *exit.Error
		require.ErrorAs(t, err, &exits)
		require.Equal(t, exit.Run, exits.Code)
		require.NotContains(t, files.Files("out")[engine.JournalFile], record.LostProcess)
		require.NoError(t, resume(t, files))
		same(t, want, files.Files("out"))
	}
}

// A sweep that ends too early for its question is extended, in rounds that are the
// same whether it is cut off in them or not.
func TestExtended(t *testing.T) {
	longtest.OneGoroutine(t)
	extended(t, 17)
	fixed := served()
	fixed.Sweep.FixedSizes = true
	require.NotContains(t, whole(t, fixed)[engine.JournalFile], `{"reason"`)
}

func TestLongExtended(t *testing.T) {
	longtest.Only(t)
	extended(t, 1)
}

// extended cuts a sweep off after every so manieth line of the second half of its journal.
func extended(t *testing.T, every int) {
	t.Helper()
	want := whole(t, served())
	j, err := record.ReadJournal([]byte(want[engine.JournalFile]))
	require.NoError(t, err)
	require.NotEmpty(t, j.Rounds)
	require.Contains(t, want, engine.AdviceFile)
	lines := strings.Count(want[engine.JournalFile], "\n")
	for left := lines / 2; left < lines-1; left += every {
		files := foldertest.New()
		files.Left = left
		require.ErrorIs(t, run(context.Background(), t, files, served(), &modelled{}), foldertest.ErrFull)
		files.Left = -1
		require.NoError(t, resume(t, files))
		same(t, want, files.Files("out"))
	}
}

// No round follows a pass that failed, the last of all cases too.
func TestNoRoundFollowsAFailure(t *testing.T) {
	longtest.OneGoroutine(t)
	planned, last := 1, 0
	for at := 1; last <= record.Passes*planned; at++ {
		if last < record.Passes*planned-3 {
			at += 23 // only of the last passes each launch is tried
		}
		files := foldertest.New()
		require.NoError(t, run(context.Background(), t, files, served(), &modelled{at: at, fails: errors.New("a launch failed")}))
		j, err := record.ReadJournal([]byte(files.Files("out")[engine.JournalFile]))
		require.NoError(t, err)
		planned, last = len(j.Header.Record.Results), len(j.Parts)
		require.Equal(t, record.Failed, j.Parts[last-1].Status)
		for _, r := range j.Rounds {
			require.Less(t, r.After, last, "launch %d", at)
		}
	}
}

// What a request holds that no sweep can have is refused before anything is made.
func TestPrepareRefuses(t *testing.T) {
	for says, change := range map[string]func(*spec.Spec){
		"fabric":                     func(s *spec.Spec) { s.Fabric = "none" },
		"1 to 1024 nodes":            func(s *spec.Spec) { s.World.Nodes = 0 },
		"dtype":                      func(s *spec.Spec) { s.Sweep.Dtype = "no" },
		"unknown op":                 func(s *spec.Spec) { s.Sweep.Op = "no" },
		"collective":                 func(s *spec.Spec) { s.Sweep.Collectives = []string{"no"} },
		"smallest size (-b)":         func(s *spec.Spec) { s.Sweep.MinBytes = -1 },
		"iterations (-n)":            func(s *spec.Spec) { s.Sweep.Iterations = -1 },
		"is for the bucket size":     func(s *spec.Spec) { s.Advice = &spec.Advice{Preset: "llama3-8b"} },
		"--ranks-per-gpu":            func(s *spec.Spec) { s.World.RanksPerGPU = 2 },
		"--fault needs the loopback": func(s *spec.Spec) { s.Backend, s.Faults = "rocm", []string{"noise:sigma=1"} },
		"-g the number":              func(s *spec.Spec) { s.Backend = "rocm" },
	} {
		want := small()
		change(&want)
		_, err := engine.Prepare(want, false)
		require.ErrorContains(t, err, says)
		var e *exit.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, exit.Usage, e.Code)
	}
}

// A folder that another process writes is refused, and its owner named. The lock of
// one that has ended is taken over, with a note.
func TestLock(t *testing.T) {
	files := foldertest.New()
	var notes bytes.Buffer
	host := at(files, nil).Host
	host.Note = func(format string, _ ...any) { notes.WriteString(format) }
	dir, err := folder.New(host, "out", "collectives", false)
	require.NoError(t, err)
	for range 2 {
		for _, open := range []func() error{
			func() error { _, err := folder.New(host, "out", "collectives", true); return err },
			func() error { _, err := folder.Open(host, "out"); return err },
		} {
			err := open()
			require.ErrorContains(t, err, "out is in use by process 1 on host")
			var e *exit.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, exit.Usage, e.Code)
		}
	}
	// The owner is named, too, where the folder has files already: --force would not help.
	require.NoError(t, files.WriteFile("out/"+engine.JournalFile, []byte("{}\n")))
	require.NoError(t, files.WriteFile("out/"+folder.LockFile, []byte("process 1 on host")))
	_, err = folder.New(host, "out", "collectives", false)
	require.ErrorContains(t, err, "out is in use by process 1 on host")
	require.NoError(t, dir.Close())
	require.NoError(t, dir.Close())
	_, err = folder.New(host, "out", "collectives", false)
	require.ErrorContains(t, err, "out already holds 3 files")
	files.Locks["out/"+folder.LockFile] = "dead"
	_, err = folder.New(host, "out", "collectives", false)
	require.ErrorContains(t, err, "out already holds 3 files")
	require.Equal(t, "dead", files.Locks["out/"+folder.LockFile], "what is refused stays as it is")
	dir, err = folder.Open(host, "out")
	require.NoError(t, err)
	require.Contains(t, notes.String(), "stale lock")
	require.NoError(t, dir.Close())
}
