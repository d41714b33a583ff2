package engine_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/engine"
	"zbench/bench/folder"
	"zbench/bench/jsonfile"
	"zbench/bench/record"
)

// Two equal runs on hardware have different ids, two equal simulated ones the same, and two of
// other requests never.
func TestRunsHaveIDs(t *testing.T) {
	host := at(newMemory(), &modelled{}).Host
	host.Random = rand.NewChaCha8([32]byte{1})
	dir, err := folder.New(host, "out", "collectives", false)
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
	host.Random = strings.NewReader("too few")
	dir, err = folder.New(host, "empty", "collectives", false)
	require.NoError(t, err)
	_, err = dir.NewRun("a", false)
	require.ErrorContains(t, err, "no random bytes")
}

// The record, the journal and the samples of a run have its id, and a run keeps it when it is
// resumed.
func TestARunKeepsItsID(t *testing.T) {
	want := whole(t, small())
	j, err := record.ReadJournal([]byte(want[engine.JournalFile]))
	require.NoError(t, err)
	id := j.Header.Record.Run
	require.Len(t, id, jsonfile.RunDigits)
	require.Contains(t, want[engine.ResultsFile], id)
	require.Contains(t, want[engine.SamplesIndexFile], id)
	files := newMemory()
	files.left = 4
	require.ErrorIs(t, run(context.Background(), t, files, small(), &modelled{}), errFull)
	files.left = -1
	require.NoError(t, resume(t, files))
	same(t, want, files.files("out"))
}
