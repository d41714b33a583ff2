package memory

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/record"
	"zbench/internal/schematest"
)

func TestRoundTrip(t *testing.T) {
	rec, err := Decode([]byte(encoded(t, full())))
	require.NoError(t, err)
	require.Equal(t, full(), rec)
}

// A journal alone is a record: what had ended is there, what had not is
// interrupted, a line that was cut off counts for nothing, and what the run
// would have found at its end is found.
func TestDecodeOfAJournalAlone(t *testing.T) {
	planned := full()
	planned.Warnings, planned.Results = []record.Warning{}, nil
	var done []Result
	for i := range 4 {
		seconds := 1e-3
		if i == 2 {
			seconds = 1.1e-3
		}
		done = append(done, timed("a", Fused, i, 1<<20, seconds))
		for _, key := range []string{"a", "b"} {
			planned.Results = append(planned.Results, Result{Key: key, Device: i, Kernel: "rmsnorm", Status: record.Interrupted, Warnings: []record.Warning{}})
		}
	}
	text := journal(t, planned, append(done, timed("chosen", Best, 0, 1<<20, 1))...)
	line, err := done[0].Line()
	require.NoError(t, err)
	rec, err := Decode(append(text, line[:len(line)-1]...))
	require.NoError(t, err)
	require.Len(t, rec.Results, 9)
	for i, r := range rec.Results[:8] {
		want := []record.Status{record.OK, record.Interrupted}[i%2]
		require.Equal(t, want, r.Status, "%s on %d", r.Key, r.Device)
	}
	require.Equal(t, "chosen", rec.Results[8].Key)
	require.Len(t, rec.Warnings, 2)
	require.Contains(t, rec.Warnings[0].Message, "GPU 2 gives")
	require.Equal(t, "torn", rec.Warnings[1].Code)

	// and everything that reads a record reads it
	again, err := Decode([]byte(encoded(t, rec)))
	require.NoError(t, err)
	require.Equal(t, rec, again)
	var csv bytes.Buffer
	require.NoError(t, WriteCSV(&csv, rec))
	require.Equal(t, 10, strings.Count(csv.String(), "\n"))
}

func TestDecodeSaysWhatIsWrong(t *testing.T) {
	good := encoded(t, full())
	for name, one := range map[string]struct{ text, message string }{
		"another file":    {"{}", "not a zbench memory record"},
		"another version": {strings.Replace(good, Schema, "zbench.memory/2", 1), `version "zbench.memory/2"`},
		"cut off":         {good[:len(good)/2], "unexpected EOF"},
		"more behind":     {good + "x", "2 bytes behind its end"},
		"negative size":   {strings.Replace(good, `"array": 4096`, `"array": -1`, 1), "result 0 (k) has a negative size"},
		"no status":       {strings.Replace(good, `"status": "wrong_data"`, `"status": ""`, 1), "no status"},
		"no times":        {strings.Replace(good, `"seconds": {`, `"seconds": null, "x": {`, 1), "a timing without times"},
		"bad line":        {string(journal(t, full())) + "{]\n", "journal: line 2: the line is damaged"},
		"an empty line":   {string(journal(t, full())) + "\n", "journal: line 2: the line is damaged"},
		"unknown field":   {schematest.Sealed(strings.Replace(string(journal(t, full())), `"created"`, `"creatid"`, 1)), `line 1: json: unknown field "creatid"`},
		"another journal": {schematest.Sealed(strings.Replace(string(journal(t, full())), Schema, "zbench.memory/2", 1)), `version "zbench.memory/2"`},
		"header cut off":  {string(journal(t, full()))[:300], "killed before it began"},
	} {
		_, err := Decode([]byte(one.text))
		require.ErrorContains(t, err, one.message, name)
	}
}

// Every bit of a journal that is turned is noticed: the line is named, or the last
// one counts as torn, which a warning says.
func TestEveryBitOfAJournal(t *testing.T) {
	rec := full()
	good := journal(t, rec, rec.Results[0])
	torn := journal(t, rec)
	without, err := Decode(torn)
	require.NoError(t, err)
	for bit := range 8 * len(good) {
		bad := bytes.Clone(good)
		bad[bit/8] ^= 1 << (bit % 8)
		got, err := Decode(bad)
		if err != nil {
			continue
		}
		require.Equal(t, len(good)-1, bit/8, "a bit of %q", bad[max(0, bit/8-20):bit/8+1])
		require.Equal(t, "torn", got.Warnings[len(got.Warnings)-1].Code)
		got.Warnings = got.Warnings[:len(got.Warnings)-1]
		require.Equal(t, encoded(t, without), encoded(t, got))
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestBrokenFiles(t *testing.T) {
	require.ErrorContains(t, Encode(brokenWriter{}, full()), "disk full")
	require.ErrorContains(t, WriteCSV(brokenWriter{}, full()), "disk full")
}

// Whatever the bytes are, Decode ends with an error or with a record that every
// reader can take, and that encodes to one that decodes to the same.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(encoded(f, full())))
	rec := full()
	f.Add(journal(f, rec, rec.Results[0], timed("x", Fused, 0, 1<<20, 1e-3)))
	f.Add([]byte(`{"schema":"zbench.memory/1","results":[{"status":"ok","timing":{}}]}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if bytes.HasPrefix(text, []byte(`{"`)) { // else no change gets behind the checksums
			text = []byte(schematest.Sealed(string(text)))
		}
		rec, err := Decode(text)
		if err != nil {
			return
		}
		rec.Ratios()
		rec.Outliers()
		require.NoError(t, WriteCSV(&bytes.Buffer{}, rec))
		once := encoded(t, rec)
		again, err := Decode([]byte(once))
		require.NoError(t, err)
		require.Equal(t, once, encoded(t, again))
	})
}
