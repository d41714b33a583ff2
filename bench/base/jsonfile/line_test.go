package jsonfile_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/jsonfile"
	"zbench/test/seal"
)

// aRun and otherRun are ids of runs.
var aRun, otherRun = strings.Repeat("a5", 16), strings.Repeat("5a", 16)

type shoal struct {
	Fish  int       `json:"fish"`
	Names []string  `json:"names"`
	Sizes []float64 `json:"sizes,omitempty"`
}

func TestLine(t *testing.T) {
	want := shoal{3, []string{"a\nb", `,"crc32c":"00000000"}`}, []float64{0.1, 1e-300}}
	line, err := jsonfile.Line(aRun, want)
	require.NoError(t, err)
	require.Equal(t, seal.Of(string(line)), string(line), "the checksum is RFC 3720's")
	object, newline := line[:len(line)-1], line[len(line)-1]
	require.Equal(t, byte('\n'), newline)
	var got shoal
	require.NoError(t, jsonfile.DecodeLine(object, aRun, &got))
	require.Equal(t, want, got)
	run, err := jsonfile.DecodeFirst(object, &got)
	require.NoError(t, err)
	require.Equal(t, aRun, run)
	for _, none := range []any{3, []int{1}, struct{}{}, nil, math.NaN()} {
		_, err := jsonfile.Line(aRun, none)
		require.Error(t, err, "%v", none)
	}
}

// A line of another run is refused although it is whole, and so is a line of an earlier version,
// which names no run, in a run that has an id, and the other way round.
func TestLinesOfOtherRuns(t *testing.T) {
	for _, runs := range [][2]string{{aRun, otherRun}, {aRun, ""}, {"", aRun}} {
		line, err := jsonfile.Line(runs[0], shoal{Fish: 1})
		require.NoError(t, err)
		line = line[:len(line)-1]
		require.NoError(t, jsonfile.DecodeLine(line, runs[0], &shoal{}))
		require.ErrorIs(t, jsonfile.DecodeLine(line, runs[1], &shoal{}), jsonfile.ErrForeign)
	}
	_, err := jsonfile.Line("a5", shoal{Fish: 1})
	require.ErrorContains(t, err, "32 digits")
}

// Every bit of a line that is turned, and every cut, is noticed.
func TestEveryBitOfALine(t *testing.T) {
	line, err := jsonfile.Line(aRun, shoal{3, []string{"pike"}, []float64{1.5}})
	require.NoError(t, err)
	line = line[:len(line)-1]
	for bit := range 8 * len(line) {
		bad := slices.Clone(line)
		bad[bit/8] ^= 1 << (bit % 8)
		require.ErrorIs(t, jsonfile.DecodeLine(bad, aRun, &shoal{}), jsonfile.ErrDamaged, "%q", bad)
	}
	for n := range line {
		require.ErrorIs(t, jsonfile.DecodeLine(line[:n], aRun, &shoal{}), jsonfile.ErrDamaged, "%q", line[:n])
	}
}

// A line that somebody wrote with its right checksum is still refused where it is
// not one object with the fields that are known.
func TestLinesOfOtherFields(t *testing.T) {
	for text, says := range map[string]string{
		`{"fish":1,"fins":2}`:   `the field "fins" is unknown`,
		`{"fish":1}{"fish":2}`:  "there is more after its end",
		`{"fish":1} {"fish":2}`: "there is more after its end",
		`{"fish":"1"}`:          `fish is text; it must be a whole number`,
		`{"fish":1`:             "does not end in its checksum",
		`[1]`:                   "does not end in its checksum",
	} {
		line := strings.TrimSuffix(seal.Of(text+"\n"), "\n")
		require.ErrorContains(t, jsonfile.DecodeLine([]byte(line), "", &shoal{}), says)
	}
}

func TestCutTruncated(t *testing.T) {
	for text, want := range map[string]struct {
		lines     string
		truncated int
	}{
		"":          {"", 0},
		"a":         {"", 1},
		"a\n":       {"a", 0},
		"a\nbc":     {"a", 2},
		"a\n\nbc\n": {"a||bc", 0},
	} {
		lines, truncated := jsonfile.CutTruncated([]byte(text))
		var list []string
		for _, l := range lines {
			list = append(list, string(l))
		}
		require.Equal(t, want.lines, strings.Join(list, "|"), "%q", text)
		require.Equal(t, want.truncated, truncated, "%q", text)
	}
}

// A line reads back as it was written, and not at all once a byte of it is another.
func TestEveryChangedByteIsDamage(t *testing.T) {
	line, err := jsonfile.Line(aRun, shoal{1, []string{"pike"}, []float64{1.5}})
	require.NoError(t, err)
	line = line[:len(line)-1]
	var got shoal
	require.NoError(t, jsonfile.DecodeLine(line, aRun, &got))
	for at := range line {
		for change := 1; change < 256; change++ {
			line[at] ^= byte(change)
			require.ErrorIs(t, jsonfile.DecodeLine(line, aRun, &got), jsonfile.ErrDamaged)
			line[at] ^= byte(change)
		}
	}
}
