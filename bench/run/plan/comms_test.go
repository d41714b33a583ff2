package plan_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"zbench/bench/run/plan"
	"zbench/bench/run/record"
)

// Ids of communicators come from the process of rank 0, and each process gets those of
// its own communicators, in ascending order; each is made once.
func TestIDsTravelToTheirProcesses(t *testing.T) {
	a := axes(t, "all_reduce")
	a.World.GPUsPerNode, a.MaxBytes, a.Groups, a.Strides = 12, a.MinBytes, []int{4}, []int{3}
	var parts []*part
	for i := range 6 {
		parts = append(parts, &part{number: i})
	}
	inGroup(t, parts, backgrounds(6), func(ctx context.Context, g *plan.Group) {
		for _, r := range plan.Run(ctx, a.Cases(), g, options(2, 2), func(record.Result) {}) {
			require.Equal(t, record.OK, r.Status, r.Reason)
		}
	})
	var joins []string
	for _, did := range parts[3].asked {
		if strings.HasPrefix(did, "join") {
			joins = append(joins, did)
		}
	}
	require.Equal(t, "join 1 x 12: 0 made by 0", joins[0])
	require.Contains(t, joins[1], "join 3 x 4: ")
	require.Contains(t, joins[1], "1 made by 2", "ranks 4 to 7")
	require.Contains(t, joins[2], "0 made by 0, 1 made by 0, 2 made by 1", "ranks 6 and 7 are of communicators 0 and 1")
}

// Every rank of every communicator is held by exactly one process, in the order of the
// communicator, however the world is cut.
func TestProcessesHoldEveryRankOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		nodes, perNode := rapid.IntRange(1, 5).Draw(rt, "nodes"), rapid.SampledFrom([]int{2, 4, 8}).Draw(rt, "GPUs")
		size := nodes * perNode
		c := rapid.SampledFrom([]plan.Comms{
			{Ranks: size, Count: 1},
			{Split: plan.Split{Group: 2}, Ranks: 2, Count: size / 2},
			{Split: plan.Split{Stride: perNode}, Ranks: nodes, Count: perNode},
			{Split: plan.Split{Nodes: 1}, Ranks: perNode, Count: 1},
		}).Draw(rt, "communicators")
		next, seen := make([]int, c.Count), map[int]bool{}
		for first := 0; first < size; {
			count := rapid.IntRange(1, size-first).Draw(rt, "ranks")
			before := -1
			for _, h := range c.Held(first, count) {
				require.Greater(rt, h.Group, before, "ascending")
				before = h.Group
				require.Equal(rt, next[h.Group], h.First, "consecutive")
				for i, rank := range h.Ranks {
					require.Equal(rt, c.Split.Rank(h.Group, h.First+i, c.Ranks), rank)
					require.True(rt, rank >= first && rank < first+count && !seen[rank])
					seen[rank] = true
				}
				next[h.Group] += len(h.Ranks)
			}
			first += count
		}
		require.Equal(rt, slices.Repeat([]int{c.Ranks}, c.Count), next)
		require.Len(rt, seen, c.Active())
	})
}
