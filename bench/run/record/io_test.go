package record

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func encoded(t testing.TB, rec *Record) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, rec.WriteJSON(&b))
	return b.String()
}

func TestRoundTrip(t *testing.T) {
	text := encoded(t, full())
	back, err := Decode(strings.NewReader(text))
	require.NoError(t, err)
	require.Equal(t, text, encoded(t, back))
	want := full()
	want.Results[1].Warnings = []Warning{}
	require.Equal(t, want, back)
	require.True(t, strings.HasSuffix(text, "\n}\n"))
	require.Contains(t, text, "<of ranks>", "no HTML escapes")
}

// Lists are never null, the caller's record is left as it was, and the time of
// creation is in UTC wherever it was made.
func TestEncodeIsNormal(t *testing.T) {
	rec := bare()
	rec.Created = time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	text := encoded(t, rec)
	require.Contains(t, text, `"2026-01-02T02:04:05Z"`)
	for _, list := range []string{"results", "warnings", "skipped", "roofs", "extrapolated", "sources", "collectives"} {
		require.NotContains(t, text, `"`+list+`": null`)
	}
	require.Nil(t, rec.Results[0].Warnings)
	require.Nil(t, rec.Source.Imports[0].Skipped)
	require.Nil(t, rec.Fabric.Roofs)
	require.Nil(t, rec.Spec.Sweep.Collectives)
}

func TestNaNIsRefused(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		rec := full()
		rec.Results[0].BusBW = &v
		var b bytes.Buffer
		require.ErrorContains(t, rec.WriteJSON(&b), "unsupported value")
		require.Zero(t, b.Len(), "nothing is written before the error is known")
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("stale handle") }

func TestBrokenFiles(t *testing.T) {
	require.ErrorContains(t, full().WriteJSON(brokenWriter{}), "disk full")
	require.ErrorContains(t, writeCSV(brokenWriter{}, full()), "disk full")
	_, err := Decode(brokenReader{})
	require.ErrorContains(t, err, "stale handle")
}

// zeros is a file without end.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func TestDecodeErrorsSayWhatIsWrong(t *testing.T) {
	good := encoded(t, full())
	before, _, _ := strings.Cut(good, `"bytes": 1048576`)
	where := fmt.Sprintf("line %d: json: cannot unmarshal", strings.Count(before, "\n")+1)
	for name, x := range map[string]struct {
		text, says string
		is         error
	}{
		"empty":         {" \n", "the file is empty", ErrNotRecord},
		"a log":         {"# nThread 1 nGpus 1\n", "line 1: invalid character", ErrNotRecord},
		"truncated":     {good[:len(good)/2], "the file ends in the middle", ErrNotRecord},
		"two records":   {good + good, "after top-level value", ErrNotRecord},
		"another file":  {`{"schema_version": 3}`, `without a "schema" field`, ErrNotRecord},
		"a list":        {`[1]`, "cannot unmarshal array", ErrNotRecord},
		"newer":         {`{"schema":"zbench.results/3"}`, `the file has "zbench.results/3", this zbench reads "zbench.results/2"`, ErrVersion},
		"knees.json":    {`{"schema":"zbench.knees/1"}`, `the file has "zbench.knees/1"`, ErrVersion},
		"wrong type":    {strings.Replace(good, `"bytes": 1048576`, `"bytes": "1M"`, 1), "results.bytes of type int64", nil},
		"too large":     {strings.Replace(good, `"bytes": 1048576`, `"bytes": 1e30`, 1), where, nil},
		"infinite":      {strings.Replace(good, `"busbw": 4`, `"busbw": 1e999, "x": 4`, 1), "1e999", nil},
		"wrong status":  {strings.Replace(good, `"status": "ok"`, `"status": "fine"`, 1), `status "fine": valid are ["ok"`, nil},
		"no status":     {`{"schema":"zbench.results/2","results":[{"key":"k"}]}`, `results[0] (k): status ""`, nil},
		"negative size": {strings.Replace(good, `"bytes": 1048576`, `"bytes": -1`, 1), "a negative size", nil},
		"negative rank": {strings.Replace(good, `"ranks": 16,`+"\n"+`      "nodes"`, `"ranks": -16,`+"\n"+`      "nodes"`, 1), "a negative world", nil},
		"negative rate": {strings.Replace(good, `"algbw": `, `"algbw": -`, 1), "algbw is negative", nil},
		"no samples":    {strings.Replace(good, `"n": 120`, `"n": 0`, 1), "burst: invalid summary of times", nil},
		"disorder":      {strings.Replace(good, `"n": 1,`+"\n"+`          "n_eff": null,`+"\n"+`          "median": `, `"n": 1, "n_eff": null, "median": 9`, 1), "isolated: invalid summary", nil},
		"below least":   {strings.Replace(good, `"median": `, `"median": 1e-9, "x": `, 1), "burst: invalid summary", nil},
		"bad date":      {strings.Replace(good, "2026-11-20T", "20 Nov ", 1), "parsing time", nil},
		"year":          {`{"schema":"zbench.results/2","created":"9999-12-31T23:59:59-23:00"}`, "created: year 10000", nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode(strings.NewReader(x.text))
			require.ErrorContains(t, err, x.says)
			if x.is != nil {
				require.ErrorIs(t, err, x.is)
			}
		})
	}
}

func TestEndlessFileIsRefused(t *testing.T) {
	_, err := decode(zeros{}, 3<<20)
	require.ErrorIs(t, err, ErrNotRecord)
	require.ErrorContains(t, err, "larger than 3 MiB")
	good := encoded(t, full())
	_, err = decode(strings.NewReader(good), int64(len(good)))
	require.NoError(t, err)
	_, err = decode(strings.NewReader(good), int64(len(good))-1)
	require.Error(t, err)
}

// The format may grow within a version; a reader of today takes such a file.
func TestUnknownFieldsAreTolerated(t *testing.T) {
	text := encoded(t, full())
	more := strings.Replace(text, `"simulated":`, `"later": {"deep": [1, {"x": null}]}, "simulated":`, 1)
	require.NotEqual(t, text, more)
	more, _, _ = strings.Cut(more, ",\n  \"sha256\"") // a later version would have the checksum of its own
	back, err := Decode(strings.NewReader(more + "\n}\n"))
	require.NoError(t, err)
	rec := full()
	rec.Judgement = nil // nobody knows without the checksum whether the findings fit
	require.Equal(t, encoded(t, rec), encoded(t, back))
}

// Deep nesting ends in an error, not in an exhausted stack.
func TestDeepNesting(t *testing.T) {
	_, err := Decode(strings.NewReader(strings.Repeat(`{"a":`, 1<<20)))
	require.ErrorContains(t, err, "depth")
}
