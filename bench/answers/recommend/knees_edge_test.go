package recommend

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/unit"
	"zbench/bench/run/record"
)

func alphaBeta(s float64) float64 { return 30e-6 + s/180e9 }

func TestTooLittleIsRefused(t *testing.T) {
	for name, x := range map[string]struct {
		w      kneeWorld
		sizes  []int64
		reason string
	}{
		"four sizes":   {kneeNode, []int64{1 << 10, 1 << 15, 1 << 20, 1 << 30}, "4 over 6.0 decades"},
		"one decade":   {kneeNode, doubling(unit.MiB, 64*unit.MiB), "7 over 1.8 decades"},
		"one size":     {kneeNode, []int64{unit.MiB}, "1 over 0.0 decades"},
		"one rank":     {kneeWorld{"all_reduce", 1, 1}, kneeWide(), "no communication"},
		"no bandwidth": {kneeNode, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			rec := kneeSweep(t, x.w, x.sizes, alphaBeta)
			a := KneesOf(rec)
			for _, c := range a.Curves {
				require.Empty(t, c.Points)
			}
			if len(x.sizes) == 0 {
				require.Equal(t, []string{"no_results"}, codes(a.Warnings))
			} else {
				require.Contains(t, a.Curves[0].Reason, x.reason)
				require.Contains(t, a.Sentence(), x.reason)
			}
			require.Contains(t, a.Sentence(), "no message sizes to advise")
			require.NotEmpty(t, a.Needs)
		})
	}
}

// Two decades and five sizes are just enough.
func TestJustEnough(t *testing.T) {
	onlyKnees(t, KneesOf(kneeSweep(t, kneeNode, []int64{1e6, 3e6, 10e6, 30e6, 100e6}, alphaBeta)))
}

func TestResultsThatWentWrongAreLeftOutAndSaid(t *testing.T) {
	rec := kneeSweep(t, kneeNode, kneeWide(), alphaBeta)
	rec.Results[2].Status = record.Skipped
	rec.Results[3].Status = record.Failed
	rec.Results[4].Status = record.Interrupted
	// Wrong data are fast data: this one would be the plateau.
	rec.Results[20].Status = record.WrongData
	fast := 1e15
	rec.Results[20].BusBW = &fast
	a := KneesOf(rec)
	c := onlyKnees(t, a)
	require.Equal(t, 4, c.NotOK)
	require.Equal(t, 20, c.Sizes)
	require.Less(t, c.PlateauBusBW, 1e12)
	require.Contains(t, codes(a.Warnings), "results_left_out")
	require.Contains(t, a.Warnings[0].Message, "3 results")
}

func TestNoUsableResult(t *testing.T) {
	rec := kneeSweep(t, kneeNode, kneeWide(), alphaBeta)
	for i := range rec.Results {
		rec.Results[i].Status = record.Skipped
	}
	c := KneesOf(rec).Curves[0]
	require.Equal(t, "no result ended ok with a bus bandwidth", c.Reason)
	require.Zero(t, c.PlateauBusBW)
	for i, b := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		rec.Results[i].Status, rec.Results[i].BusBW = record.OK, &b
	}
	require.NotEmpty(t, KneesOf(rec).Curves[0].Reason)
}

func TestMixedTimingsAreRefused(t *testing.T) {
	rec := kneeSweep(t, kneeNode, kneeWide(), alphaBeta)
	rec.Results[7].Headline = "median of isolated.max_of_ranks"
	want := KneesOf(rec)
	require.Contains(t, want.Curves[0].Reason, "two kinds of timing")
	require.Empty(t, want.Curves[0].Points)
	slices.Reverse(rec.Results)
	require.Equal(t, want, KneesOf(rec))
	rec.Results[23], rec.Results[16] = rec.Results[16], rec.Results[23] // the odd one last
	require.Equal(t, want, KneesOf(rec))
}

func TestAboveTheShareAtTheSmallestSize(t *testing.T) {
	a := KneesOf(kneeSweep(t, kneeNode, doubling(64*unit.MiB, 16*unit.GiB), alphaBeta))
	c := onlyKnees(t, a)
	require.True(t, c.Points[0].AtSmallestSize)
	require.Equal(t, 64*unit.MiB, c.Points[0].Bytes)
	require.Greater(t, c.Points[0].BusBW, 0.5*c.PlateauBusBW)
	require.Contains(t, codes(a.Warnings), "knee_below_sweep")
	require.NotContains(t, codes(a.Warnings), "not_saturated")
}

// A dip behind the first crossing moves the safe size beyond the dip.
func TestDipMovesTheSafeSize(t *testing.T) {
	dip := float64(256 * unit.MiB)
	a := KneesOf(kneeSweep(t, kneeNode, kneeWide(), func(s float64) float64 {
		if s == dip {
			return 3 * alphaBeta(s)
		}
		return alphaBeta(s)
	}))
	for _, p := range onlyKnees(t, a).Points {
		require.Less(t, p.FirstBytes, 128*unit.MiB)
		require.Greater(t, p.Bytes, 256*unit.MiB)
		require.Less(t, p.Bytes, 512*unit.MiB)
	}
	require.Subset(t, codes(a.Warnings), []string{"hole", "crosses_again"})
	kinds := map[string]int64{}
	for _, h := range a.Curves[0].Holes {
		kinds[h.Kind] = h.FromBytes
	}
	require.Equal(t, 256*unit.MiB, kinds[BusBWDrops])
	require.Equal(t, 256*unit.MiB, kinds[TimeFalls], "512 MiB takes less than three times 256 MiB")
}

// Where the curve falls behind its plateau, the size holds up to a bound.
func TestFallBehindThePlateau(t *testing.T) {
	peak := float64(64 * unit.MiB)
	a := KneesOf(kneeSweep(t, kneeNode, kneeWide(), func(s float64) float64 {
		return s / min(1, s/peak) * max(1, math.Sqrt(s/peak))
	}))
	c := onlyKnees(t, a)
	require.Equal(t, 64*unit.MiB, c.PlateauBytes)
	for _, p := range c.Points {
		require.NotNil(t, p.UpToBytes)
		require.InEpsilon(t, peak/(p.Fraction*p.Fraction), float64(*p.UpToBytes), 1e-6, "upper end")
		require.InEpsilon(t, peak*p.Fraction, float64(p.Bytes), 1e-6, "lower end")
	}
	require.Contains(t, codes(a.Warnings), "falls_behind_plateau")
}

func TestUnsaturatedSweepAsksForMore(t *testing.T) {
	a := KneesOf(kneeSweep(t, kneeNode, doubling(unit.KiB, 8*unit.MiB), alphaBeta))
	require.False(t, onlyKnees(t, a).Saturated)
	require.Contains(t, codes(a.Warnings), "not_saturated")
	require.Contains(t, a.Warnings[0].Hint, "raise -e above 8 MiB")
}

func TestUnknownDtypeHasNoElements(t *testing.T) {
	rec := kneeSweep(t, kneeNode, kneeWide(), alphaBeta)
	for i := range rec.Results {
		rec.Results[i].Dtype = "fp6_e3m2"
	}
	require.Zero(t, onlyKnees(t, KneesOf(rec)).Points[0].Elements)
}

func TestTextSaysSimulatedAndWhatIsNeeded(t *testing.T) {
	rec := kneeSweep(t, kneeNode, kneeWide(), alphaBeta)
	rec.Simulated = true
	rec.Results[0].Extrapolated = true
	a := KneesOf(rec)
	require.True(t, strings.HasPrefix(a.Sentence(), "SIMULATED, extrapolated: all_reduce on 8 ranks reaches 50 % from "))
	require.NotContains(t, a.Sentence(), "\n")
	rec.Simulated = false
	require.NotContains(t, KneesOf(rec).Sentence(), "SIMULATED")
}

func TestJSONHasNoNullLists(t *testing.T) {
	for _, rec := range []*record.Record{{}, kneeSweep(t, kneeNode, kneeWide()[:3], alphaBeta), kneeSweep(t, kneeNode, kneeWide(), alphaBeta)} {
		var b bytes.Buffer
		require.NoError(t, KneesOf(rec).WriteJSON(&b))
		require.True(t, strings.HasSuffix(b.String(), "}\n"))
		for _, list := range []string{"curves", "needs", "warnings", "points", "holes"} {
			require.NotContains(t, b.String(), `"`+list+`": null`)
		}
		var back Knees
		require.NoError(t, json.Unmarshal(b.Bytes(), &back))
		require.Equal(t, KneesOf(rec), back)
	}
}
