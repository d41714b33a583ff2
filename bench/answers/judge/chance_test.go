package judge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/stat"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
)

func TestWeightedMedian(t *testing.T) {
	require.InDelta(t, 3, weightedMedian([]weighted{{1, 2}, {3, 5}, {9, 1}}), 0)
	require.InDelta(t, 1, weightedMedian([]weighted{{9, 1}, {1, 1}}), 0)
	require.Zero(t, weightedMedian(nil))
}

// launches makes a record of results with the given late counts; every result
// has the time and spread given.
func launches(ranks int, median, spread float64, counts ...[]record.LateCount) *record.Record {
	rec := &record.Record{World: record.World{World: spec.World{Nodes: 2, GPUsPerNode: ranks / 2}, Ranks: ranks}}
	for _, late := range counts {
		rec.Results = append(rec.Results, record.Result{
			Collective: "all_reduce", Case: record.Case{Status: record.OK}, Ranks: ranks, Nodes: 2, GPUsPerProcess: 1,
			Isolated: &record.Timing{MaxOfRanks: &stat.Summary{Median: median}, Spread: &stat.Summary{Median: spread}, Late: late},
		})
	}
	return rec
}

func TestPlantedLateRankIsNamed(t *testing.T) {
	rec := launches(16, 0x1p-15, 0x1p-16, []record.LateCount{{Rank: 11, Count: 38}, {Rank: 3, Count: 2}})
	rec.World.Hosts = []string{"a", "b"}
	got := Late(rec)
	require.Len(t, got, 1)
	require.Equal(t, 40, got[0].Launches)
	require.Equal(t, []LateUnit{{Rank: 11, Node: 1, GPU: 3, Ranks: 1, Host: "b", Share: 0.95, Wait: 0x1p-16, WaitShare: 0.5}}, got[0].Late)
	require.Contains(t, got[0].Late[0].text(), "Rank 11 (b, GPU 3) came last in 95 % of the launches; the others wait 15.3 µs for it, 50 % of")
}

func TestOneInNoHurryIsNotNamed(t *testing.T) {
	always := []record.LateCount{{Rank: 0, Count: 400}}
	for name, c := range map[string]struct {
		median, spread float64
		named          int
	}{
		"by nothing":              {30e-6, 0, 0}, // ties go to rank 0
		"by a hair":               {100e-6, 0.9e-6, 0},
		"by 2 % of a short time":  {10e-6, 0.21e-6, 1},
		"by 1 µs of a long time":  {1, 1e-6, 1},
		"by less of a short time": {10e-6, 0.19e-6, 0},
	} {
		require.Len(t, Late(launches(8, c.median, c.spread, always))[0].Late, c.named, name)
	}
}

func TestTwoLateRanksShareTheLaunches(t *testing.T) {
	got := Late(launches(8, 30e-6, 20e-6, []record.LateCount{{Rank: 6, Count: 50}, {Rank: 2, Count: 50}}))[0].Late
	require.Len(t, got, 2)
	require.Equal(t, []int{2, 6}, []int{got[0].Rank, got[1].Rank}, "a tie is in the order of ranks")
}

// TestChanceNamesNoRank draws the last rank uniformly, where the ranks differ
// by as much as they like.
func TestChanceNamesNoRank(t *testing.T) {
	for _, ranks := range []int{2, 8, 1024} {
		for seed := range uint64(100) {
			rng := rand.New(rand.NewPCG(seed, 1))
			var counts [][]record.LateCount
			for range 20 {
				of := make([]int, ranks)
				for range 40 {
					of[rng.IntN(ranks)]++
				}
				var late []record.LateCount
				for rank, n := range of {
					late = append(late, record.LateCount{Rank: rank, Count: n})
				}
				counts = append(counts, late)
			}
			got := Late(launches(ranks, 30e-6, 20e-6, counts...))[0]
			require.Equal(t, 800, got.Launches)
			require.Empty(t, got.Candidates)
			require.Empty(t, got.Late, fmt.Sprint(ranks, " ranks, seed ", seed))
		}
	}
}

func TestWorldsOfTwoAndOfOne(t *testing.T) {
	mine := func(n, of int) []record.LateCount {
		return []record.LateCount{{Rank: 1, Count: n}, {Rank: 0, Count: of - n}}
	}
	require.Empty(t, Late(launches(2, 30e-6, 20e-6, mine(60, 100)))[0].Late, "chance: 0.03")
	require.Len(t, Late(launches(2, 30e-6, 20e-6, mine(80, 100)))[0].Late, 1)
	require.Empty(t, Late(launches(2, 30e-6, 20e-6, mine(20, 20)))[0].Late, "20 launches are 2e-6 after the correction")
	require.Len(t, Late(launches(2, 30e-6, 20e-6, mine(22, 22)))[0].Late, 1)
	require.Empty(t, Late(launches(1, 30e-6, 0, mine(20, 20))))
}

func TestWorldsAndCollectivesAreKeptApart(t *testing.T) {
	rec := launches(8, 30e-6, 20e-6, []record.LateCount{{Rank: 5, Count: 40}}, []record.LateCount{{Rank: 1, Count: 2}}, []record.LateCount{{Rank: 2, Count: 40}})
	rec.Results[1].Ranks, rec.Results[1].Nodes = 4, 1
	rec.Results[2].Collective = "broadcast" // the root is not waited for by anybody
	got := Late(rec)
	require.Len(t, got, 2)
	require.Equal(t, []int{40, 2}, []int{got[0].Launches, got[1].Launches})
	require.Len(t, got[0].Late, 1)
	var waiting []string
	for _, name := range []string{"all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "all_to_all", "send_recv", "gather", "scatter", "what"} {
		if waitsForAll(name) {
			waiting = append(waiting, name)
		}
	}
	require.Equal(t, []string{"all_reduce", "reduce_scatter", "all_gather", "all_to_all"}, waiting)
}

func TestCountsThatCannotBe(t *testing.T) {
	rec := launches(8, 30e-6, 20e-6, []record.LateCount{{Rank: 8, Count: 99}, {Rank: -1, Count: 99}, {Rank: 2, Count: -5}})
	require.Empty(t, Late(rec))
	rec = launches(8, math.NaN(), 20e-6, []record.LateCount{{Rank: 1, Count: 99}})
	require.Empty(t, Late(rec))
}
