package peers

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/envelope"
)

// endless repeats a text and counts what is read.
type endless struct {
	text string
	n    int64
}

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e.text[(e.n+int64(i))%int64(len(e.text))]
	}
	e.n += int64(len(p))
	return len(p), nil
}

// An input without an end is given up, whatever it repeats.
func TestEndlessInputs(t *testing.T) {
	small := bounds{bytes: 4 << 20, lines: 1000}
	for name, c := range map[string]struct {
		max        bounds
		text, says string
		most       int64 // bytes read
	}{
		"/dev/zero":  {whole, "\x00", "line 1 is longer than 1048576 bytes", 2 << 20},
		"one line":   {whole, "8 2 float sum -1 ", "line 1 is longer", 2 << 20},
		"long lines": {small, strings.Repeat("x", maxLine-2) + "\n", "more than 4194304 bytes", 5 << 20},
		"blank":      {small, "\n", "more than 1000 lines", 1 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			r := &endless{text: c.text}
			_, err := c.max.eachLine(r, newScan().line)
			require.ErrorIs(t, err, ErrTooLarge)
			require.ErrorContains(t, err, c.says)
			require.LessOrEqual(t, r.n, c.most)
		})
	}
	// Parse has bounds of its own.
	_, err := Parse(&endless{text: "\x00"}, Hints{File: "zero"})
	require.ErrorIs(t, err, ErrTooLarge)
	require.Equal(t, bounds{512 << 20, 1 << 23}, whole)
}

// So is one with more sizes or rows than any sweep.
func TestTooManyCases(t *testing.T) {
	require.Equal(t, 1<<18, newScan().most)
	build := func(most int) error {
		s := newScan()
		s.most = most
		_, err := whole.eachLine(strings.NewReader(manyRows(100, true)), s.line)
		require.NoError(t, err)
		_, err = s.build(Hints{})
		return err
	}
	require.NoError(t, build(200))
	err := build(199)
	require.ErrorIs(t, err, ErrTooLarge)
	require.ErrorContains(t, err, "more than 199 results at line 6")

	s := newScan()
	s.rows = maxRows
	require.NoError(t, s.line(line{no: 6, Line: envelope.Line{Text: "a line"}}))
	s.rows++
	require.ErrorContains(t, s.line(line{no: 7, Line: envelope.Line{Text: "a line"}}), "more than 1048576 rows at line 7")
}

// Many repeats of one case are one result, and many of its doubts one warning.
func TestManyRepeats(t *testing.T) {
	const rows = 20_000
	rec := parseText(t, manyRows(rows, false), Hints{})
	require.Len(t, rec.Results, 2)
	require.Equal(t, rows, rec.Results[0].Burst.MeanOfRanks.N)
	require.Equal(t, rows, rec.Source.Imports[0].Rows)
	require.Less(t, *rec.Results[0].Burst.MeanOfRanks.NEff, 20.0, "the times drift")
}

// A row is small.
func TestRowsAreSmall(t *testing.T) {
	var log bytes.Buffer
	log.WriteString(manyRows(2000, false))
	s := newScan()
	_, err := whole.eachLine(&log, s.line)
	require.NoError(t, err)
	rows := s.tests[0].rows
	require.Len(t, rows, 2000)
	require.LessOrEqual(t, int(reflect.TypeFor[row]().Size()), 176)
}

// A text of any length in the place of a name is refused with its place: what is imported can be
// read back.
func TestNamesThatAreTooLong(t *testing.T) {
	log := text(t, "algo_proto.log")
	long := strings.Repeat("n", 20_000)
	for old, says := range map[string]string{
		"AMD Instinct MI300X": "a.log: world.gpu has 20000 bytes; a name has at most 4096",
		"node-a":              "a.log: world.hosts[0] has 20000 bytes",
	} {
		_, err := Parse(strings.NewReader(strings.ReplaceAll(log, old, long)), Hints{File: "a.log"})
		require.ErrorContains(t, err, says)
		_, err = Parse(strings.NewReader(strings.ReplaceAll(log, old, long[:900])), Hints{File: "a.log"})
		require.NoError(t, err)
	}
}
