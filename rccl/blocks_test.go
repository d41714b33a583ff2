package rccl_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/collective"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/internal/native"
	"zbench/test/longtest"
)

// A case that is too large for the budget is checked by random blocks: a healthy one is right, and what is wrong in all of
// a rank's result, in place or not, is found.
func TestLongBlocksOfLargeCases(t *testing.T) {
	longtest.OnlyOrDetected(t)
	w := spec.World{Nodes: 1, GPUsPerNode: 4, GPUsPerProcess: 1}
	for _, fault := range dataFaults {
		kind, d := openWith(t, w, fault)
		var cases []plan.Case
		for _, c := range collective.All() {
			a := axes(t, w, c.Name)
			a.MinBytes, a.MaxBytes = 64<<20, 64<<20
			for _, one := range a.Cases() {
				one.ByBlocks = c.Name != "scatter" // one that is not marked
				cases = append(cases, one)
			}
		}
		messages := map[string]bool{} // they are moved whole
		for _, c := range cases {
			messages[c.Collective.Name] = c.Collective.Messages() || c.Collective.Uneven
		}
		for _, r := range run(t, d, cases, few()) {
			if r.Collective == "scatter" || messages[r.Collective] {
				require.Equal(t, record.NotVerified, r.Verified.State, r.Key)
				continue
			}
			want, state := record.OK, record.VerifiedBlocks
			if kind != "" && kind != "corrupt" && visible(t, kind, r) {
				want, state = record.WrongData, record.VerifiedWrong
			}
			require.Equal(t, want, r.Status, "%s in %s: %s", fault, r.Key, r.Reason)
			require.Equal(t, state, r.Verified.State, r.Key)
			require.Equal(t, 64, r.Verified.Blocks, r.Key)
			require.Equal(t, int64(4096), r.Verified.BlockBytes, r.Key)
		}
		require.NoError(t, d.Close())
	}
}

// The largest case of each collective that runs is marked to be checked by blocks, and no other.
func TestLargestCaseIsCheckedByBlocks(t *testing.T) {
	w := spec.World{Nodes: 2, GPUsPerNode: 4, GPUsPerProcess: 1}
	a := axes(t, w, "all_reduce", "all_gather")
	a.Groups = []int{2}
	cases := a.Cases()
	plan.Fit(cases, plan.Room{Bytes: 3 << 30})
	marked := map[string]int64{}
	for _, c := range cases {
		if c.ByBlocks {
			marked[c.Collective.Name] += c.Layout.Bytes
			require.Equal(t, 1, c.Parallel, c.Key)
		}
	}
	require.Equal(t, map[string]int64{"all_reduce": 2 << 30, "all_gather": 2 << 30}, marked, "of a rank's buffers 3 GiB fit: all_reduce in place")
}

// One wrong element is found if it lies in a block, and only then; the message says where.
func TestLongOneWrongElementInABlock(t *testing.T) {
	longtest.OnlyOrDetected(t)
	w := spec.World{Nodes: 1, GPUsPerNode: 4, GPUsPerProcess: 1}
	for _, name := range []string{"all_reduce", "reduce_scatter", "all_gather", "all_to_all"} {
		a := axes(t, w, name)
		a.MinBytes, a.MaxBytes, a.InPlace = 64<<20, 64<<20, []bool{false}
		cases := a.Cases()
		cases[0].ByBlocks = true
		healthy, _ := open(t, w, fabric.Conditions{}, quiet)
		blocks := healthy.Blocks(cases[0], 0)
		require.NoError(t, healthy.Close())
		b := blocks[slices.IndexFunc(blocks, func(b native.Block) bool { return b.To < 0 || b.To == 1 })]
		for _, at := range []int64{b.RecvAt - 1, b.RecvAt, b.RecvAt + b.Count - 1, b.RecvAt + b.Count} {
			d, _ := open(t, w, fabric.Conditions{Faults: []string{fmt.Sprintf("corrupt:node=0,gpu=1,index=%d", at)}}, quiet)
			r := run(t, d, cases, few())[0]
			if at < b.RecvAt || at >= b.RecvAt+b.Count {
				require.Equal(t, record.VerifiedBlocks, r.Verified.State, "%s: %s", name, r.Reason)
			} else {
				require.Equal(t, int64(1), *r.Verified.Wrong, name)
				require.Contains(t, r.Reason, fmt.Sprintf("first on rank 1 at element %d ", at))
			}
			require.NoError(t, d.Close())
		}
	}
}
