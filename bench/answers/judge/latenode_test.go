package judge

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
)

// lastOfLaunches draws who came last in so many launches, by the weights of ranks.
func lastOfLaunches(seed uint64, n int, weights []int) []record.LateCount {
	rng := rand.New(rand.NewPCG(seed, 2))
	all := 0
	for _, w := range weights {
		all += w
	}
	counts := make([]int, len(weights))
	for range n {
		rank := 0
		for at := rng.IntN(all); at >= weights[rank]; rank++ {
			at -= weights[rank]
		}
		counts[rank]++
	}
	var out []record.LateCount
	for rank, count := range counts {
		out = append(out, record.LateCount{Rank: rank, Count: count})
	}
	return out
}

func unitNames(units []LateUnit) (out []string) {
	for _, u := range units {
		out = append(out, u.Name())
	}
	return out
}

// What came last is told apart by the launches it shares: a node as a whole, one of its
// GPUs, half of it, a GPU beside its late node. Two nodes of eight ranks.
func TestTheLateUnitIsNamed(t *testing.T) {
	for _, x := range []struct {
		name     string
		weights  []int
		launches int
		want     []string
	}{
		{"a node, few launches", []int{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1}, 24, []string{"All 8 GPUs of node 1"}},
		{"a node", []int{1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0}, 4000, []string{"All 8 GPUs of node 0"}},
		{"a node in nine launches of ten", []int{9, 9, 9, 9, 9, 9, 9, 9, 1, 1, 1, 1, 1, 1, 1, 1}, 400, []string{"All 8 GPUs of node 0"}},
		{"a node with its latest GPU", []int{1, 1, 1, 9, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0}, 400, []string{"All 8 GPUs of node 0"}},
		{"a GPU", []int{1, 1, 1, 200, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 80, []string{"Rank 3 (node 0, GPU 3)"}},
		{"half a node", []int{1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 400, []string{"Rank 0 (node 0, GPU 0)", "Rank 1 (node 0, GPU 1)", "Rank 2 (node 0, GPU 2)", "Rank 3 (node 0, GPU 3)"}},
		{"a GPU of each node", []int{0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0}, 80, []string{"Rank 2 (node 0, GPU 2)", "Rank 10 (node 1, GPU 2)"}},
	} {
		for seed := range uint64(20) {
			got := Late(launches(16, 30e-6, 9e-6, lastOfLaunches(seed, x.launches, x.weights)))[0]
			require.ElementsMatch(t, x.want, unitNames(got.Late), "%s, seed %d: %+v", x.name, seed, got)
			require.Empty(t, got.Candidates)
		}
	}
}

// Of thirteen late ranks of sixteen few launches tell no single one from chance: they are
// candidates, and the verdict is not that no rank is late.
func TestLateRanksThatAreNotToldApartAreCandidates(t *testing.T) {
	var counts []record.LateCount
	for rank := range 16 {
		if rank%4 != 3 || rank == 15 {
			counts = append(counts, record.LateCount{Rank: rank, Count: 8})
		}
	}
	rec := launches(16, 30e-6, 9e-6, counts)
	got := Late(rec)[0]
	require.Empty(t, got.Late)
	require.Len(t, got.Candidates, 13)
	v := Record(rec)
	require.Equal(t, CodeLate, v.Faults()[0].Code)
	require.Contains(t, v.Faults()[0].Text, "Unclear which ranks are late: one of the candidates came last in 100 % of the launches")
	require.Contains(t, v.Faults()[0].Text, "rank 14 (node 1, GPU 6)")
	require.NotContains(t, fmt.Sprint(v), "late ranks")
}

// Ranks that all come last equally often are not late. The OK names the wait that would be named, and no rank
// where so few launches would name none.
func TestSkewIsNotNoRankLate(t *testing.T) {
	even := []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
	rec := launches(16, 30e-6, 9e-6, lastOfLaunches(1, 400, even))
	require.Contains(t, fmt.Sprint(Record(rec)), "late ranks")
	rec = launches(16, 30e-6, 9e-6, []record.LateCount{{Rank: 3, Count: 5}})
	require.NotContains(t, fmt.Sprint(Record(rec)), "late ranks", "five launches tell nothing")
	require.NotContains(t, fmt.Sprint(Record(rec)), "slow launches", "nor of one that is slow now and then")
}
