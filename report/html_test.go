package report

import (
	"encoding/json"
	"html"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/recommend"
	"zbench/bench/results"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
	"zbench/test/recordtest"
)

// knees are what a sweep of this package's fixture might have.
func knees() *recommend.Knees {
	return &recommend.Knees{
		Curves: []recommend.KneeCurve{
			{CurveKey: record.CurveKey{Collective: "all_reduce", Ranks: 1024}, PlateauBusBW: 347e9, Saturated: true, Points: []recommend.KneePoint{
				{Fraction: .5, Bytes: 256 << 20, Elements: 64 << 20, PerRankBytes: 256 << 10, BusBW: 173e9},
				{Fraction: .8, Bytes: 1 << 30, Elements: 256 << 20, PerRankBytes: 1 << 20, BusBW: 277e9, AtSmallestSize: true},
			}},
			{CurveKey: record.CurveKey{Collective: "reduce_scatter", Ranks: 1024}, Reason: "no size ended ok"},
		},
		Needs:    []recommend.Need{{What: "the time of a backward pass", How: "--backward-ms MS"}},
		Warnings: []record.Warning{{Code: "not_saturated", Message: "The curve still grows", Hint: "raise -e"}},
	}
}

func TestPageIsSelfContained(t *testing.T) {
	page := pageOf(t, recordtest.Sweep(24))
	require.Less(t, len(page), 500<<10)
	ids := map[string]bool{}
	for _, e := range elements(t, page) {
		require.NotContains(t, e.attr, "src", e.name)
		require.NotContains(t, e.attr, "style", "%s: the policy has no inline styles", e.name)
		if href, ok := e.attr["href"]; ok {
			require.True(t, strings.HasPrefix(href, "#"), "%s leads out of the page", href)
		}
		if id := e.attr["id"]; id != "" {
			require.False(t, ids[id], "two elements have the id %s", id)
			ids[id] = true
		}
	}
	for _, e := range elements(t, page) {
		for id := range strings.FieldsSeq(e.attr["aria-labelledby"]) {
			require.True(t, ids[id], "aria-labelledby names %s, which is not there", id)
		}
	}
}

func TestPolicyNamesWhatIsInside(t *testing.T) {
	page := pageOf(t, recordtest.Sweep(3))
	style, _ := between(page, "<style>", "</style>")
	script, _ := between(page, "<script>", "</script>")
	require.LessOrEqual(t, len(script), 20<<10)
	policy, _ := between(page, `http-equiv="Content-Security-Policy" content="`, `"`)
	policy = html.UnescapeString(policy)
	require.True(t, strings.HasPrefix(policy, "default-src 'none';"))
	require.Contains(t, policy, "style-src "+hashOf(style))
	require.Contains(t, policy, "script-src "+hashOf(script))
}

func TestChartsAreDescribed(t *testing.T) {
	n, small := 0, 0
	for _, e := range elements(t, pageOf(t, recordtest.Sweep(24))) {
		if e.name != "svg" || e.attr["role"] != "img" {
			continue
		}
		require.Contains(t, e.text, "SIMULATED")
		if e.attr["class"] == "chart small" {
			small++
			continue
		}
		n++
		require.Regexp(t, "3 curves from 1 KiB to (8 GiB|1 MiB)", e.text, "the description")
	}
	require.Equal(t, 8, n, "four charts in two widths")
	require.Equal(t, 3, small, "one for each collective")
}

func TestEmbeddedDataIsJSON(t *testing.T) {
	data, _ := between(pageOf(t, recordtest.Sweep(24)), `<script type="application/json" id="data">`, "</script>")
	var got []plotData
	require.NoError(t, json.Unmarshal([]byte(data), &got))
	require.Len(t, got, 7)
	require.Len(t, got[0].Series[0].Points, 24)
	require.Len(t, got[0].Series[1].Points, 20, "skipped cases are no points")
}

func TestNothingVanishes(t *testing.T) {
	rec := recordtest.Sweep(6)
	for i, s := range []record.Status{record.Failed, record.Interrupted, record.WrongData, record.Skipped, "strange"} {
		rec.Results[i].Status, rec.Results[i].Reason = s, "reason "+string(s)
	}
	page, text := pageOf(t, rec), tableText(t, rec)
	for _, want := range []string{"reason failed", "reason interrupted", "reason wrong_data", "reason skipped", "reason strange"} {
		require.Contains(t, page, want)
		require.Contains(t, text, want)
	}
	for _, want := range []string{"INTERRUPTED", "WRONG DATA", "FAILED"} {
		require.Contains(t, page, want)
	}
	shown := 0
	for b := range results.Collectives(rec, results.Extras{}).For(document.Page).Blocks() {
		if s, ok := b.(document.Sheet); ok && s.Columns[0].Name != "setting" {
			for _, g := range s.Groups {
				shown += len(g.Rows)
			}
		}
	}
	require.Equal(t, len(rec.Results), shown)
	require.Len(t, sizeCharts(rec)[0].Series[0].Points, 1, "only what ended ok is drawn")
}

func TestImported(t *testing.T) {
	rec := imported()
	for name, text := range map[string]string{
		"page": pageOf(t, rec), "table": tableText(t, rec), "markdown": markdownText(t, rec), "svg": svg(t, sizeCharts(rec)[0]),
	} {
		require.Contains(t, text, "imported from slurm-1.log", name)
		require.NotContains(t, text, "SIMULATED", name)
	}
	page := pageOf(t, rec)
	require.Contains(t, page, "2 × not a number (line 7, 9)")
	require.Contains(t, page, "TRUNCATED")
	require.NotContains(t, page, "order statistics", "an imported row is one sample")
}

func imported() *record.Record {
	rec := recordtest.Sweep(8)
	average := 5e9
	rec.Simulated, rec.Fabric, rec.Spec, rec.Warnings = false, nil, nil, nil
	rec.Source = record.Source{Kind: record.Imported, Imports: []record.Import{{
		File: "slurm-1.log", SHA256: strings.Repeat("ab", 32), Tool: "rccl-tests", Lines: 40, Rows: 24, Truncated: true,
		Skipped: []record.Skip{{Reason: "not a number", Count: 2, Lines: []int{7, 9}}}, ReportedAverage: &average,
	}}}
	for i := range rec.Results {
		rec.Results[i].Extrapolated = false
		rec.Results[i].Isolated = nil
	}
	return rec
}

// hostile is markup in every way a string could be read as some.
const hostile = "<script>alert(1)</script>\"'`&|\x1b[31m{{.}}\n]]>-->"

func TestEscaping(t *testing.T) {
	rec := recordtest.Sweep(2)
	rec.Source.Libraries = make([]record.Library, 1)
	rec.Source.Imports = []record.Import{{Skipped: make([]record.Skip, 1)}}
	rec.World.Hosts = make([]string, 1)
	rec.Results[0].Warnings = make([]record.Warning, 1)
	poison(reflect.ValueOf(rec).Elem())
	b := knees()
	poison(reflect.ValueOf(b).Elem())
	rec.Results[0].Status = record.OK
	rec.Results[1].Verified = record.Verified{State: record.VerifiedWrong}
	page := writeHTML(t, results.Collectives(rec, results.Extras{Knees: b, Command: hostile}))
	require.Contains(t, page, "alert(1)", "the strings are shown")
	require.NotContains(t, page, "<script>alert")
	require.Equal(t, 2, strings.Count(page, "<script"))
	for _, e := range elements(t, page) {
		require.NotContains(t, e.attr, "onerror")
	}
	for _, c := range sizeCharts(rec) {
		elements(t, svg(t, c))
	}
	require.NotContains(t, markdownText(t, rec), "<script")
	require.NotContains(t, tableText(t, rec), "\x1b")
}

// poison writes the hostile string into every string that can be reached.
func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(hostile)
	case reflect.Pointer:
		if !v.IsNil() {
			poison(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i))
		}
	case reflect.Struct:
		if _, isTime := reflect.TypeAssert[time.Time](v); isTime {
			return
		}
		for _, field := range v.Fields() {
			poison(field)
		}
	default: // numbers hold no markup
	}
}
