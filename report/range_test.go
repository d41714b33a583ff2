package report

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/advice"
	"zbench/bench/answers/recommend"
	"zbench/bench/results"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
	"zbench/test/longtest"
	"zbench/test/recordtest"
)

// bracketedSweep is a sweep whose model is between half and four times the time.
func bracketedSweep() *record.Record {
	rec := recordtest.Sweep(24)
	rec.Fabric.Bracket = &record.Ends{Fastest: "fast", Slowest: "slow", Factor: 27}
	for i := range rec.Results {
		rec.Results[i].Bracket = &record.Bracket{Seconds: 1e-3, Fastest: 0.5e-3, Slowest: 4e-3}
		rec.Results[i].Extrapolated = true
	}
	return rec
}

func fillsOf(s scene) (out []fill) {
	for _, l := range s.layers {
		out = append(out, l.fills...)
	}
	return out
}

func hasLabel(s scene, text string) bool {
	return slices.ContainsFunc(s.labels(), func(l label) bool { return l.text == text })
}

// A simulated curve is drawn with both ends of its model: a quarter of its bandwidth
// and twice that, shaded and named; a curve without ends has no shade.
func TestModelRangeIsDrawn(t *testing.T) {
	rec := bracketedSweep()
	c := sizeCharts(rec)[0]
	require.Equal(t, document.BusBW, c.Quantity)
	for _, f := range []format{wide(), narrow(), alone()} {
		s := layOut(c, f)
		checkGeometry(t, s, c.ID)
		fills := fillsOf(s)
		require.Len(t, fills, len(c.Series), "one for each curve")
		for i, one := range fills {
			points := c.Series[i].Points
			n := len(points)
			require.Equal(t, seriesRole(i), one.role)
			require.Len(t, one.points, 2*n)
			require.InDelta(t, s.at(1, points[0].Value*2).y, one.points[0].y, 1e-6, "the fast end")
			require.InDelta(t, s.at(1, points[n-1].Value/4).y, one.points[n].y, 1e-6, "the slow end")
			require.GreaterOrEqual(t, one.points[n-1].y, s.plot.top, "the axis holds it")
		}
	}
	require.True(t, hasLabel(layOut(c, wide()), document.RangeName))
	require.Contains(t, c.Notes, "Shaded: between the slow and the fast end of the model, whose latency (R) at 128 nodes is not measured and bracketed 27 ×.")
	require.Contains(t, c.Series[0].Points[20].Text(document.BusBW), ", model's range ")
	var svg bytes.Buffer
	require.NoError(t, WriteSVG(&svg, c))
	require.Contains(t, svg.String(), `fill-opacity="0.13"`)

	plain := sizeCharts(recordtest.Sweep(24))[0]
	require.Empty(t, fillsOf(layOut(plain, wide())))
	require.False(t, hasLabel(layOut(plain, wide()), document.RangeName))
	require.NotContains(t, plain.Series[0].Points[20].Text(document.BusBW), document.RangeName)
}

// The name of the shade stands beside it where there is room.
func TestModelRangeIsNamedOutside(t *testing.T) {
	s := layOut(sizeCharts(bracketedSweep())[0], wide())
	for _, l := range s.labels() {
		if l.text == document.RangeName {
			require.False(t, shaded(s, l.bounds()))
		}
	}
	square := fill{points: []vec{{0, 0}, {2, 0}, {2, 2}, {0, 2}}}
	require.True(t, square.holds(vec{1, 1}))
	require.False(t, square.holds(vec{3, 1}))
	require.False(t, square.holds(vec{1, 3}))
}

// A curve of which only a part has two ends is shaded there alone.
func TestModelRangeOfAPart(t *testing.T) {
	rec := bracketedSweep()
	for i := range rec.Results {
		if i%24 < 10 || i%24 == 15 {
			rec.Results[i].Bracket = nil
		}
	}
	s := layOut(sizeCharts(rec)[0], wide())
	fills := fillsOf(s)
	require.Len(t, fills, 6)
	require.Len(t, fills[0].points, 2*5)
	require.Len(t, fills[1].points, 2*8)
}

// The chart of settings shows between which of them the model's bracket moves the
// answer.
func TestSettingRangeIsDrawn(t *testing.T) {
	d := advised(t, recordtest.Sweep(24), "megatron", 8e9)
	require.Nil(t, adviceChart(d).Range)
	d.Bracket = &advice.Bracket{Lo: 500e6, Hi: 2.7e9, Fastest: advice.End{Elements: 500e6}, Slowest: advice.End{Elements: 2.7e9}}
	c := adviceChart(d)
	require.NotNil(t, c.Range)
	for _, f := range []format{wide(), narrow(), alone()} {
		s := layOut(c, f)
		require.True(t, hasLabel(s, "model's range "+d.Range()))
		lines := 0
		for _, l := range s.layers {
			for _, k := range l.lines {
				if k.role == "text" && k.points[0].x == s.at(500e6, 0).x && k.points[1].x == s.at(2.7e9, 0).x {
					lines++
				}
			}
		}
		require.Equal(t, 1, lines, "from end to end")
	}
	require.Contains(t, describe(c), "Model's range "+d.Range()+" elements.")
	lo, hi := settingSpan(c)
	d.Bracket.Lo = lo / 1000
	c = adviceChart(d)
	from, to := settingSpan(c)
	require.Equal(t, []int64{lo, hi}, []int64{from, to}, "an end without points does not stretch the axis")
	require.True(t, hasLabel(layOut(c, wide()), "model's range "+d.Range()))
	d.Bracket.Hi = d.Bracket.Lo
	require.Nil(t, adviceChart(d).Range, "both ends agree")
}

// The page of an assumed question says what it assumes, has the answers for other models, and its
// command reads the folder that the page lies in.
func TestAssumedPage(t *testing.T) {
	longtest.OneGoroutine(t)
	rec := recordtest.Sweep(24)
	d, err := advice.AskAssumed([]recommend.Source{{Record: rec}})
	require.NoError(t, err)
	require.True(t, d.Answered())
	page := writeHTML(t, results.Collectives(rec, results.Extras{Advice: d, Folder: "my run"}))
	for _, want := range []string{"ssuming Llama 3 8B", "Step time by tokens of a microbatch", "zbench recommend &#39;my run&#39; --framework megatron"} {
		require.Contains(t, page, want)
	}
	require.NotContains(t, page, "DIR")
	require.Equal(t, "keep "+d.Amount(d.Answer.Elements), adviceChart(d).Series[1].Name)
}

// Of the two charts of times one is open.
func TestSecondTimeChartIsFolded(t *testing.T) {
	for _, s := range results.Collectives(recordtest.Sweep(24), results.Extras{}).Sections {
		if s.Name != "times" {
			continue
		}
		require.Len(t, s.Blocks, 2)
		require.Equal(t, document.Time, s.Blocks[0].(document.Plot).Quantity)
		require.Equal(t, "Time of one launch alone", s.Blocks[1].(document.Details).Summary)
		return
	}
	t.Fatal("no section of times")
}
