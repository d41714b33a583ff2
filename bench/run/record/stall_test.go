package record

import (
	"encoding/csv"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/stat"
	"zbench/test/project"
)

// imported is a table of all_reduce with both placements of every size.
func imported(sizes []int64, seconds func(size int64, inPlace bool) float64) *Record {
	rec := &Record{}
	for _, s := range sizes {
		for _, in := range []bool{false, true} {
			rec.Results = append(rec.Results, Result{
				Collective: "all_reduce", Dtype: "float", Op: "sum", Bytes: s, Ranks: 16, InPlace: in, Case: Case{Status: OK},
				Burst: &Timing{Iterations: 20, MeanOfRanks: stat.Summarize([]float64{seconds(s, in)})}, Headline: "burst.mean_of_ranks",
			})
		}
	}
	return rec
}

func swept() (sizes []int64) {
	for s := int64(8); s <= 8<<30; s *= 2 {
		sizes = append(sizes, s)
	}
	return sizes
}

// alps are the published curves of GH200, in the order of their files.
func alps(t *testing.T) (all []*Record) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(project.Published(t, "scaling"), "alps_*.csv"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		f, err := os.Open(file)
		require.NoError(t, err)
		rows, err := csv.NewReader(f).ReadAll()
		require.NoError(t, err)
		require.NoError(t, f.Close())
		times := map[int64][2]float64{}
		var sizes []int64
		for _, row := range rows[1:] {
			s, err := strconv.ParseInt(row[0], 10, 64)
			require.NoError(t, err)
			out, err := strconv.ParseFloat(row[5], 64)
			require.NoError(t, err)
			in, err := strconv.ParseFloat(row[9], 64)
			require.NoError(t, err)
			times[s] = [2]float64{out * 1e-6, in * 1e-6}
			sizes = append(sizes, s)
		}
		all = append(all, imported(sizes, func(s int64, in bool) float64 {
			if in {
				return times[s][1]
			}
			return times[s][0]
		}))
	}
	return all
}

// modelled is a clean curve: a latency, a bandwidth, and noise of 3 %.
func modelled(rng *rand.Rand) *Record {
	latency, rate := 10e-6*math.Exp(2*rng.Float64()), 50e9*math.Exp(2*rng.Float64())
	return imported(swept(), func(s int64, _ bool) float64 {
		return (latency + float64(s)/rate) * math.Exp(0.03*rng.NormFloat64())
	})
}

// A stall that is planted in a clean curve is found, with its rows; a clean curve has none.
func TestPlantedStallsAreFound(t *testing.T) {
	findPlantedStalls(t, func(rng *rand.Rand, _ int) *Record { return modelled(rng) })
}

func TestDataPlantedStallsAreFound(t *testing.T) {
	findPlantedStalls(t, func(_ *rand.Rand, i int) *Record {
		clean := alps(t)
		return clean[i%len(clean)]
	})
}

func findPlantedStalls(t *testing.T, clean func(rng *rand.Rand, i int) *Record) {
	rng := rand.New(rand.NewPCG(8, 7))
	found, alarms, planted := 0, 0, 200
	for i := range planted {
		rec := clean(rng, i)
		if len(rec.Stalls()) > 0 {
			alarms++
		}
		n := 3 + rng.IntN(20)
		from := rng.IntN(len(rec.Results) - n - 6) // rows after a stall tell of it
		for j := from; j < from+n; j++ {
			s := rec.Results[j].Burst.MeanOfRanks
			*s = *stat.Summarize([]float64{s.Median * 8 * math.Exp(4*rng.Float64())})
		}
		for _, s := range rec.Stalls() {
			in := 0
			for _, r := range s.Rows {
				for j := from; j < from+n; j++ {
					if r == &rec.Results[j] {
						in++
					}
				}
			}
			if in >= n-1 && len(s.Rows) <= n+6 { // the six rows that are slow every time may lie beside it
				found++
				break
			}
		}
	}
	require.GreaterOrEqual(t, found, planted*95/100)
	require.LessOrEqual(t, alarms, planted/100)
}

// A size that a library handles badly every time, in both placements alike, is no stall.
func TestWhatIsReproduciblySlowIsNoStall(t *testing.T) {
	slow := func(s int64, in bool) float64 {
		seconds := 20e-6 + float64(s)/100e9
		if s >= 256<<10 && s <= 1<<20 {
			seconds *= 6
		}
		if in {
			seconds *= 1.02
		}
		return seconds
	}
	require.Empty(t, imported(swept(), slow).Stalls())
	// The same sizes, of which every row takes something else, are one.
	rng := rand.New(rand.NewPCG(1, 1))
	all := imported(swept(), func(s int64, in bool) float64 {
		if seconds := slow(s, in); s >= 256<<10 && s <= 1<<20 {
			return seconds * math.Exp(rng.Float64())
		}
		return slow(s, in)
	}).Stalls()
	require.Len(t, all, 1)
	require.Len(t, all[0].Rows, 6)
}

// What zbench measured has samples of its own, and is judged by them.
func TestMeasuredRowsAreNoTable(t *testing.T) {
	rec := imported(swept(), func(s int64, _ bool) float64 {
		if s == 1<<20 {
			return 1
		}
		return 20e-6 + float64(s)/100e9
	})
	require.Len(t, rec.Stalls(), 1)
	for i := range rec.Results {
		rec.Results[i].Isolated = &Timing{}
	}
	require.Empty(t, rec.Stalls())
}

// A stall beside sizes that are slow every time ends where these begin.
func TestStallDoesNotTakeInWhatIsSlowEveryTime(t *testing.T) {
	all := imported(swept(), func(s int64, _ bool) float64 {
		seconds := 20e-6 + float64(s)/100e9
		switch {
		case s == 1<<10 || s == 2<<10:
			return seconds * 100
		case s > 2<<10 && s < 256<<10: // so that the rows between lie high
			return seconds * 1.8
		case s >= 256<<10 && s <= 1<<20:
			return seconds * 6
		}
		return seconds
	}).Stalls()
	require.Len(t, all, 1)
	require.Equal(t, int64(2<<10), all[0].Rows[len(all[0].Rows)-1].Bytes)
}
