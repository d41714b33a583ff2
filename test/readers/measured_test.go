package readers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/fleet/rails"
	"zbench/bench/files/formats"
	"zbench/bench/files/peers"
	"zbench/bench/files/trace"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/test/mutate"
	"zbench/test/rendertest"
)

// measured are readers of what others have measured: their rows are figures.
var measured = []reader{
	{name: "peers", files: []string{"testdata/all_reduce.log", "testdata/logs/*.log"}, read: readLog, rows: regexp.MustCompile(`^\s*\d+\s+\d+\s+\w+ .*\d|^\d.*,.*\d`)},
	{name: "curves", read: readCurves, rows: regexp.MustCompile(`^\s*\d+\s+\d+\s+\w+ .*\d|^\d.*,.*\d|"size"`)},
	{name: "matrix", read: readMatrix, rows: regexp.MustCompile(`\d`)},
	{name: "times", read: readTimes, rows: regexp.MustCompile(`^\d`), figure: regexp.MustCompile(`,(\d+(?:\.\d+)?)(?:,|$)`)},
	{name: "profile", read: readProfile, rows: regexp.MustCompile(`\d`), blind: map[mutate.Wound]string{
		mutate.Longer: "a source may have commas", mutate.Mixed: "a source is any text",
	}},
	{name: "leaves", read: readLeaves, rows: regexp.MustCompile(`\d[,;]`)},
	{name: "observed", read: readObserved, rows: regexp.MustCompile(`^\d`), figure: regexp.MustCompile(`,(\d+(?:\.\d+)?)`)},
	{name: "trace", files: []string{"testdata/flight/skip/nccl_trace_rank_1"}, read: readTrace, rows: regexp.MustCompile(`\d`), figure: jsonFigure, blind: inText},
	{name: "coll-log", read: readTrace, rows: regexp.MustCompile(`opCount`), figure: jsonFigure, blind: map[mutate.Wound]string{
		mutate.Shorter: "a log has other lines, of which any may be cut", mutate.Mixed: "a name may be any text", mutate.Glued: "a line ends where its last number does",
	}},
	{name: "operators", read: readOperators, rows: regexp.MustCompile(`\d`), figure: jsonFigure, blind: inText},
}

// jsonFigure is a figure of a trace: a time, a number of elements or bytes, a side of a shape.
var jsonFigure = regexp.MustCompile(`(?:"(?:dur|coll_msg_size_bytes|coll_exec_time_us|n_ranks|world_size|rank)": ?|count )(\d+(?:\.\d+)?)`)

// inText are wounds of JSON that cannot be told: another text in a name is a name.
var inText = map[mutate.Wound]string{mutate.Mixed: "a name may be any text"}

// known requires that an error is one of those that a reader promises.
func known(t *testing.T, err error, all ...error) *reading {
	t.Helper()
	require.True(t, slices.ContainsFunc(all, func(k error) bool { return errorIs(err, k) }), "an error of no known kind: %v", err)
	return nil
}

func readLog(t *testing.T, text string) *reading {
	p := parts(text, 3)
	ranks, _ := strconv.Atoi(p[2])
	rec, err := peers.Parse(strings.NewReader(p[0]), peers.Hints{File: p[1], Ranks: ranks % 64})
	if err != nil {
		return known(t, err, peers.ErrNoTable, peers.ErrFormat, peers.ErrNoRows, peers.ErrCollective, peers.ErrTooLarge)
	}
	checkAccounts(t, rec, p[0])
	checkNumbers(t, rec, p[0])
	return readingOf(t, rec)
}

func readCurves(t *testing.T, text string) *reading {
	recs, left, err := formats.Curves("f", strings.NewReader(text), peers.Hints{Ranks: 8})
	if err != nil {
		require.Empty(t, recs)
		return nil
	}
	require.Empty(t, left)
	for _, rec := range recs {
		require.NoError(t, rec.CheckNames())
		require.Equal(t, record.Imported, rec.Source.Kind)
		require.NotEmpty(t, rec.Results)
	}
	return readingOf(t, recs...)
}

// readingOf are the figures of records, and what they say is missing or doubtful.
func readingOf(t *testing.T, recs ...*record.Record) *reading {
	t.Helper()
	got := &reading{}
	var figures []any
	for _, rec := range recs {
		_, err := json.Marshal(rec)
		require.NoError(t, err)
		for _, imp := range rec.Source.Imports {
			for _, s := range imp.Skipped {
				got.named = append(got.named, fmt.Sprintf("%s: %d, lines %v", s.Reason, s.Count, s.Lines))
			}
			if imp.Truncated {
				got.named = append(got.named, "truncated")
			}
		}
		for _, w := range rec.Warnings {
			got.named = append(got.named, w.Code+" "+w.Message)
		}
		for _, r := range rec.Results {
			for _, w := range r.Warnings {
				got.named = append(got.named, r.Key+" "+w.Code)
			}
			if r.Verified.State != record.VerifiedOK {
				got.named = append(got.named, fmt.Sprint(r.Key, " ", r.Verified.State, " ", r.Verified.Reason))
			}
			figures = append(figures, r.Key, r.Ranks, r.Bytes, r.Burst, r.AlgBW, r.BusBW, r.Verified)
		}
	}
	got.figures = figures
	return got
}

func readMatrix(t *testing.T, text string) *reading {
	m, notes, err := rails.ReadMatrix(strings.NewReader(text))
	if err != nil {
		return known(t, err, rails.ErrFormat)
	}
	for _, v := range m.Values {
		require.Positive(t, v.Rate)
		require.NotEqual(t, v.From, v.To)
	}
	d := rails.OfVerdict(rails.OfMatrix, "f", m, rails.Judge(m.Data()), notes)
	require.NoError(t, d.WriteJSON(&bytes.Buffer{}))
	rendertest.Text(t, d.Shown("v1"), 80, true)
	return &reading{m, notes}
}

func readTimes(t *testing.T, text string) *reading {
	got, err := rails.ReadTimes(strings.NewReader(text))
	if err != nil {
		return known(t, err, rails.ErrFormat)
	}
	figures := facts(t, got)
	got.Place(8)
	d := rails.OfLateness("f", got, rails.Arrivals(got.Calls, got.Node))
	require.NoError(t, d.WriteJSON(&bytes.Buffer{}))
	rendertest.Text(t, d.Shown("v1"), 80, true)
	return &reading{figures: figures}
}

func readProfile(t *testing.T, text string) *reading {
	p, err := rails.ReadProfile(strings.NewReader(text), 1<<26)
	if err != nil {
		return known(t, err, rails.ErrFormat)
	}
	require.True(t, p.Network > 0 || p.XGMI > 0)
	require.True(t, p.Network >= 0 && p.XGMI >= 0)
	require.NotEmpty(t, p.Source)
	return &reading{figures: p}
}

func readLeaves(t *testing.T, text string) *reading {
	names, err := rails.ReadLeaves(strings.NewReader(text), []string{"n0", "n1", "n2"}, 2)
	numbers := (&rails.Survey{Leaves: names}).NumberedLeaves()
	if err != nil {
		return known(t, err, rails.ErrFormat)
	}
	require.Len(t, names, 2)
	require.Len(t, numbers, 2)
	for rail := range names {
		for node, leaf := range names[rail] {
			require.Equal(t, leaf == "", numbers[rail][node] < 0)
			for other, same := range names[rail] {
				require.Equal(t, leaf == same, numbers[rail][node] == numbers[rail][other])
			}
		}
	}
	return &reading{figures: names}
}

// readObserved reads a table, and behind the separator a list as on the command line.
func readObserved(t *testing.T, text string) *reading {
	p := parts(text, 2)
	check := func(o *spec.Observed) {
		require.NotEmpty(t, o.Settings)
		for _, s := range o.Settings {
			require.NotEmpty(t, s.Setting)
			require.NotEmpty(t, s.Seconds)
			for _, x := range s.Seconds {
				require.True(t, x > 0 && x <= 24*3600, "%g s", x)
			}
		}
	}
	none := func(string) (string, []float64, error) { return "", nil, errNone }
	if o, err := spec.ParseObserved(p[1], none); err == nil {
		check(o)
	}
	o, err := spec.ReadObserved("steps.csv", strings.NewReader(p[0]))
	if err != nil {
		return nil
	}
	check(o)
	return &reading{figures: o}
}

func readTrace(t *testing.T, text string) *reading {
	got, err := formats.Read("rank_0", strings.NewReader(text))
	if err != nil {
		return nil
	}
	for _, g := range got.Groups {
		require.LessOrEqual(t, len(g.Name), 210)
	}
	named := slices.Clone(got.Notes)
	for _, r := range got.Ranks {
		for _, c := range r.Calls {
			require.LessOrEqual(t, len(c.Collective), 210)
			require.GreaterOrEqual(t, c.Bytes, int64(trace.Unknown))
			require.Less(t, c.Group, len(got.Groups))
		}
		named = append(named, fmt.Sprintf("%d damaged", r.Damaged), fmt.Sprintf("%d unnamed", r.Unnamed))
	}
	for _, s := range got.Signs {
		named = append(named, s.Code)
	}
	d := trace.Answer(got, func(_ string, bytes int64, _ int) (float64, string) { return float64(bytes) / 1e9, "x" })
	var answer bytes.Buffer
	require.NoError(t, d.WriteJSON(&answer))
	d.Shown()
	if j := got.Job(); j != nil {
		require.True(t, j.Ready == nil || len(j.Ready) == len(j.Elements))
		require.NotContains(t, j.Ready, 0.0)
	}
	return &reading{answer.String(), named}
}

func readOperators(t *testing.T, text string) *reading {
	got, err := formats.ReadOperators("f", strings.NewReader(text))
	if err != nil {
		return nil
	}
	require.NotEmpty(t, got.Seconds)
	require.LessOrEqual(t, got.Known, got.Computing*(1+1e-9))
	for _, seconds := range got.Seconds {
		require.Positive(t, seconds)
	}
	return &reading{got, []string{fmt.Sprintf("%d damaged", got.Damaged)}}
}
