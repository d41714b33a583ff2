package rccl_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/test/longtest"
)

// groupsOf runs all_reduce in groups of two on two nodes, with faults.
func groupsOf(t *testing.T, seed uint64, faults ...string) []record.Result {
	t.Helper()
	w := spec.World{Nodes: 2, GPUsPerNode: 8, GPUsPerProcess: 1}
	d, _ := open(t, w, fabric.Conditions{Seed: seed, Faults: faults, Groups: []int{2}}, nil)
	a := axes(t, w, "all_reduce")
	a.MinBytes, a.MaxBytes, a.Factor, a.InPlace, a.Groups = 1<<20, 1<<26, 8, []bool{false}, []int{2}
	results := run(t, d, a.Cases(), plan.DefaultOptions())
	require.NoError(t, d.Close())
	return results[3:] // the whole world comes first
}

// A slow link is found by the group that holds it, in every seed; without it no
// group is named.
func TestLongSlowLinkNamesItsGroup(t *testing.T) {
	longtest.OnlyOrDetected(t)
	for seed := range uint64(5) {
		for _, r := range groupsOf(t, seed, "slow_link:node=1,a=2,b=3,left=0.5") {
			require.Equal(t, record.OK, r.Status, r.Reason)
			require.Equal(t, 8, r.Groups)
			require.Equal(t, 10, r.SlowestGroup.FirstRank, "seed %d, %s", seed, r.Key)
			require.Contains(t, codes(r), "slow_group")
			require.Empty(t, r.Isolated.Late, "groups do not wait for each other")
		}
		for _, r := range groupsOf(t, seed) {
			require.NotContains(t, codes(r), "slow_group", "seed %d, %s", seed, r.Key)
		}
	}
}

// A slow rail is found by the group that uses it, and a GPU whose data are wrong is
// named by its rank in the world, also where ranks of a group lie apart.
func TestStridedGroupsNameTheirOwn(t *testing.T) {
	apart := func(seed uint64, size int64, faults ...string) []record.Result {
		w := spec.World{Nodes: 4, GPUsPerNode: 8, GPUsPerProcess: 1}
		d, _ := open(t, w, fabric.Conditions{Seed: seed, Faults: faults, Strides: []int{8}}, nil)
		a := axes(t, w, "all_reduce")
		a.MinBytes, a.MaxBytes, a.InPlace, a.Strides = size, size, []bool{false}, []int{8}
		results := run(t, d, a.Cases(), plan.DefaultOptions())
		require.NoError(t, d.Close())
		return results[1:] // the whole world comes first
	}
	for seed := range uint64(3) {
		for _, r := range apart(seed, 1<<26, "slow_rail:node=2,rail=5,left=0.5") {
			require.Equal(t, record.OK, r.Status, r.Reason)
			require.Equal(t, [3]int{8, 4, 8}, [3]int{r.Groups, r.Ranks, r.Stride})
			require.Equal(t, 5, r.SlowestGroup.FirstRank, "seed %d, %s", seed, r.Key)
			require.Contains(t, codes(r), "slow_group")
			require.Contains(t, r.Warnings[0].Message, "ranks 5, 13, … 29")
		}
		for _, r := range apart(seed, 1<<26) {
			require.NotContains(t, codes(r), "slow_group", "seed %d, %s", seed, r.Key)
		}
	}
	for _, r := range apart(1, 1<<16, "corrupt:node=2,gpu=5,index=7") {
		require.Equal(t, record.WrongData, r.Status)
		require.Contains(t, r.Reason, "rank 21", r.Key)
	}
	slow, good := apart(1, 1<<26, "flaky_link:node=2,part=1,times=3")[0], apart(1, 1<<26)[0]
	require.InEpsilon(t, 3, slow.Isolated.MaxOfRanks.Median/good.Isolated.MaxOfRanks.Median, 0.1, "every group is on every node")
}

func codes(r record.Result) []string {
	out := []string{}
	for _, w := range r.Warnings {
		out = append(out, w.Code)
	}
	return out
}

// Every group's result is verified by itself: its ranks count from 0.
func TestGroupsAndScalesAreVerified(t *testing.T) {
	w := spec.World{Nodes: 4, GPUsPerNode: 8, GPUsPerProcess: 1}
	d, m := open(t, w, fabric.Conditions{Groups: []int{2, 4, 8, 16}, Strides: []int{4, 16}, Scales: []int{1, 2, 4}}, quiet)
	a := axes(t, w, "all_reduce", "reduce_scatter", "all_to_all", "scatter")
	a.MinBytes, a.MaxBytes, a.Groups, a.Scales = 1<<16, 1<<16, []int{2, 4, 8, 16}, []int{1, 2, 4}
	a.Strides = []int{4, 16}
	seen, several := map[fabric.Group]bool{}, 0
	for _, r := range run(t, d, a.Cases(), few()) {
		require.Equal(t, record.VerifiedOK, r.Verified.State, "%s: %s", r.Key, r.Verified.Reason)
		g := fabric.Group{Ranks: r.Ranks, Stride: r.Stride}
		seen[g] = true
		if r.Ranks == 16 && r.Groups == 2 {
			require.Equal(t, 2, r.Nodes, r.Key)
			several++
		}
		require.InEpsilon(t, m.Curves[g][r.Collective].Time(float64(r.Bytes)), r.Isolated.MaxOfRanks.Median, 1e-4, r.Key)
	}
	require.Equal(t, 7, several, "groups of two nodes, four collectives, three of them in place too")
	require.Len(t, seen, 7, "2, 4, 8, 16 and 32 neighbours; a scale of 4 nodes is the whole; 8 and 2 that lie apart")
}
