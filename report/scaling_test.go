package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/judge"
	"zbench/bench/hardware/collective"
	"zbench/bench/results"
	"zbench/bench/run/curve"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
	"zbench/test/longtest"
	"zbench/test/recordtest"
)

// scaled is a sweep of one collective or three, alone on several numbers of nodes. The
// model's latency grows with the ranks, so that large worlds lose bandwidth at small sizes.
func scaled(kinds int, nodes ...int) *record.Record {
	rec := recordtest.Sweep(2)
	rec.Results = nil
	for _, c := range collective.All()[:kinds] {
		for _, n := range nodes {
			for i := range 24 {
				r := recordtest.OneCase(c, int64(1)<<(10+i), 8*n, 4, 360e9, i)
				if r.Bytes > 0 {
					t := r.Burst.MeanOfRanks.Median
					bw := *r.BusBW * t / (t + 20e-6*float64(n))
					r.BusBW = &bw
				}
				r.Nodes = n
				rec.Results = append(rec.Results, r)
			}
		}
	}
	return rec
}

// atOnce turns a world into groups that run at once.
func atOnce(rec *record.Record, ranks, groups, stride int) *record.Record {
	for _, r := range scaled(3, ranks/8+1).Results {
		r.Ranks, r.Groups, r.Stride = ranks, groups, stride
		rec.Results = append(rec.Results, r)
	}
	return rec
}

// The number of ranks is the axis, the best is 100 %, and what falls off is named at
// the size at which it does.
func TestScalingNamesWhatFallsOff(t *testing.T) {
	drawn, _ := curve.Drawn(curve.Of(scaled(1, 1, 2, 128)))
	all := curve.Scalings(drawn)
	require.Len(t, all, 1)
	require.Equal(t, []int64{8 << 30, 128 << 20}, all[0].Sizes)
	blocks := section(scaled(1, 1, 2, 128), "scaling")
	var lines []string
	for _, item := range blocks[0].(document.List).Items {
		lines = append(lines, item[0].Text)
	}

	require.NotEmpty(t, lines)
	last := lines[len(lines)-1]
	require.Contains(t, last, "At 128 MiB busbw falls off with the number of ranks: all_reduce reaches ")
	require.Contains(t, last, " on 1,024 ranks, ")
	table := sheets(blocks)[0]
	require.Len(t, table.Groups[0].Rows, 3)
	require.Equal(t, "8 ranks on 1 node", table.Groups[0].Rows[0].Cells[0])
	require.Equal(t, "100 %", table.Groups[0].Rows[1].Cells[4], "128 MiB is best on two nodes: times of one launch vary by 1 %")
	require.Contains(t, last, table.Groups[0].Rows[2].Cells[4])
	require.Empty(t, section(scaled(1, 128), "scaling"))
}

// A result at one world only is no common size; a world without any has no row.
func TestScalingComparesCommonSizes(t *testing.T) {
	rec := scaled(1, 1, 2)
	for i := range rec.Results {
		if r := &rec.Results[i]; r.Nodes == 2 && r.BytesRequested > 1<<20 {
			r.Status = record.Failed
		}
	}
	drawn, _ := curve.Drawn(curve.Of(rec))
	require.Equal(t, []int64{1 << 20, 16 << 10}, curve.Scalings(drawn)[0].Sizes)
	for i := range rec.Results {
		if rec.Results[i].Nodes == 2 {
			rec.Results[i].Status = record.Failed
		}
	}
	drawn, _ = curve.Drawn(curve.Of(rec))
	require.Empty(t, curve.Scalings(drawn))
}

// Above six series each collective has a chart of its own, as a file too, and every
// label has its number of ranks. What is long is folded.
func TestManySeriesAreSplitByCollective(t *testing.T) {
	rec := atOnce(atOnce(scaled(3, 1, 2, 4, 128), 2, 512, 0), 4, 256, 0)
	doc := results.Collectives(rec, results.Extras{Knees: knees()})
	var ids []string
	for _, c := range chartsOf(doc) {
		ids = append(ids, c.ID)
		require.LessOrEqual(t, len(c.Series), 8)
		if c.Quantity == document.Scale {
			continue
		}
		require.True(t, c.Short)
		for _, s := range c.Series {
			require.Contains(t, s.Name, "rank", c.ID)
		}
	}
	require.Contains(t, ids, "busbw-all_reduce")
	require.Contains(t, ids, "scaling-all_gather")
	require.NotContains(t, ids, "busbw")
	folded := map[string]bool{}
	for _, s := range doc.For(document.Page).Sections {
		folded[s.Name] = s.Folded
	}
	require.False(t, folded["charts"] || folded["scaling"])
	require.True(t, folded["times"] && folded["results"] && folded["method"] && folded["setup"])
	few := chartsOf(results.Collectives(recordtest.Sweep(24), results.Extras{}))
	require.Equal(t, "busbw", few[0].ID)
	require.Equal(t, "all_reduce, 1,024 ranks", few[0].Series[0].Name)
	for _, c := range chartsOf(doc) {
		for _, f := range []format{wide(), narrow(), alone()} {
			checkGeometry(t, layOut(c, f), c.ID)
		}
	}
}

// The verdict is the first text of the page, before the contents and any figure, and
// the contents lead to every section.
func TestVerdictComesFirst(t *testing.T) {
	longtest.OneGoroutine(t)
	rec := recordtest.Sweep(24)
	d := advised(t, rec, "megatron", 8e9)
	doc := results.Collectives(rec, results.Extras{Knees: knees(), Advice: d})
	page := writeHTML(t, doc)
	verdict, contents := strings.Index(page, `id="h-verdict"`), strings.Index(page, `<nav aria-label="Contents">`)
	require.Positive(t, verdict)
	require.Less(t, verdict, strings.Index(page, `class="banner`))
	require.Less(t, verdict, contents)
	require.Less(t, contents, strings.Index(page, "<figure"))
	box, _ := between(page, `<section class="verdict"`, "</section>")
	for _, want := range []string{"SIMULATED", "<dt>Bucket size</dt><dd>use ", "<dt>Confidence</dt><dd>low</dd>", "--ddp-bucket-size"} {
		require.Contains(t, box, want)
	}
	for _, l := range results.Verdict(rec, d) {
		require.Contains(t, box, escaped(l.Text)[:min(20, len(l.Text))])
	}
	for _, s := range doc.For(document.Page).Sections {
		require.Contains(t, page, `<a href="#h-`+s.Name+`">`)
	}
	require.NotContains(t, page, "What is still needed", "nothing is missing")
	require.Contains(t, pageOf(t, rec), "What is still needed")
	require.Contains(t, pageOf(t, rec), "no recommendation")
}

// Knees, the recommended messages and roofs are marked where bus bandwidth is drawn.
func TestBusBWHasItsMarks(t *testing.T) {
	rec := recordtest.Sweep(24)
	k := knees()
	k.Curves[0].Points[1].Fraction, k.Curves[0].Dtype, k.Curves[0].Op = document.KneeShare, "float", "sum"
	k.Curves[0].Nodes, k.Curves[0].GPUsPerProcess = 128, 1
	c := chartsOf(results.Collectives(rec, results.Extras{Knees: k, Advice: advised(t, rec, "megatron", 8e9)}))[0]
	require.NotNil(t, c.Series[0].Knee)
	require.Nil(t, c.Series[1].Knee)
	require.NotEmpty(t, c.Roofs)
	require.Equal(t, "recommended: 67 M elements", c.Band.Label, "as the verdict has it")
	require.Contains(t, strings.Join(c.Notes, " "), "above 90 % of its plateau. all_reduce, 1,024 ranks 1 GiB.")
	for _, f := range []format{wide(), narrow(), alone()} {
		checkGeometry(t, layOut(c, f), "busbw with marks")
	}
	require.Contains(t, svg(t, c), "recommended: ")
}

// Small messages have a chart with a logarithmic axis where the other shows nothing of them.
func TestSmallMessagesHaveAChart(t *testing.T) {
	rec := recordtest.Sweep(24)
	at := func(all []document.Chart) int {
		return slices.IndexFunc(all, func(c document.Chart) bool { return c.Quantity == document.SmallBW })
	}
	all := sizeCharts(rec)
	c := all[at(all)]
	require.Len(t, c.Series, len(all[0].Series), "in the same colours")
	_, hi := document.SizeRange(c)
	require.Equal(t, int64(1<<20), hi)
	a := valueAxis(c, 400, 13)
	require.True(t, a.log)
	first := c.Series[0].Points[0]
	require.Greater(t, a.norm(first.Value), 0.02, "the smallest lies in the plot")
	for _, f := range []format{wide(), narrow(), alone()} {
		checkGeometry(t, layOut(c, f), "small messages")
	}
	require.Contains(t, svg(t, c), ">10 MB/s<")

	few := recordtest.Sweep(24)
	few.Results = slices.DeleteFunc(few.Results, func(r record.Result) bool { return r.Bytes > 16<<20 })
	require.Negative(t, at(sizeCharts(few)), "they are seen in the one chart")
}

// The cost of a setting is on a linear axis from the best, and a curve that leaves the
// plot ends at its edge.
func TestSettingsArePercentOverBest(t *testing.T) {
	d := advised(t, recordtest.Sweep(24), "megatron", 8e9)
	c := adviceChart(d)
	a := valueAxis(c, 400, 13)
	require.False(t, a.log)
	require.Equal(t, "0 %", a.ticks[0].label)
	best := c.Series[0].Points[0].Value
	for _, p := range c.Series[0].Points {
		best = min(best, p.Value)
	}
	require.InDelta(t, 0, best, 1e-12)
	require.Contains(t, c.Series[1].Points[0].Words, "over the best")
	cut := below([]document.Point{{Bytes: 1, Value: 4}, {Bytes: 4, Value: 0}, {Bytes: 16, Value: 4}}, 2)
	require.Equal(t, []document.Point{{Bytes: 2, Value: 2}, {Bytes: 4}, {Bytes: 8, Value: 2}}, cut)
	require.Empty(t, below([]document.Point{{Bytes: 1, Value: 4}}, 2))
	s := layOut(c, wide())
	for _, l := range s.layers {
		for _, line := range l.lines {
			for _, p := range line.points {
				require.GreaterOrEqual(t, p.y, s.plot.top-1)
			}
		}
	}
}

// The verdict names what falls off, at the size at which it does; a collective that
// keeps its bandwidth does not "fall off".
func TestVerdictNamesWhatFallsOff(t *testing.T) {
	lines := judge.Record(scaled(3, 1, 2, 128)).Only(judge.CodeScale)
	require.Len(t, lines, 1)
	require.Regexp(t, `^Scaling: at 128 MiB \w+ reaches .* on 1,024 ranks, [0-9.]+ % of the .* ranks?\.$`, lines[0].Text)
	require.Empty(t, judge.Record(recordtest.Sweep(24)).Only(judge.CodeScale))
}
