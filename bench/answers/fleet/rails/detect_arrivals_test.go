package rails

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/finding"
)

// job draws the collectives of a job whose ranks compute for times with a standard deviation of
// 2 % of a collective; rank 4 computes longer by so much of it.
func job(seed uint64, ranks, n int, longer float64) []Call {
	rng := rand.New(rand.NewPCG(seed, 3))
	var out []Call
	for k := range n {
		own := math.Exp(0.1*rng.NormFloat64()) * 1e-2
		arrival := make([]float64, ranks)
		last := 0.0
		for r := range arrival {
			arrival[r] = 0.02 * own * rng.NormFloat64()
			if r == 4 {
				arrival[r] += longer * own
			}
			last = max(last, arrival[r])
		}
		for r, at := range arrival {
			out = append(out, Call{r, "all_gather", 1 << 20, float64(k) + at, own + last - at})
		}
	}
	return out
}

// A rank that is last four times as often as chance makes it is found in every draw, although
// it is behind by less than 5 % of a collective.
func TestWhoIsLastIsFoundInEveryDraw(t *testing.T) {
	for seed := range uint64(20) {
		v := Arrivals(job(seed, 8, 488, 0.028), nil)
		require.True(t, v.Exactly(Component{Part: Rank, Node: -1, A: 4}), "seed %d: %+v", seed, v.Findings)
		require.InDelta(t, 253, v.Arrivals[0].Last, 45)
		require.Contains(t, v.Findings[0].Reasons[0], fmt.Sprintf("arrives last at %d of ", v.Arrivals[0].Last))
		require.NotZero(t, v.Findings[0].Lost)
	}
}

// Of 1,000 jobs without a late rank none is blamed: the bar is 1 in 10,000.
func TestNoRankIsBlamedByChance(t *testing.T) {
	for seed := range uint64(1000) {
		v := Arrivals(job(seed, 8, 20+int(seed%60), 0), map[int]int{0: 0, 1: 0, 2: 0, 3: 0, 4: 1, 5: 1, 6: 1, 7: 1})
		require.Equal(t, finding.Healthy, v.State, "seed %d: %+v", seed, v.Findings)
	}
}

// Five collectives of eight ranks cannot tell who is last: nothing is named, and nothing is
// called well. The third rank is never last, and has the largest median lateness.
func TestTooFewCollectivesSayNothing(t *testing.T) {
	var calls []Call
	for k, durations := range [][]float64{
		{90, 90, 60, 90, 10, 90, 90, 90},
		{50, 50, 40, 50, 20, 50, 50, 50},
		{30, 30, 29, 30, 28, 30, 30, 30},
		{30, 20, 25, 30, 28, 30, 30, 30},
		{9, 8, 6, 7, 9, 5, 9, 9},
	} {
		for r, d := range durations {
			calls = append(calls, Call{r, "all_reduce", 8, float64(k), d * 1e-3})
		}
	}
	v := Arrivals(calls, nil)
	require.Equal(t, finding.NotChecked, v.State, "%+v", v.Findings)
	require.Contains(t, v.Unchecked[0], "5 collectives of 8 ranks are too few to say; rank 4 was last at 3")
}

// Clocks tick: where several ranks have the shortest time, none of them was last.
func TestRanksThatArriveLastTogether(t *testing.T) {
	var calls []Call
	rng := rand.New(rand.NewPCG(1, 4))
	for k := range 400 {
		for r := range 8 {
			calls = append(calls, Call{r, "all_reduce", 8, float64(k), float64(30+rng.IntN(3)) * 1e-5})
		}
	}
	require.Equal(t, finding.Healthy, Arrivals(calls, nil).State)
}

// Being last costs nothing where the others hardly wait: it is noted, not a fault.
func TestARankThatIsLastByNothing(t *testing.T) {
	var calls []Call
	for k := range 100 {
		for r := range 8 {
			calls = append(calls, Call{r, "all_reduce", 8, float64(k), 1e-2 - 1e-6*b(r == 2)})
		}
	}
	v := Arrivals(calls, nil)
	require.Equal(t, finding.Healthy, v.State, "%+v", v.Findings)
	require.Equal(t, Component{Part: Rank, Node: -1, A: 2}, v.Cleared[0].Component)
	require.Contains(t, v.Cleared[0].Why, "arrives last at 100 of 100")
}
