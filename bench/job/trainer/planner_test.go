package trainer

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawParams draws tensors of few sizes in blocks that need not rise.
func drawParams(t *rapid.T) []Param {
	params := make([]Param, rapid.IntRange(1, 120).Draw(t, "tensors"))
	sorted := rapid.Bool().Draw(t, "sorted")
	for i := range params {
		rows := rapid.SampledFrom([]int64{1, 7, 64, 256}).Draw(t, "rows")
		params[i] = Param{
			Name: fmt.Sprintf("m%d", i), Elements: rows * 96, Shape: []int64{rows, 96},
			Block: rapid.IntRange(0, 9).Draw(t, "block"), Expert: rapid.IntRange(0, 3).Draw(t, "expert") == 0,
		}
	}
	if sorted {
		slices.SortStableFunc(params, func(a, b Param) int { return a.Block - b.Block })
	}
	return params
}

// unitsByWalk is the rule of FSDP2's units tensor by tensor.
func unitsByWalk(params []Param, blocks int, run Run) []blockUnit {
	var all []blockUnit
	outside := blockUnit{hi: len(params), kept: true}
	last := -1
	for i, p := range params {
		group := 0
		if p.Block > 0 {
			group = 1 + (p.Block-1)/blocks
		}
		switch {
		case run.RootUnit && group == 0:
			outside.add(p, run)
			continue
		case group != last:
			last = group
			all = append(all, blockUnit{lo: i, kept: group == 0 && i > 0})
		}
		u := &all[len(all)-1]
		u.hi = i + 1
		u.add(p, run)
	}
	if outside.params > 0 {
		all = slices.Insert(all, 0, outside)
	}
	return all
}

func TestUnitsAreThoseOfAWalkOverTheTensors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		params, run := drawParams(t), Run{DP: rapid.IntRange(1, 9).Draw(t, "dp"), RootUnit: rapid.Bool().Draw(t, "root")}
		r := newBlockRuns(params, run)
		for blocks := 1; blocks < 12; blocks++ {
			require.Equal(t, unitsByWalk(params, blocks, run), r.units(blocks), "%d blocks a unit", blocks)
		}
	})
}

// A planner keeps what settings and runs have in common; each plan is still that of
// the setting and the run alone.
func TestAPlannerPlansAsIfEachSettingWereItsFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		params := drawParams(t)
		x := rapid.SampledFrom(table).Draw(t, "trainer")
		run := Run{DP: rapid.SampledFrom([]int{2, 6, 16}).Draw(t, "dp"), ParamDtype: "bfloat16"}
		run.Zero = rapid.SampledFrom(x.Stages).Draw(t, "stage")
		run.LayerWise = x.Name == "megatron" && run.Zero == 1 && rapid.Bool().Draw(t, "layer-wise")
		planner := x.Planner(params)
		for range 12 {
			run.GradDtype = rapid.SampledFrom([]string{"float", "bfloat16"}).Draw(t, "dtype")
			run.Accum = rapid.IntRange(1, 3).Draw(t, "accum")
			run.EP = rapid.SampledFrom([]int{1, 2}).Draw(t, "ep")
			run.RootUnit = rapid.Bool().Draw(t, "root")
			setting := rapid.Int64Range(0, 400_000).Draw(t, "setting")
			require.Equal(t, x.Plan(params, setting, run), planner.Plan(setting, run), "%s: %d", x.Name, setting)
		}
	})
}

// The bounds of a chunking hold every setting that cuts the same, and none beside.
func TestChunksHoldBetweenTheirBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		params := drawParams(t)
		w := newWholePacking(prepare(params, muon(8)), muon(8), false)
		cut := w.chunks(rapid.Int64Range(1, 400_000).Draw(t, "setting"))
		sizes := func(c chunking) (n []int) {
			for _, chunk := range c.chunks {
				n = append(n, len(chunk))
			}
			return n
		}
		require.Equal(t, sizes(cut), sizes(w.chunks(cut.over+1)))
		require.Equal(t, sizes(cut), sizes(w.chunks(cut.upTo)))
		if cut.over > 0 {
			require.NotEqual(t, sizes(cut), sizes(w.chunks(cut.over)))
		}
		if cut.upTo < math.MaxInt64 {
			require.NotEqual(t, sizes(cut), sizes(w.chunks(cut.upTo+1)))
		}
	})
}

func TestNearestIsASearch(t *testing.T) {
	for n := range 40 {
		for want := range n + 1 {
			is := func(k int) bool { return k >= want }
			require.Equal(t, sort.Search(n, is), nearest(n, is))
		}
	}
}

// What a plan allocates depends on its buckets, not on how many tensors they hold.
func TestAPlanAllocatesByItsBuckets(t *testing.T) {
	const tensors, settings = 20_000, 10
	params := make([]Param, tensors)
	for i := range params {
		params[i] = Param{Name: fmt.Sprintf("m%d", i), Elements: 4096, Block: 1 + i/10}
	}
	for _, x := range table {
		for _, layerWise := range []bool{false, x.Name == "megatron"} {
			run := Run{DP: 8, GradDtype: "float", ParamDtype: "bfloat16", Zero: x.Stages[0], LayerWise: layerWise}
			planner := x.Planner(params)
			setting := int64(tensors*4096/2 + 1) // two buckets; with whole matrices all of the settings cut the same
			if few := x.Settings(params, run); few != nil {
				setting = few[len(few)/2]
			}
			buckets := len(planner.Plan(setting, run).Buckets)
			require.Less(t, buckets, tensors/100)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for k := range int64(settings) {
				planner.Plan(setting+k, run)
			}
			runtime.ReadMemStats(&after)
			require.Less(t, (after.TotalAlloc-before.TotalAlloc)/settings, uint64(2048+256*buckets), "%s, layer-wise: %v", x.Name, layerWise)
		}
	}
}
