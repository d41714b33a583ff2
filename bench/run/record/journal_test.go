package record

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/jsonfile"
	"zbench/bench/base/stat"
	"zbench/test/longtest"
	"zbench/test/schematest"
	"zbench/test/seal"
)

func TestJournalRoundTrip(t *testing.T) {
	j, err := ReadJournal(journalOf(t, begun(), parts()...))
	require.NoError(t, err)
	require.Equal(t, parts(), j.Parts)
	require.Zero(t, j.Truncated)
	require.Zero(t, j.Left())
	rec := j.Record()
	require.Equal(t, full().Warnings, rec.Warnings)
	require.Equal(t, []Status{OK, OK, Skipped}, []Status{rec.Results[0].Status, rec.Results[1].Status, rec.Results[2].Status})
	a := rec.Results[0]
	first, second := taken("a", 0), taken("a", 1)
	all := slices.Concat(first.Burst.Mean, second.Burst.Mean)
	require.Equal(t, stat.Summarize(all), a.Burst.MeanOfRanks)
	require.Equal(t, stat.Summarize(slices.Concat(first.Isolated.Spread, second.Isolated.Spread)), a.Isolated.Spread)
	require.Equal(t, []LateCount{{1, 9}}, a.Isolated.Late)
	require.Equal(t, 3, a.Isolated.Discarded)
	require.InDelta(t, 1e-6, *a.Isolated.EventFloor, 0)
	require.Equal(t, VerifiedOK, a.Verified.State, "the second pass verifies nothing and takes nothing back")
	require.InDelta(t, (1<<20)/stat.Quantile(all, 0.5), *a.AlgBW, 1e-9)
	codes := ""
	for _, w := range a.Warnings {
		codes += w.Code + " "
	}
	require.Contains(t, codes, "drift")
}

// A case with one pass of two is interrupted and has the rates of that pass; one that
// a pass ended is finished.
func TestUnfinishedAndEndedCases(t *testing.T) {
	wrong := Part{
		Key: "b", Pass: 0, Status: WrongData, Reason: "1 wrong elements",
		Verified: &Verified{State: VerifiedWrong, Wrong: new(int64(1)), Launches: 1},
	}
	j, err := ReadJournal(journalOf(t, begun(), taken("a", 0), wrong))
	require.NoError(t, err)
	require.Equal(t, 1, j.Left())
	require.Equal(t, []Part{wrong}, j.FinishedParts())
	rec := j.Record()
	a, b := rec.Results[0], rec.Results[1]
	require.Equal(t, Interrupted, a.Status)
	require.Equal(t, "stopped after 1 of 2 passes", a.Reason)
	require.Equal(t, 6, a.Burst.MeanOfRanks.N)
	require.InDelta(t, (1<<20)/stat.Quantile(taken("a", 0).Burst.Mean, 0.5), *a.BusBW, 1e-9)
	require.Empty(t, a.Warnings)
	require.Equal(t, WrongData, b.Status)
	require.Equal(t, VerifiedWrong, b.Verified.State)
	require.Equal(t, wrong.Reason, b.Reason)
}

// Cut at any byte, a journal reads as it did before its last line, or says that
// it holds nothing: no number that is not of the whole journal's prefix.
func TestTruncatedAnywhere(t *testing.T) {
	text := journalOf(t, begun(), parts()...)
	whole, expected := [][]byte{}, []*Record{}
	for n := range 5 {
		whole = append(whole, journalOf(t, begun(), parts()[:n]...))
		j, err := ReadJournal(whole[n])
		require.NoError(t, err)
		expected = append(expected, j.Record())
	}
	for n := range len(text) {
		j, err := ReadJournal(text[:n])
		if n < len(whole[0]) {
			require.ErrorIs(t, err, ErrNotRecord, n)
			require.ErrorContains(t, err, "line 1")
			continue
		}
		require.NoError(t, err, n)
		lines := bytes.Count(text[:n], []byte("\n")) - 1
		require.Equal(t, n-len(whole[lines]), j.Truncated)
		got := j.Record()
		require.Equal(t, expected[lines].Results, got.Results)
		truncated := slices.ContainsFunc(got.Warnings, func(w Warning) bool { return w.Code == "truncated" })
		require.Equal(t, j.Truncated > 0, truncated)
	}
}

// Every bit of a journal that is turned is noticed: the line is named, or the last
// one counts as truncated, which the record says.
func TestLongEveryBitOfAJournal(t *testing.T) {
	longtest.Only(t)
	for bit := range 8 {
		bitsOfAJournal(t, func(int) int { return bit })
	}
}

// Of each byte one bit, of its neighbours others.
func TestABitOfEveryByteOfAJournal(t *testing.T) {
	bitsOfAJournal(t, func(at int) int { return at * 3 % 8 })
}

// bitsOfAJournal turns a bit of every byte, which the place of the byte tells.
func bitsOfAJournal(t *testing.T, which func(at int) int) {
	good := journalOf(t, begun(), taken("a", 0), Part{Key: "b", Status: Failed, Reason: "link down"})
	for at := range good {
		bit := 8*at + which(at)
		bad := bytes.Clone(good)
		bad[bit/8] ^= 1 << (bit % 8)
		j, err := ReadJournal(bad)
		if bit/8 == len(good)-1 {
			require.NoError(t, err)
			require.Positive(t, j.Truncated)
			require.Equal(t, []Part{taken("a", 0)}, j.Parts)
			continue
		}
		var damage *jsonfile.LineError
		require.ErrorAs(t, err, &damage, "a bit of %q", bad[max(0, bit/8-20):bit/8+1])
		require.Equal(t, 1+bytes.Count(good[:bit/8], []byte("\n")), damage.Line)
	}
}

func TestDamagedJournalsSayWhere(t *testing.T) {
	good := string(journalOf(t, begun(), parts()...))
	two := taken("a", 0)
	two.Isolated.Late = []LateCount{{2, 1}}
	for name, x := range map[string]struct{ text, says string }{
		"empty":            {"", "line 1: not a zbench record: the file is empty: the sweep was killed before it started"},
		"another file":     {"{}\n", `line 1: unknown version of the record format: the file has ""`},
		"newer record":     {strings.Replace(good, "zbench.results/2", "zbench.results/3", 1), "zbench.results/3"},
		"no sweep":         {strings.Replace(good, `"sweep":{`, `"sweep":null,"x":{`, 1), "line 1: the field \"x\" is unknown"},
		"a case twice":     {strings.Replace(good, `"key":"b"`, `"key":"a"`, 1), "line 1: the case a is planned twice"},
		"a result before":  {strings.Replace(good, `"algbw":null`, `"algbw":1`, 1), "line 1: the planned case a already has a result"},
		"a timing before":  {strings.Replace(good, `"burst":null`, `"burst":{"iterations":1,"mean_of_ranks":null,"max_of_ranks":null,"spread":null,"algbw":null,"busbw":null}`, 1), "line 1: the planned case a already has a result"},
		"a line cut":       {strings.Replace(good, `"pass":0,`, "\n", 1), "line 2: the line is damaged"},
		"an empty line":    {strings.Replace(good, "\n", "\n\n", 1), "line 2: the line is damaged"},
		"zeros":            {strings.Replace(good, `{"key":"b","pass":0`, "\x00\x00", 1), "line 3: the line is damaged"},
		"unknown case":     {strings.Replace(good, `{"key":"b","pass":0`, `{"key":"c","pass":0`, 1), `line 3: the case "c" is not planned`},
		"skipped case":     {strings.Replace(good, `{"key":"b","pass":0`, `{"key":"s","pass":0`, 1), "line 3: s: a pass after the case was finished"},
		"a pass twice":     {strings.Replace(good, `{"key":"b","pass":1`, `{"key":"b","pass":0`, 1), "line 4: b: pass 0 instead of pass 1"},
		"a pass missing":   {strings.Replace(good, `{"key":"b","pass":0`, `{"key":"b","pass":1`, 1), "line 3: b: pass 1 instead of pass 0"},
		"interrupted":      {strings.Replace(good, `"status":"ok"`, `"status":"interrupted"`, 1), `line 2: a: a pass with status "interrupted"`},
		"no reason":        {strings.Replace(good, `"pass":0,"status":"ok"`, `"pass":0,"status":"failed"`, 1), "without a reason"},
		"no samples":       {strings.Replace(good, `"burst":{`, `"bursts":{`, 1), "line 2: the field \"bursts\" is unknown"},
		"simulated turned": {strings.Replace(good, `"simulated"`, `"simulatet"`, 1), "line 1: the field \"simulatet\" is unknown"},
		"not simulated":    {strings.Replace(good, `"simulated":false,`, "", 1), `line 1: the key "simulated" is missing`},
		"other source":     {strings.Replace(good, `"kind":"imported"`, `"kind":"simulated"`, 1), `line 1: "simulated" is false, but source.kind is "simulated"`},
		"other simulation": {strings.Replace(strings.Replace(good, `"kind":"imported"`, `"kind":"measured"`, 1), `"simulated":false`, `"simulated":true`, 1), `line 1: "simulated" is true, but source.kind is "measured"`},
		"ok but wrong":     {strings.Replace(good, `"verified":{"state":"ok","wrong":0`, `"verified":{"state":"ok","wrong":5`, 1), `line 2: a: pass 0: verified as "ok" with 5 wrong elements`},
		"wrong but ok":     {strings.Replace(good, `"verified":{"state":"ok","wrong":0`, `"verified":{"state":"wrong","wrong":5`, 1), `line 2: a: pass 0: verified as "wrong", and the status is "ok"`},
		"none wrong":       {strings.Replace(good, `"verified":{"state":"ok","wrong":0`, `"verified":{"state":"ok","wrong":-1`, 1), `line 2: a: pass 0: -1 wrong elements`},
		"unknown state":    {strings.Replace(good, `"verified":{"state":"ok","wrong":0`, `"verified":{"state":"on","wrong":0`, 1), `line 2: a: pass 0: verified as "on"`},
		"wrong unproven":   {strings.Replace(good, `"pass":0,"status":"ok"`, `"pass":0,"status":"wrong_data","reason":"r"`, 1), `line 2: a: pass 0: the status is "wrong_data", but no element is wrong`},
		"of another rank":  {strings.Replace(good, `{"rank":1,`, `{"rank":1,"node":2,`, 1), "line 2: the field \"node\" is unknown"},
		"damaged":          {strings.Replace(good, `"pass":1`, `"pass":5`, 1), "line 4: the line is damaged"},
		"a sample missing": {strings.Replace(good, `"mean":[98,`, `"mean":[`, 1), "line 2: a: pass 0: 5 bursts by their mean, 6"},
		"negative":         {strings.Replace(good, `"mean":[98,`, `"mean":[-98,`, 1), "sample 0 is -98 s"},
		"endless":          {strings.Replace(good, `"mean":[98,`, `"mean":[1e300,`, 1), "sample 0 is 1e+300 s"},
		"no launches":      {strings.Replace(good, `{"iterations":20`, `{"iterations":0`, 1), "bursts of 0 launches"},
		"a rank too many":  {string(journalOf(t, begun(), two)), "rank 2 of 2 late"},
		"late too often":   {strings.Replace(good, `"count":4`, `"count":7`, 1), "late 7 times"},
		"half a launch":    {strings.Replace(good, `"ranks":"`, `"ranks":"AAAA`, 1), "are not a whole number of intervals of 2 ranks"},
	} {
		t.Run(name, func(t *testing.T) {
			require.NotEqual(t, good, x.text)
			if name != "damaged" {
				x.text = seal.Of(x.text)
			}
			_, err := ReadJournal([]byte(x.text))
			require.ErrorContains(t, err, x.says)
		})
	}
}

// samples.f32 is float32 values, and the index says which.
func TestSamples(t *testing.T) {
	var values, index bytes.Buffer
	j, err := ReadJournal(journalOf(t, begun(), parts()...))
	require.NoError(t, err)
	require.NoError(t, WriteSamples(&values, &index, j.Record(), j.Parts))
	validateWith(t, SamplesSchemaJSON, index.String())
	var x SamplesIndex
	require.NoError(t, json.Unmarshal(index.Bytes(), &x))
	require.Len(t, x.Series, 2*Passes*5)
	at := 0
	for _, s := range x.Series {
		require.Equal(t, at, s.Offset, "series follow each other")
		at += s.Count
	}
	require.Equal(t, 4*at, values.Len())
	last := x.Series[len(x.Series)-1]
	require.Equal(t, SampleSeries{"b", 1, SeriesRanks, at - 12, 12, 2}, last)
	got := math.Float32frombits(binary.LittleEndian.Uint32(values.Bytes()[4*(last.Offset+3):]))
	require.InDelta(t, taken("b", 1).Burst.Mean[1]+2, float64(got), 1e-5, "rank 1 of launch 1")
	require.Equal(t, "a", x.Series[0].Key)
	require.ErrorContains(t, WriteSamples(brokenWriter{}, &index, &Record{}, nil), "disk full")
	require.ErrorContains(t, WriteSamples(&values, brokenWriter{}, &Record{}, nil), "disk full")
}

func validateWith(t *testing.T, schema []byte, texts ...string) {
	t.Helper()
	s := schematest.Compile(t, schema)
	for _, text := range texts {
		require.NoError(t, schematest.Fits(t, s, text))
	}
}

// Every line of a journal fits.
func TestJournalFitsTheSchema(t *testing.T) {
	h := begun()
	for i := range h.Record.Results {
		h.Record.Results[i].Verified.State = NotVerified
	}
	for line := range strings.Lines(string(journalOf(t, h, parts()...))) {
		validateWith(t, JournalSchemaJSON, line)
	}
}

// What an interrupted run has is told in counts that are not 0.
func TestUnfinished(t *testing.T) {
	for _, row := range []struct {
		ok, partly, all int
		head, counts    string
	}{
		{0, 0, 144, "interrupted before any case finished", ""},
		{0, 5, 144, "interrupted before any case finished", "5 of 144 cases have 1 of 2 passes"},
		{3, 5, 144, "interrupted", "3 of 144 cases finished, 5 more have 1 of 2 passes"},
		{3, 0, 144, "interrupted", "3 of 144 cases finished"},
	} {
		head, counts := Unfinished(row.ok, row.partly, row.all)
		require.Equal(t, []string{row.head, row.counts}, []string{head, counts})
	}
}
