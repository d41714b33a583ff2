package report

import (
	"bytes"
	"image/png"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/advice"
	"zbench/bench/answers/recommend"
	"zbench/bench/job/trainer"
	"zbench/bench/results"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
	"zbench/test/longtest"
	"zbench/test/recordtest"
)

// advised is the recommendation for a framework on the fixture's curves, with a
// setting of today's.
func advised(t *testing.T, rec *record.Record, framework string, current int64) *advice.Document {
	t.Helper()
	tr, err := trainer.ByName(framework)
	require.NoError(t, err)
	m, err := trainer.Preset("llama3-8b")
	require.NoError(t, err)
	c, err := trainer.ComputeOfStep(0.9)
	require.NoError(t, err)
	in := advice.Input{
		Sources: []recommend.Source{{Record: rec}}, Framework: framework, Model: m, Compute: c,
		Run: trainer.Run{DP: rec.World.Ranks, GradDtype: tr.GradDtype, ParamDtype: "bfloat16", Zero: tr.Stages[0]},
	}
	if current > 0 {
		in.Config, in.ConfigFile = &trainer.Config{Trainer: framework, Elements: &current}, "<train>.sh"
	}
	d, err := advice.Recommend(in)
	require.NoError(t, err)
	require.Equal(t, recommend.Recommended, d.Answer.Verdict, "%v", d.Answer.Refusal)
	return d
}

func TestAdviceIsOnThePage(t *testing.T) {
	longtest.OneGoroutine(t)
	rec := recordtest.Sweep(24)
	d := advised(t, rec, "megatron", 2e6)
	doc := results.Collectives(rec, results.Extras{Knees: knees(), Advice: d})
	page := writeHTML(t, doc)
	for _, want := range []string{
		"Bucket size to set", "SIMULATED: Set --ddp-bucket-size to ", " % longer with your 2 M", "Why not smaller", "Confidence: low",
		"--ddp-bucket-size", "# SIMULATED", "&lt;train&gt;.sh", `<tr class="best">`, "use this", "Message sizes near the plateau",
	} {
		require.Contains(t, page, want)
	}
	ids := map[string]bool{}
	for _, e := range elements(t, page) {
		if id := e.attr["id"]; id != "" {
			require.False(t, ids[id], "two elements have the id %s", id)
			ids[id] = true
		}
	}
	require.True(t, ids["bucket"])
	require.Len(t, chartsOf(doc), len(sizeCharts(rec))+1)
	require.NotContains(t, pageOf(t, rec), "Bucket size to set", "nothing was asked")
}

// What has a name is a point of its own, and what the chart shows is said in words.
func TestAdviceChart(t *testing.T) {
	longtest.OneGoroutine(t)
	kept := adviceChart(advised(t, recordtest.Sweep(24), "megatron", 40e6))
	require.Equal(t, "keep 40 M", kept.Series[1].Name)
	require.Len(t, kept.Series, 3, "what is kept is what is yours")
	d := advised(t, recordtest.Sweep(24), "megatron", 8e9)
	c := adviceChart(d)
	require.Len(t, append(c.Band.Others, document.Stretch{}), len(d.Answer.Within), "every range is shaded")
	var names []string
	for _, s := range c.Series[1:] {
		names = append(names, s.Name)
		require.Len(t, s.Points, 1)
	}
	require.Len(t, names, 3)
	require.True(t, strings.HasPrefix(names[0], "use ") && strings.HasPrefix(names[1], "default ") && names[2] == "yours 8 G", names)
	require.Equal(t, "SIMULATED", c.Mark)
	require.Equal(t, d.Answer.Plateau.Lo, c.Band.Lo)
	text := describe(c)
	for _, n := range names {
		require.Contains(t, text, n)
	}
	require.Contains(t, text, "within 1 %")
	require.LessOrEqual(t, c.Series[0].Points[0].Bytes, int64(40e6))
	picture := svg(t, c)
	require.Contains(t, picture, "<rect")
	require.Contains(t, picture, "within 1 %")
	require.NotContains(t, picture, "message size")
	var b bytes.Buffer
	require.NoError(t, WritePNG(&b, c))
	_, err := png.Decode(&b)
	require.NoError(t, err)
}

// Labels keep apart wherever the named settings and the plateau lie.
func TestAdviceChartGeometry(t *testing.T) {
	longtest.OneGoroutine(t)
	for _, framework := range trainer.Names() {
		currents := []int64{40e6}
		if framework == "megatron" {
			currents = []int64{0, 1, 1e6, 350e6, 1e9, 8e9}
		}
		for _, current := range currents {
			d := advised(t, recordtest.Sweep(24), framework, current)
			for _, width := range []int64{0, 1} {
				c := adviceChart(d)
				if width == 0 {
					c.Band.Lo, c.Band.Hi = d.Answer.Elements, d.Answer.Elements
				}
				for _, f := range []format{wide(), narrow(), alone()} {
					s := layOut(c, f)
					checkGeometry(t, s, framework)
					require.GreaterOrEqual(t, labelled(s.x), 2)
					require.GreaterOrEqual(t, labelled(s.y), 2)
				}
			}
		}
	}
}

// The axes end where the curve leaves the plot: no half of it is empty. The marker of each setting with a name is
// whole and nothing is written over it, also where the setting is the first, the last, or beyond the curve.
func TestAdviceChartFitsItsData(t *testing.T) {
	c := adviceChart(advised(t, recordtest.Sweep(24), "megatron", 0))
	all := c.Series[0].Points
	top := document.CostTop(c)
	for _, at := range []int64{c.Series[1].Points[0].Bytes, all[0].Bytes, all[0].Bytes / 4, all[len(all)-1].Bytes, 4 * all[len(all)-1].Bytes} {
		c.Series[1].Points[0].Bytes = at
		for _, f := range []format{wide(), narrow(), alone()} {
			s := layOut(c, f)
			lo, hi := settingSpan(c)
			require.LessOrEqual(t, s.x.hi-s.x.lo, max(4, 1.05*math.Log2(float64(hi)/float64(lo))))
			for _, p := range all {
				if p.Value <= top {
					require.True(t, p.Bytes >= lo && p.Bytes <= hi)
				}
			}
			for _, l := range s.layers[4:] {
				for _, d := range l.dots {
					if l.series != 1 {
						continue
					}
					marker := box{d.at.x - d.radius, d.at.y - d.radius, d.at.x + d.radius, d.at.y + d.radius}
					require.True(t, marker.inside(s.plot), "%d: %v in %v", at, marker, s.plot)
					for _, text := range s.labels() {
						require.False(t, text.bounds().touches(marker), "%d: %q over the marker", at, text.text)
					}
				}
			}
		}
	}
}

// A band at the very ends of the axis stays in the plot.
func TestBandStaysInThePlot(t *testing.T) {
	d := advised(t, recordtest.Sweep(24), "megatron", 0)
	c := adviceChart(d)
	c.Band.Lo, c.Band.Hi = 1, 1<<50
	s := layOut(c, wide())
	for _, l := range s.layers {
		for _, a := range l.areas {
			require.True(t, a.box.inside(s.plot), "%v", a.box)
		}
	}
}

func TestCountAxis(t *testing.T) {
	for lo := int64(1); lo < 1e12; lo *= 7 {
		for hi := lo; hi < 1e13; hi *= 11 {
			a := countAxis(lo, hi, func(string) float64 { return 0.08 })
			require.GreaterOrEqual(t, labelled(a), 2, "%d to %d", lo, hi)
		}
	}
	require.Equal(t, "5 M", countLabel(5e6))
	require.Equal(t, "200", countLabel(200))
	require.Equal(t, "1 G", countLabel(1e9))
}

// A refusal is a sentence and what to do, without a picture.
func TestRefusedAdviceOnThePage(t *testing.T) {
	rec := recordtest.Sweep(24)
	d := advised(t, rec, "ddp", 0)
	d.Answer = recommend.Answer{Verdict: recommend.Refused, Refusal: &recommend.Refusal{Message: "no curve", Hint: "sweep it"}, Trainer: "ddp"}
	d.Sentence, d.Snippets = "No bucket size: no curve.", nil
	doc := results.Collectives(rec, results.Extras{Advice: d})
	page := writeHTML(t, doc)
	require.Contains(t, page, "No bucket size: no curve.")
	require.Contains(t, page, "sweep it")
	require.NotContains(t, page, `figure id="bucket"`)
	require.Len(t, chartsOf(doc), len(sizeCharts(rec)))
}
