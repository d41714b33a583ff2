package recommend

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/stat"
	"zbench/bench/run/record"
)

// sweep is a record of a collective with a summary of n samples a size.
func sweep(collective string, sizes []int64, series func(s int64) []float64) *record.Record {
	rec := &record.Record{Schema: record.Schema, Source: record.Source{Kind: record.Measured}}
	for _, s := range sizes {
		rec.Results = append(rec.Results, record.Result{
			Case: record.Case{Key: fmt.Sprint(s), Status: record.OK}, Collective: collective, Dtype: "float", Op: "sum", Bytes: s, Count: s / 32, Ranks: 8, Nodes: 1, Groups: 1,
			GPUsPerProcess: 1, Isolated: &record.Timing{MaxOfRanks: stat.Summarize(series(s))},
		})
	}
	return rec
}

func steadySamples(n int) func(s int64) []float64 {
	return func(s int64) []float64 {
		all := make([]float64, n)
		for i := range all {
			all[i] = 30e-6 + float64(s)/100e9
		}
		return all
	}
}

func onlyCurve(t *testing.T, sources ...Source) Curve {
	t.Helper()
	all, err := Curves(sources)
	require.NoError(t, err)
	require.Len(t, all, 1)
	return all[0]
}

// The best timing is taken that all sizes have, and never two in one curve.
func TestTimingThatAllSizesHave(t *testing.T) {
	rec := sweep("all_reduce", sizesOf(10), steadySamples(20))
	require.Equal(t, Isolated, onlyCurve(t, Source{Record: rec}).Timing)
	for i := range rec.Results {
		rec.Results[i].Burst = &record.Timing{MeanOfRanks: stat.Summarize([]float64{5e-6}), MaxOfRanks: stat.Summarize([]float64{7e-6})}
	}
	rec.Results[4].Isolated = nil
	c := onlyCurve(t, Source{Record: rec})
	require.Equal(t, BurstMax, c.Timing)
	require.Equal(t, 7e-6, c.Points[0].Seconds)
	rec.Results[7].Burst.MaxOfRanks = nil
	c = onlyCurve(t, Source{Record: rec})
	require.Equal(t, BurstMean, c.Timing)
	require.Len(t, c.Points, 10)
	require.Equal(t, 5e-6, c.Points[9].Seconds)
}

// Two records of the same are repeats: the median of theirs, and how far they
// disagree.
func TestRepeatsAreOneCurve(t *testing.T) {
	a, b := sweep("all_reduce", sizesOf(8), steadySamples(20)), sweep("all_reduce", sizesOf(9), steadySamples(20))
	for i := range b.Results {
		s := b.Results[i].Isolated.MaxOfRanks
		s.Median *= 1.1
	}
	c := onlyCurve(t, Source{Record: a}, Source{Record: b})
	require.Equal(t, 2, c.Runs)
	require.Len(t, c.Points, 9)
	require.InEpsilon(t, 1.05*(30e-6+1024/100e9), c.Points[0].Seconds, 1e-9)
	require.Equal(t, 40, c.Points[0].N)
	require.InEpsilon(t, 0.1/1.05, c.Points[0].Disagree, 1e-6)
	require.Equal(t, c, onlyCurve(t, Source{Record: b}, Source{Record: a}), "whatever their order")
}

// A copy of a record repeats nothing: it must not make an answer surer.
func TestCopiesAreNoRepeats(t *testing.T) {
	one := onlyCurve(t, Source{Record: sweep("all_reduce", sizesOf(10), steadySamples(20))})
	twice := onlyCurve(t, Source{Record: sweep("all_reduce", sizesOf(10), steadySamples(20))}, Source{Record: sweep("all_reduce", sizesOf(10), steadySamples(20))})
	require.Equal(t, one, twice)
	require.Equal(t, 1, twice.Runs)
	require.Equal(t, 20, twice.Points[0].N)
}

func TestOnlyGoodResultsCount(t *testing.T) {
	rec := sweep("all_reduce", sizesOf(8), steadySamples(20))
	rec.Results[1].Status = record.WrongData
	rec.Results[2].Status = record.Skipped
	rec.Results[3].Isolated.MaxOfRanks.Median = 0
	require.Len(t, onlyCurve(t, Source{Record: rec}).Points, 5)
	none, err := Curves(nil)
	require.NoError(t, err)
	require.Empty(t, none)
}

// A size that varies too much is left out and named; one of a few samples stays
// and is doubted: without it a sweep that was cut short would end earlier yet.
func TestNoisyAndFew(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	rec := sweep("all_reduce", sizesOf(10), func(s int64) []float64 {
		all := steadySamples(20)(s)
		if s == 1<<14 {
			for i := range all {
				all[i] *= math.Exp(rng.NormFloat64() * 2)
			}
		}
		if s == 1<<19 {
			return all[:3]
		}
		return all
	})
	c := onlyCurve(t, Source{Record: rec})
	require.Len(t, c.Points, 9)
	require.Equal(t, int64(1<<14), c.Dropped[0].Bytes)
	require.Contains(t, c.Dropped[0].Reason, "vary")
	require.Equal(t, 3, c.Points[8].N)
	require.Len(t, c.Warnings, 2)
	require.Equal(t, "few_samples", c.Warnings[1].Code)
}

// Means of unknown spread: one that is a hundred times off is an accident, a hole
// of twice is the library's.
func TestOutliersOfUnknownSpread(t *testing.T) {
	for _, at := range []int{0, 5, 9} {
		rec := sweep("all_reduce", sizesOf(10), steadySamples(1))
		rec.Results[at].Isolated.MaxOfRanks.Median *= 100
		c := onlyCurve(t, Source{Record: rec})
		require.Len(t, c.Points, 9, "%d", at)
		require.Equal(t, rec.Results[at].Bytes, c.Dropped[0].Bytes)
		rec.Results[at].Isolated.MaxOfRanks.Median /= 50
		require.Len(t, onlyCurve(t, Source{Record: rec}).Points, 10, "%d", at)
	}
	rec := sweep("all_reduce", sizesOf(10), steadySamples(20))
	rec.Results[5].Isolated.MaxOfRanks.Median *= 100
	require.Len(t, onlyCurve(t, Source{Record: rec}).Points, 10, "a median of many is no accident")
}

// Sizes are totals. A record of one rank's share is refused, not read as n times
// the time.
func TestSharesAreNotTotals(t *testing.T) {
	for _, name := range []string{"all_gather", "reduce_scatter"} {
		rec := sweep(name, sizesOf(6), steadySamples(20))
		_, err := Curves([]Source{{Record: rec}})
		require.NoError(t, err)
		for i := range rec.Results {
			rec.Results[i].Count = rec.Results[i].Bytes / 4
		}
		_, err = Curves([]Source{{Record: rec}})
		require.ErrorContains(t, err, "one rank's share")
	}
	rec := sweep("all_reduce", sizesOf(6), steadySamples(20))
	for i := range rec.Results {
		rec.Results[i].Count = rec.Results[i].Bytes / 4
	}
	_, err := Curves([]Source{{Record: rec}})
	require.NoError(t, err, "every rank has all of it")
}

// Resampled medians spread as medians of such samples do.
func TestResamplingHasTheRightSpread(t *testing.T) {
	const n, sigma = 200, 0.1
	rng := rand.New(rand.NewPCG(3, 1))
	series := make([]float64, n)
	for i := range series {
		series[i] = math.Exp(rng.NormFloat64() * sigma)
	}
	sum := stat.Summarize(series)
	want := medianError * sigma / math.Sqrt(n)
	cv := sigma
	for name, p := range map[string]Point{
		FromSamples:  {Seconds: sum.Median, N: n, Samples: series},
		FromInterval: {Seconds: sum.Median, N: n, Lo: sum.Lo, Hi: sum.Hi},
		FromCV:       {Seconds: sum.Median, N: n, CV: &cv},
	} {
		r := (&Curve{Points: []Point{p}}).Resampler()
		require.Equal(t, name, r.From)
		var logs []float64
		for range 4000 {
			logs = append(logs, math.Log(r.Draw(rng)[0]/sum.Median))
		}
		got := stat.Summarize(logs)
		spread := math.Sqrt(variance(logs))
		require.InDelta(t, 0, got.Mean, want/2, name)
		require.InEpsilon(t, want, spread, 0.35, name)
	}
	require.Nil(t, (&Curve{Points: []Point{{Seconds: 1, N: 1}}}).Resampler())
}

func variance(x []float64) float64 {
	m, v := 0.0, 0.0
	for _, a := range x {
		m += a / float64(len(x))
	}
	for _, a := range x {
		v += (a - m) * (a - m) / float64(len(x)-1)
	}
	return v
}

// Results of other devices are another curve, not other sizes of the same.
func TestSetupsAreCurvesOfTheirOwn(t *testing.T) {
	result := func(setup string, bytes int64, seconds float64) record.Result {
		return record.Result{
			Case: record.Case{Key: setup, Status: record.OK}, Collective: "all_reduce", Dtype: "float", Op: "sum", Ranks: 2, Nodes: 2, GPUsPerProcess: 1, Groups: 1, Bytes: bytes, Count: bytes / 4,
			Setup: setup, Burst: &record.Timing{MeanOfRanks: stat.Summarize([]float64{seconds})},
		}
	}
	rec := &record.Record{Results: []record.Result{result("b", 1024, 2), result("a", 1024, 1), result("a", 2048, 1.5), result("b", 4096, 3)}}
	curves, err := Curves([]Source{{Record: rec}})
	require.NoError(t, err)
	require.Len(t, curves, 2)
	require.Equal(t, "a", curves[0].Setup)
	require.Equal(t, "b", curves[1].Setup)
	require.Equal(t, 2.0, curves[1].Points[0].Seconds)
}

// Rows of an imported table in which the job stood still are no points of its curve.
func TestStalledRowsAreNoPoints(t *testing.T) {
	rec := sweep("all_reduce", doubling(1<<10, 1<<20), steadySamples(1))
	for i := range rec.Results {
		r := &rec.Results[i]
		seconds := r.Isolated.MaxOfRanks.Median
		if r.Bytes == 8<<10 || r.Bytes == 16<<10 {
			seconds *= 50
		}
		r.Isolated, r.Burst = nil, &record.Timing{Iterations: 20, MeanOfRanks: stat.Summarize([]float64{seconds})}
		r.Headline = "burst.mean_of_ranks"
	}
	for _, p := range onlyCurve(t, Source{Record: rec}).Points {
		require.Less(t, p.Seconds, 100e-6)
		require.NotContains(t, []int64{8 << 10, 16 << 10}, p.Bytes)
	}
}
