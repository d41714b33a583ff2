package recommend

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/unit"
)

func reasons(a Answer) map[string]string {
	m := map[string]string{}
	for _, r := range a.Confidence.Reasons {
		m[r.Code] = r.Level
	}
	return m
}

func TestConfidence(t *testing.T) {
	sure := func() Question {
		q := ddp(allReduce(t, 16, wide()))
		q.Curves[0].Runs, q.Bootstrap, q.Backward, q.Forward = 2, 50, 0.6, 0.3
		return q
	}
	a := ask(t, sure())
	require.Equal(t, High, a.Confidence.Level, "%+v", a.Confidence)
	require.Empty(t, a.Confidence.Reasons)
	for code, x := range map[string]struct {
		level  string
		change func(q *Question)
	}{
		"unclear":           {Low, func(q *Question) { q.Unclear = "bursts are behind" }},
		"simulated":         {Low, func(q *Question) { q.Curves[0].Simulated = true }},
		"params_guessed":    {Medium, func(q *Question) { q.ParamsGuessed = true }},
		"compute_unknown":   {Low, func(q *Question) { q.Backward, q.Forward = 0, 0 }},
		"compute_estimated": {Medium, func(q *Question) { q.ComputeGuessed = true }},
		"one_run":           {Medium, func(q *Question) { q.Curves[0].Runs = 1 }},
		"runs_disagree": {Medium, func(q *Question) {
			for i := range q.Curves[0].Points {
				q.Curves[0].Points[i].Disagree = 0.3
			}
		}},
		"no_bootstrap": {Medium, func(q *Question) { q.Bootstrap = 0 }},
		"imported":     {Medium, func(q *Question) { q.Curves[0].Imported, q.Curves[0].Timing = true, BurstMean }},
		"noisy": {Low, func(q *Question) {
			for i := range q.Curves[0].Points {
				cv := 0.4
				q.Curves[0].Points[i].CV = &cv
			}
		}},
		"few_samples": {Medium, func(q *Question) {
			for i := range q.Curves[0].Points {
				q.Curves[0].Points[i].N = 2
			}
		}},
	} {
		q := sure()
		x.change(&q)
		a := ask(t, q)
		require.Equal(t, x.level, reasons(a)[code], "%s: %+v", code, a.Confidence)
		want := x.level
		for _, l := range reasons(a) {
			if l == Low {
				want = Low
			}
		}
		require.Equal(t, want, a.Confidence.Level, code)
	}
}

// The level is the least of all reasons', whatever their order.
func TestConfidenceIsTheLeast(t *testing.T) {
	q := ddp(allReduce(t, 16, wide()))
	q.ParamsGuessed = true
	cv := 0.4
	for i := range q.Curves[0].Points {
		q.Curves[0].Points[i].CV = &cv
	}
	a := ask(t, q)
	require.Equal(t, Low, reasons(a)["noisy"])
	require.Equal(t, Medium, reasons(a)["params_guessed"])
	require.Equal(t, Medium, a.Confidence.Reasons[len(a.Confidence.Reasons)-1].Level)
	require.Equal(t, Low, a.Confidence.Level)
}

// Resampling a curve of wide intervals spreads the answer, one of none does not.
func TestBootstrapFollowsTheSpread(t *testing.T) {
	q := ddp(allReduce(t, 16, wide()))
	q.Bootstrap = 100
	narrow := ask(t, q).Bootstrap
	require.Equal(t, 100, narrow.Replicates)
	require.Equal(t, FromInterval, narrow.From)
	for i := range q.Curves[0].Points {
		p := &q.Curves[0].Points[i]
		lo, hi := p.Seconds*0.7, p.Seconds*1.4
		p.Lo, p.Hi = &lo, &hi
	}
	wide := ask(t, q).Bootstrap
	require.Less(t, narrow.Hi-narrow.Lo, wide.Hi-wide.Lo)
	require.Less(t, narrow.ExposedHi-narrow.ExposedLo, wide.ExposedHi-wide.ExposedLo)
	require.Greater(t, narrow.InPlateau, wide.InPlateau)
	require.Equal(t, wide, ask(t, q).Bootstrap, "seeded")
	q.Seed = 2
	require.NotEqual(t, wide, ask(t, q).Bootstrap)
	q.Curves[0].Points[3].Lo, q.Curves[0].Points[3].CV = nil, nil
	require.Equal(t, FromScatter, ask(t, q).Bootstrap.From)
	q = ddp(allReduce(t, 16, []int64{64 * unit.KiB, unit.MiB, 16 * unit.MiB, 256 * unit.MiB, 4 * unit.GiB}))
	q.Bootstrap = 100
	require.NotNil(t, ask(t, q).Bootstrap)
	q.Curves[0].Points[3].Lo, q.Curves[0].Points[3].CV = nil, nil
	require.Nil(t, ask(t, q).Bootstrap, "a spread that is not known cannot be resampled")
}
