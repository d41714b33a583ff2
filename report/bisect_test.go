package report

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/bisect"
	"zbench/bench/show/document"
)

// searched is the document of a search over variants that take longer from one on in every
// case of 1 MiB, while the machine gets slower by half a per cent with each child.
func searched(t *testing.T, slow map[int]float64, unordered bool) *bisect.Document {
	t.Helper()
	o := bisect.Defaults()
	o.Unordered = unordered
	h := bisect.Header{Timing: "burst", GPUs: 8}
	for i := range 4 {
		h.Variants = append(h.Variants, bisect.Given{Name: fmt.Sprintf("7.%d<b>", i), Settings: "--rccl-lib /opt/" + strings.Repeat("very/long/path/", i) + "librccl.so"})
	}
	for _, group := range []string{"all_gather float, 8 ranks", "all_reduce float sum, 8 ranks"} {
		for i := range 5 {
			h.Cases = append(h.Cases, bisect.Planned{Key: fmt.Sprint(group, i), Collective: group, Bytes: 1 << (16 + 2*i)})
		}
	}
	s := bisect.New(len(h.Variants), len(h.Cases), o)
	children := 0
	for {
		r, more := s.Next()
		if !more {
			break
		}
		for _, v := range r.Variants {
			trial := bisect.Trial{Round: children / 2, Variant: v, Asked: r.Cases, Seconds: make([]float64, len(h.Cases)), Cost: 1}
			for _, c := range r.Cases {
				noise := 0.001 * math.Sin(float64(7*children+13*c))
				trial.Seconds[c] = 1e-3 * (1 + noise) * (1 + 0.005*float64(children))
				if h.Cases[c].Bytes == 1<<20 {
					trial.Seconds[c] *= 1 + slow[v]
				}
			}
			s.Add(trial)
			children++
		}
		s.EndRound()
	}
	d := s.Document(h, nil)
	d.Seconds, d.Children, d.Complete, d.Simulated = 100, children, true, true
	return d
}

// The page has the verdict first, the change of each variant by size with intervals, the
// drift over the children, and the label of simulated times everywhere.
func TestBisectionPage(t *testing.T) {
	b := searched(t, map[int]float64{2: 0.1, 3: 0.1}, false)
	d := b.Shown()
	var page bytes.Buffer
	require.NoError(t, WriteHTML(&page, d))
	text := page.String()
	require.Less(t, strings.Index(text, "FIRST SLOW VARIANT: 7.2&lt;b&gt;."), strings.Index(text, "Change by size"))
	require.NotContains(t, text, "<b>.")
	charts := chartsOf(d)
	require.Len(t, charts, 3)
	for _, c := range charts {
		require.Equal(t, "SIMULATED", c.Mark)
		var svg bytes.Buffer
		require.NoError(t, WriteSVG(&svg, c))
		require.NotContains(t, svg.String(), "NaN")
	}
	require.Equal(t, "change against 7.0<b>", charts[0].Axis)
	last := charts[1].Series[len(charts[1].Series)-1]
	require.Equal(t, "7.3<b>", last.Name)
	require.InDelta(t, 0.1, last.Points[2].Value, 0.02)
	require.True(t, last.Points[2].Bounded)
	drift := charts[2].Series[0].Points
	require.Len(t, drift, b.Children)
	require.InDelta(t, 0.005*float64(b.Children-1), drift[len(drift)-1].Value-drift[0].Value, 0.01)
	checkGeometry(t, layOut(charts[2], wide()), "drift")
	checkGeometry(t, layOut(charts[2], narrow()), "drift")

	b.Complete = false
	page.Reset()
	require.NoError(t, WriteHTML(&page, b.Shown()))
	require.Contains(t, page.String(), "INCOMPLETE")
}

// A ranking, equal variants and a search that measured nothing have a page, too.
func TestBisectionPagesOfOtherSearches(t *testing.T) {
	for says, b := range map[string]*bisect.Document{
		"FASTEST</strong>":         searched(t, map[int]float64{1: 0.1}, true),
		"NO SLOW VARIANT</strong>": searched(t, nil, false),
		"NOT CHECKED":              bisect.New(2, 1, bisect.Defaults()).Document(bisect.Header{Variants: []bisect.Given{{Name: "a"}, {Name: "b"}}, Cases: []bisect.Planned{{Key: "k", Collective: "g", Bytes: 1}}}, nil),
	} {
		var page bytes.Buffer
		require.NoError(t, WriteHTML(&page, b.Shown()))
		require.Contains(t, page.String(), says)
		require.NotContains(t, page.String(), "NaN")
	}
}

// The axis of children counts them, and labels keep apart however many there are.
func TestOrderAxis(t *testing.T) {
	for _, n := range []int64{1, 2, 9, 60, 500} {
		c := document.Chart{ID: "x", Quantity: document.Level, Series: []document.Series{{Name: "all"}}}
		for i := range n {
			c.Series[0].Points = append(c.Series[0].Points, document.Point{Bytes: i + 1, Value: 0.01 * math.Sin(float64(i))})
		}
		for _, f := range []format{wide(), narrow()} {
			s := layOut(c, f)
			checkGeometry(t, s, fmt.Sprint(n, " children"))
			require.GreaterOrEqual(t, labelled(s.x), 1)
		}
	}
	require.True(t, dataOf(document.Chart{Quantity: document.Level, Series: []document.Series{{Points: []document.Point{{Bytes: 1, Value: 0.1}}}}}).Linear)
}
