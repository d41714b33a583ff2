package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/unit"
	"zbench/bench/run/curve"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
	"zbench/test/recordtest"
)

// names are a chart's series, without their number of ranks.
func names(c document.Chart) []string {
	var out []string
	for _, s := range c.Series {
		out = append(out, strings.TrimSuffix(s.Name, ", 1,024 ranks"))
	}
	return out
}

func TestInPlaceIsDrawnOnlyWhereItDiffers(t *testing.T) {
	alone := []string{"all_reduce", "reduce_scatter", "all_gather"}
	for times, want := range map[float64]int{1: 3, 1.04: 3, 0.96: 3, 1.06: 6, 0.9: 6} {
		rec := recordtest.BothPlaces(12, times)
		for _, c := range sizeCharts(rec) {
			require.Len(t, c.Series, want, "%g times, %s", times, c.ID)
			left := slices.ContainsFunc(c.Notes, func(n string) bool { return strings.Contains(n, "In-place results are not drawn") })
			require.Equal(t, want == 3, left, "the note says what was left out")
		}
		if want == 3 {
			require.Equal(t, alone, names(sizeCharts(rec)[0]))
			require.Contains(t, sizeCharts(rec)[0].Subtitle, "out of place")
		}
		rows := 0
		for _, g := range sheets(section(rec, "results"))[0].Groups {
			rows += len(g.Rows)
		}
		require.Equal(t, endedOK(recordtest.BothPlaces(12, times)), rows, "the table has all")
	}
}

func TestOneCaseThatDiffersIsDrawn(t *testing.T) {
	rec := recordtest.BothPlaces(12, 1)
	for i := range rec.Results {
		if r := &rec.Results[i]; r.InPlace && r.Collective == "all_gather" && r.BytesRequested == 1<<20 {
			r.Isolated.MaxOfRanks.Median *= 1.2
		}
	}
	c := sizeCharts(rec)[0]
	require.Equal(t, []string{"all_reduce", "reduce_scatter", "all_gather out of place", "all_gather in place"}, names(c))
	require.Contains(t, strings.Join(c.Notes, " "), "In-place curves are drawn only where they differ from those out of place by more than 5 %")
}

func TestInPlaceWithoutItsCounterpartIsDrawn(t *testing.T) {
	rec := recordtest.BothPlaces(6, 1)
	rec.Results[2].Status = record.Failed
	require.Contains(t, names(sizeCharts(rec)[0]), "all_reduce in place")
	var only []record.Result
	for _, r := range rec.Results {
		if r.InPlace {
			only = append(only, r)
		}
	}
	rec.Results = only
	c := sizeCharts(rec)[0]
	require.Equal(t, []string{"all_reduce", "reduce_scatter", "all_gather"}, names(c))
	require.Contains(t, c.Subtitle, "in place")
	require.NotContains(t, tableText(t, rec), "── out of place")
}

func TestBothPlacesAreOneLine(t *testing.T) {
	rec := recordtest.BothPlaces(6, 1.5)
	rec.Results[5].Warnings = []record.Warning{{Code: "skew"}}
	text := tableText(t, rec)
	require.Contains(t, text, "── out of place ──")
	var lines []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, " KiB ") {
			lines = append(lines, line)
		}
	}
	require.Len(t, lines, 18, "3 collectives × 6 sizes, both placements beside each other")
	r := rec.Results[5]
	for _, want := range []string{
		"32 KiB", "8,192", unit.Digits(curve.BurstOf(&r).Median * 1e6), unit.Digits(curve.IsolatedOf(&r).Median * 1e6),
		unit.Digits(curve.BurstOf(&r).Median * 1.5e6), unit.Digits(curve.IsolatedOf(&r).Median * 1.5e6), "skew (out)",
	} {
		require.Contains(t, lines[5], want)
	}
}

func TestTimingsAreNotMixed(t *testing.T) {
	charts := map[string]document.Chart{}
	for _, c := range sizeCharts(recordtest.Sweep(24)) {
		charts[c.ID] = c
	}
	r := recordtest.Sweep(24).Results[0]
	burst, alone := curve.BurstOf(&r).Median, curve.IsolatedOf(&r).Median
	require.InDelta(t, burst, charts["time"].Series[0].Points[0].Value, 0)
	require.InDelta(t, alone, charts["alone"].Series[0].Points[0].Value, 0)
	require.InDelta(t, burst, charts["alone"].Series[0].Points[0].Burst, 0)
	row := sheets(section(recordtest.Sweep(24), "results"))[0].Groups[0].Rows[0].Cells
	require.Equal(t, unit.Digits(burst*1e6), row[2])
	require.Equal(t, unit.Digits(alone*1e6), row[7])
	require.Regexp(t, `^0\.\d+, 0\.1 %$`, row[10])
	require.Equal(t, "max time", row[11])
	rec := recordtest.Sweep(24)
	for i := range rec.Results {
		rec.Results[i].Isolated = nil
	}
	require.False(t, slices.ContainsFunc(sizeCharts(rec), func(c document.Chart) bool { return c.Quantity == document.Alone }), "nothing isolated, no chart of it")
	require.Empty(t, spreads(rec))
	require.Empty(t, section(rec, "late"))
	require.NotContains(t, tableText(t, rec), "isolated µs")
}

func TestDistribution(t *testing.T) {
	c := spreads(recordtest.Sweep(24))[1]
	require.Equal(t, "spread-2-reduce_scatter", c.ID)
	require.Equal(t, 1, c.Look)
	tw := tableOfChart(c)
	require.Equal(t, []string{"size", "n", "min", "lo", "median", "hi", "p95", "max"}, head(tw.Table))
	require.Len(t, tw.Groups[0].Rows, len(c.Series[0].Points))
	s := layOut(c, small())
	for _, l := range s.layers {
		for _, k := range l.lines {
			for _, v := range k.points {
				require.True(t, v.y >= 0 && v.y <= s.height, "a line leaves the picture at %v", v)
			}
		}
	}
	stray := spreads(edges()["stray"])[0]
	require.Contains(t, stray.Notes[0], "only in the table")
	require.Less(t, layOut(stray, small()).y.hi, 1.0, "one stray launch does not flatten the others")
}

func TestFaultsAndWrongDataAreAnnounced(t *testing.T) {
	rec := edges()["faults"]
	require.Contains(t, pageOf(t, rec), "Simulated with faults planted: late_gpu:node=0,gpu=5,seconds=2e-5; slow_link:")
	for name, text := range map[string]string{"table": tableText(t, rec), "svg": svg(t, sizeCharts(rec)[2])} {
		require.Contains(t, text, "faults planted", name)
	}
	wrong := int64(1)
	for i := range 4 {
		r := &rec.Results[i]
		r.Status, r.Verified = record.WrongData, record.Verified{State: record.VerifiedWrong, Wrong: &wrong, Launches: 1, Reason: "x"}
		r.Reason = fmt.Sprintf("1 wrong elements; first on rank 1 at element %d of 1 KiB: expected bits 0x1, got 0x%x", 77+i, i)
	}
	require.Contains(t, pageOf(t, rec), "4 cases gave wrong data, kept out of charts and figures. The first, all_reduce, 1 KiB: 1 wrong elements; first on rank 1 at element 77 of")
	text := tableText(t, rec)
	require.Contains(t, text, "[1] 1 wrong elements; first on rank 1 at element 77 to 80 of 1 KiB: expected bits 0x1, got …")
}

func endedOK(rec *record.Record) (n int) {
	for i := range rec.Results {
		if rec.Results[i].Status == record.OK {
			n++
		}
	}
	return n
}
