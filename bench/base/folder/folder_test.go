package folder_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/bench/base/folder"
	"zbench/bench/base/jsonfile"
	"zbench/test/foldertest"
)

func host(files folder.FS) folder.Host {
	return folder.Host{FS: files, Now: func() time.Time { return time.Unix(1795219200, 0) }, Owner: "process 1 on host"}
}

// Two equal runs on hardware have different ids, two equal simulated ones the same, and two of
// other requests never.
func TestRunsHaveIDs(t *testing.T) {
	h := host(foldertest.New())
	h.Random = rand.NewChaCha8([32]byte{1})
	dir, err := folder.New(h, "out", "collectives", false)
	require.NoError(t, err)
	id := func(header string, simulated bool) string {
		run, err := dir.NewRun(header, simulated)
		require.NoError(t, err)
		require.Len(t, run, jsonfile.RunDigits)
		return run
	}
	measured, simulated := id("a", false), id("a", true)
	require.NotEqual(t, measured, id("a", false))
	require.Equal(t, simulated, id("a", true))
	require.NotEqual(t, simulated, id("b", true))
	h.Random = strings.NewReader("too few")
	dir, err = folder.New(h, "empty", "collectives", false)
	require.NoError(t, err)
	_, err = dir.NewRun("a", false)
	require.ErrorContains(t, err, "no random bytes")
}

// One process writes a folder at a time; the lock of one that was killed is taken over.
func TestOneProcessWritesAFolder(t *testing.T) {
	files := foldertest.New()
	var notes []string
	h := host(files)
	h.Note = func(format string, _ ...any) { notes = append(notes, format) }
	dir, err := folder.New(h, "", "rails", false)
	require.NoError(t, err)
	require.Equal(t, "zbench-rails-20261121-000000", dir.Path)
	_, err = folder.Open(h, dir.Path)
	require.ErrorContains(t, err, "in use by process 1 on host")
	require.NoError(t, dir.Put("a.txt", []byte("a")))
	require.True(t, dir.Has("a.txt"))
	require.False(t, dir.Has("b.txt"))
	require.NoError(t, dir.Close())
	require.NoError(t, dir.Close(), "again")
	holds := (*folder.HoldsFilesError)(nil)
	_, err = folder.New(h, dir.Path, "rails", false)
	require.ErrorAs(t, err, &holds)
	files.Locks[dir.File(folder.LockFile)] = "dead"
	dir, err = folder.New(h, dir.Path, "rails", true)
	require.NoError(t, err)
	require.Contains(t, strings.Join(notes, ""), "its stale lock is replaced")
	dir.Abandon()
	require.True(t, dir.Has("a.txt"), "earlier files stay")
}

// A folder that was empty before an abandoned run is gone.
func TestAbandon(t *testing.T) {
	files := foldertest.New()
	dir, err := folder.New(host(files), "out", "rails", false)
	require.NoError(t, err)
	dir.Abandon()
	require.Empty(t, files.MapFS)
	require.Empty(t, files.Locks)
}

// entry is a line of a journal.
type entry struct {
	N int `json:"n"`
}

func (e entry) Line(run string) ([]byte, error) {
	if e.N < 0 {
		return nil, errors.New("it cannot be written")
	}
	return jsonfile.Line(run, e)
}

// What was appended is read again; a full disk and a removed file are errors that say what is
// saved.
func TestJournal(t *testing.T) {
	files := foldertest.New()
	dir, err := folder.New(host(files), "out", "bisect", false)
	require.NoError(t, err)
	run, err := dir.NewRun("a", true)
	require.NoError(t, err)
	first, err := jsonfile.Line(run, entry{0})
	require.NoError(t, err)
	j, err := folder.NewJournal[entry](dir, "j.jsonl", run, "zbench bisect --resume out", first)
	require.NoError(t, err)
	require.NoError(t, j.Append(entry{1}))
	require.ErrorContains(t, j.Append(entry{-1}), "it cannot be written")
	files.Left = 0
	err = j.Append(entry{2})
	require.ErrorIs(t, err, foldertest.ErrFull)
	var known *exit.Error
	require.ErrorAs(t, err, &known)
	require.Equal(t, "free disk space, then: zbench bisect --resume out", known.Hint)
	var got []int
	lines, truncated, err := jsonfile.EachLine(files.MapFS[dir.File("j.jsonl")].Data, func(_ int, line []byte) error {
		var e entry
		defer func() { got = append(got, e.N) }()
		return jsonfile.DecodeLine(line, run, &e)
	})
	require.NoError(t, err)
	require.Equal(t, 2, lines)
	require.Positive(t, truncated)
	require.Equal(t, []int{0, 1}, got)
	require.NoError(t, files.Remove(dir.File("j.jsonl")))
	require.ErrorIs(t, j.Append(entry{3}), folder.ErrGone)
	require.NoError(t, j.Close())
}
