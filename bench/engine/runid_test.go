package engine_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/jsonfile"
	"zbench/bench/engine"
	"zbench/bench/run/record"
	"zbench/test/foldertest"
)

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
	files := foldertest.New()
	files.Left = 4
	require.ErrorIs(t, run(context.Background(), t, files, small(), &modelled{}), foldertest.ErrFull)
	files.Left = -1
	require.NoError(t, resume(t, files))
	same(t, want, files.Files("out"))
}
