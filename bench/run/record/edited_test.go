package record

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/jsonfile"
)

// A record says that it was edited, also once it is written again; one of an earlier version
// cannot tell.
func TestDecodeSaysWhatWasEdited(t *testing.T) {
	text := encoded(t, full())
	rec, err := Decode(strings.NewReader(text))
	require.NoError(t, err)
	require.Empty(t, rec.Edits())
	changed := strings.Replace(text, `"count": 262144`, `"count": 262145`, 1)
	require.NotEqual(t, text, changed)
	rec, err = Decode(strings.NewReader(changed))
	require.NoError(t, err)
	require.Len(t, rec.Edits(), 1)
	require.Contains(t, rec.Edits()[0].Message, "edited after zbench wrote it")
	rec, err = Decode(strings.NewReader(encoded(t, rec)))
	require.NoError(t, err)
	require.Len(t, rec.Edits(), 1)
	before, _, _ := strings.Cut(changed, ",\n  \"sha256\"")
	rec, err = Decode(strings.NewReader(before + "\n}\n"))
	require.NoError(t, err)
	require.Empty(t, rec.Edits())
}

// A whole line of another run is no line of this journal, the first not that of another record.
func TestLinesOfOtherRunsAreRefused(t *testing.T) {
	other := begun()
	other.Record.Run = strings.Repeat("0f", 16)
	line, err := taken("a", 0).Line(other.Record.Run)
	require.NoError(t, err)
	_, err = ReadJournal(append(journalOf(t, begun()), line...))
	require.ErrorIs(t, err, jsonfile.ErrForeign)
	require.ErrorContains(t, err, "line 2: the line is of another run: its run is 0f0f")
	header, err := jsonfile.Line(other.Record.Run, begun())
	require.NoError(t, err)
	_, err = ReadJournal(header)
	require.ErrorIs(t, err, jsonfile.ErrForeign)
	earlier := begun()
	earlier.Record.Run = ""
	j, err := ReadJournal(journalOf(t, earlier, parts()...))
	require.NoError(t, err, "a journal of an earlier version")
	require.Len(t, j.Parts, 4)
}

func TestCheckSamples(t *testing.T) {
	h := begun()
	var values, index bytes.Buffer
	require.NoError(t, WriteSamples(&values, &index, &h.Record, parts()))
	require.Nil(t, CheckSamples(&h.Record, index.Bytes(), values.Bytes()))
	other := h.Record
	other.Run = strings.Repeat("0f", 16)
	bare := []byte(`{"schema":"zbench.samples/1","series":[]}`)
	require.Nil(t, CheckSamples(&other, bare, values.Bytes()), "an earlier version")
	for says, w := range map[string]*Warning{
		"of another run":          CheckSamples(&other, index.Bytes(), values.Bytes()),
		"samples.f32 was edited":  CheckSamples(&h.Record, index.Bytes(), values.Bytes()[4:]),
		"samples.json was edited": CheckSamples(&h.Record, bytes.Replace(index.Bytes(), []byte(`"pass": 0`), []byte(`"pass": 1`), 1), values.Bytes()),
		"no index of samples":     CheckSamples(&h.Record, bare[:20], values.Bytes()),
	} {
		require.NotNil(t, w, says)
		require.Contains(t, w.Message, says)
		require.Equal(t, CodeEdited, w.Code)
	}
}

// A bit that is turned somewhere in a file is an error or is told: no figure changes silently.
func TestFlippedBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(63, 1)) //nolint:gosec // reproducible is what it is for
	var values, index bytes.Buffer
	h := begun()
	require.NoError(t, WriteSamples(&values, &index, &h.Record, parts()))
	for name, file := range map[string]struct {
		text []byte
		told func(text []byte) bool
	}{
		"results.json": {[]byte(encoded(t, full())), func(text []byte) bool {
			rec, err := Decode(bytes.NewReader(text))
			return err != nil || len(rec.Edits()) == 1
		}},
		"journal.jsonl": {journalOf(t, begun(), parts()...), func(text []byte) bool {
			j, err := ReadJournal(text)
			return err != nil || j.Truncated > 0
		}},
		"samples.json": {index.Bytes(), func(text []byte) bool { return CheckSamples(&h.Record, text, values.Bytes()) != nil }},
		"samples.f32":  {values.Bytes(), func(text []byte) bool { return CheckSamples(&h.Record, index.Bytes(), text) != nil }},
	} {
		require.False(t, file.told(file.text), name)
		for range 250 {
			text, bit := bytes.Clone(file.text), rng.IntN(8*len(file.text))
			text[bit/8] ^= 1 << (bit % 8)
			require.True(t, file.told(text), "%s: bit %d", name, bit)
		}
	}
}

// A record whose spec lost its sweep is refused: what reads it would look for its flags there.
func TestSpecWithoutSweep(t *testing.T) {
	text := encoded(t, full())
	bad := strings.Replace(text, `"sweep": {`, `"swaep": {`, 1)
	require.NotEqual(t, text, bad)
	_, err := Decode(strings.NewReader(bad))
	require.ErrorContains(t, err, "neither a sweep nor kernels")
}
