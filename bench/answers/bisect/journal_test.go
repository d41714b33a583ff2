package bisect_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/bisect"
	"zbench/bench/base/jsonfile"
	"zbench/bench/run/spec"
)

// saved is a search with two entries.
func saved(t testing.TB) []byte {
	t.Helper()
	h := bisect.Header{
		Schema: bisect.JournalSchema, Options: bisect.Defaults(), Spec: spec.Spec{Sweep: &spec.Sweep{}}, Timing: "burst", GPUs: 1,
		Variants: []bisect.Given{{Name: "a"}, {Name: "b", Settings: "X=1"}}, Cases: []bisect.Planned{{Key: "k", Bytes: 1}},
	}
	text, err := jsonfile.Lines(h.Run, h, []bisect.Entry{{Variant: "a", Seconds: 1, Times: map[string]float64{"k": 1}, Simulated: true}, {Variant: "b", Reason: "exit code 1"}})
	require.NoError(t, err)
	return text
}

// No flipped bit is read as something else: it is an error that names its line, or the last
// line, which then was not written whole.
func TestEveryBitOfASearch(t *testing.T) {
	text := saved(t)
	h, entries, err := bisect.ReadJournal(text)
	require.NoError(t, err)
	require.Len(t, entries, 2)
	for i := range len(text) * 8 {
		bad := slices.Clone(text)
		bad[i/8] ^= 1 << (i % 8)
		gotHeader, got, err := bisect.ReadJournal(bad)
		if err == nil {
			require.Equal(t, len(text)-1, i/8, "bit %d of byte %d", i%8, i/8)
			require.Equal(t, h, gotHeader)
			require.Equal(t, entries[:1], got)
			continue
		}
		require.ErrorAs(t, err, new(*jsonfile.LineError))
	}
}

// An entry of another search is refused, although its checksum fits.
func TestEntriesOfOtherSearches(t *testing.T) {
	h, entries, err := bisect.ReadJournal(saved(t))
	require.NoError(t, err)
	h.Run = strings.Repeat("a5", 16)
	text, err := jsonfile.Lines(h.Run, h, entries[:1])
	require.NoError(t, err)
	got, _, err := bisect.ReadJournal(text)
	require.NoError(t, err)
	require.Equal(t, h.Run, got.Run)
	line, err := entries[1].Line(strings.Repeat("5a", 16))
	require.NoError(t, err)
	_, _, err = bisect.ReadJournal(append(text, line...))
	require.ErrorIs(t, err, jsonfile.ErrForeign)
}
