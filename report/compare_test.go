package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/compare"
	"zbench/bench/answers/gate"
	"zbench/bench/base/finding"
	"zbench/bench/base/stat"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
)

// comparedRuns makes three runs of six sizes, of which one takes so many times as long.
func comparedRuns(from int, times float64) []compare.Run {
	var out []compare.Run
	for run := range 3 {
		rec := &record.Record{Schema: record.Schema, Simulated: true, Source: record.Source{Kind: record.Simulated}}
		for i := range 6 {
			size := int64(1) << (16 + 2*i)
			seconds := (1e-5 + float64(size)/3e11) * (1 + 0.002*float64(((from+run)*7+i*3)%5-2))
			if i == 3 {
				seconds *= times
			}
			r := record.Result{
				Case: record.Case{Key: record.Key("all_reduce", "float", "sum", size, 8, 1, false), Status: record.OK}, Collective: "all_reduce", Dtype: "float", Op: "sum", Bytes: size, BytesRequested: size,
				Ranks: 8, Nodes: 1, Burst: &record.Timing{MeanOfRanks: stat.Summarize([]float64{seconds})},
			}
			r.SetHeadline(1.75)
			rec.Results = append(rec.Results, r)
		}
		out = append(out, compare.Run{Name: fmt.Sprintf("<run %d>", from+run), Record: rec})
	}
	return out
}

// Runs of other numbers of ranks, and runs that must not be compared, are drawn together all the same, by the names
// that were given or by those of their folders. The page says that no case is compared, and why.
func TestOverlayOfRunsThatAreNotCompared(t *testing.T) {
	base, fresh := comparedRuns(0, 1)[:1], comparedRuns(10, 1)[:1]
	base[0].Name, fresh[0].Name = "runs/small/", "runs/large"
	for i := range fresh[0].Record.Results {
		r := &fresh[0].Record.Results[i]
		r.Ranks, r.Nodes, r.Key = 16, 2, record.Key("all_reduce", "float", "sum", r.Bytes, 16, 2, false)
	}
	fresh[0].Record.World.Ranks, base[0].Record.World.Ranks = 16, 8
	c, err := compare.Compare(base, fresh, compare.Defaults())
	require.NoError(t, err)
	require.Equal(t, compare.NotChecked, c.Verdict)
	chart := chartsOf(c.Shown())[0]
	require.Equal(t, "small, 8 ranks", chart.Series[0].Name)
	require.Equal(t, "large, 16 ranks", chart.Series[1].Name)
	require.Len(t, chart.Series[1].Points, 6)
	page := writeHTML(t, c.Shown())
	require.Contains(t, page, "No case is compared: the two sides have none in common. They differ in ")
	require.Contains(t, page, "ranks: 8 and 16")

	fresh[0].Record.Simulated, fresh[0].Record.Source = false, record.Source{}
	o := compare.Defaults()
	o.Names = [2]string{"model", "cluster"}
	c, err = compare.Compare(base, fresh, o)
	require.ErrorContains(t, err, "differ in times")
	chart = chartsOf(c.Shown())[0]
	require.Equal(t, "model, 8 ranks", chart.Series[0].Name)
	require.Equal(t, "cluster, 16 ranks", chart.Series[1].Name)
	require.Equal(t, "SIMULATED", chart.Mark, "the half of it is")
	require.Contains(t, chart.Subtitle, "model: SIMULATED · cluster: measured")
	require.Contains(t, writeHTML(t, c.Shown()), "they are not compared")
}

// The page has the verdict first, both curves, the change by size with a table beside
// each, and the label of simulated times everywhere.
func TestComparisonPage(t *testing.T) {
	c, err := compare.Compare(comparedRuns(0, 1), comparedRuns(10, 1.2), compare.Defaults())
	require.NoError(t, err)
	d := c.Shown()
	charts := chartsOf(d)
	require.Len(t, charts, 2)
	require.Equal(t, document.Change, charts[0].Quantity)
	require.InDelta(t, 0.2, charts[0].Series[0].Points[3].Value, 0.02)
	require.Equal(t, document.BusBW, charts[1].Quantity)
	require.Len(t, charts[1].Series, 2)
	var page bytes.Buffer
	require.NoError(t, WriteHTML(&page, d))
	text := page.String()
	require.Less(t, strings.Index(text, "SLOWER: of 6 cases 1 slower"), strings.Index(text, "Change by size"))
	require.Contains(t, text, "&lt;run 10&gt;")
	for _, chart := range charts {
		require.Equal(t, "SIMULATED", chart.Mark)
		var b bytes.Buffer
		require.NoError(t, WriteSVG(&b, chart))
		require.Contains(t, b.String(), "SIMULATED")
		require.NotContains(t, b.String(), "NaN")
	}
	empty, err := compare.Compare([]compare.Run{{Name: "a", Record: &record.Record{}}}, []compare.Run{{Name: "b", Record: &record.Record{}}}, compare.Defaults())
	require.NoError(t, err)
	page.Reset()
	require.NoError(t, WriteHTML(&page, empty.Shown()))
	require.Contains(t, page.String(), "NOT CHECKED")
}

// An interval that is far wider than all changes is cut in the picture, and whole in what
// the point says.
func TestWideIntervalsAreClipped(t *testing.T) {
	c := document.Chart{Quantity: document.Change, Series: []document.Series{{Points: []document.Point{{Bytes: 1, Value: 0.05, Lo: -0.5, Hi: 2, Bounded: true}, {Bytes: 2, Value: 0.01, Lo: 0, Hi: 0.02, Bounded: true}}}}}
	c.Clip()
	p := c.Series[0].Points
	require.InDelta(t, -0.15, p[0].Lo, 1e-12)
	require.InDelta(t, 0.15, p[0].Hi, 1e-12)
	require.Equal(t, "+5 % [−50 %, +200 %]", p[0].Text(document.Change))
	require.Equal(t, 0.02, p[1].Hi)
	require.Empty(t, p[1].Words)
}

func TestGatesJoinTheVerdict(t *testing.T) {
	r := gate.NewReport(false, "", []gate.Check{{Check: finding.Check{Name: "a busbw>=1B/s", State: finding.Fail, Reason: "r"}}, {Check: finding.Check{Name: "b", State: finding.NotChecked, Reason: "r"}}, {Check: finding.Check{Name: "c", State: finding.Pass, Reason: "r"}}})
	var levels []finding.Severity
	for _, f := range r.Findings() {
		levels = append(levels, f.Severity)
	}
	require.Equal(t, []finding.Severity{finding.Fault, finding.Warning, finding.OK}, levels)
	d := &document.Document{}
	(*gate.Report)(nil).AddTo(d, false)
	require.Empty(t, d.Findings)
	r.AddTo(d, false)
	require.Len(t, d.Findings, 3)
	require.Equal(t, []document.Fact{{Term: "Thresholds", Text: "✗ FAIL"}}, d.Chips)
	r = nil
	require.Empty(t, r.Findings())
}
