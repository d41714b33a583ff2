package plan_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/plan"
	"zbench/bench/run/record"
)

// The first batches of both timings take one order: of their own in the first pass of a
// curve's first case, where the warm-up must come first, and else that of the preparation.
func TestFirstBatchesShareAnOrder(t *testing.T) {
	parts := three()
	a := axes(t, "all_reduce")
	a.World.GPUsPerNode = 6
	o := options(10, 20)
	o.Warmup, o.Checks, o.Burst.MaxTime, o.Isolated.MaxTime = 5, 1, 0, 0
	sent := recorded(t, parts, func(ctx context.Context, g *plan.Group, sent *recorder) {
		cases := a.Cases()[:2]
		require.NoError(t, g.Allocate(ctx, plan.Room{Bytes: 1 << 20}))
		g.Counters() // none has any
		sent.orders = nil
		for _, r := range plan.Run(ctx, cases, g, o, func(record.Result) {}) {
			require.Equal(t, record.OK, r.Status, r.Reason)
			require.Equal(t, 10, r.Burst.MeanOfRanks.N)
			require.Equal(t, 20, r.Isolated.MaxOfRanks.N)
			require.InDelta(t, 1.201, r.Isolated.MaxOfRanks.Min, 1e-12, "launch 0 of the last rank")
		}
	})
	require.Equal(t, []string{"prepare", "batches", "prepare", "prepare", "prepare", "end"}, sent.orders)
}

// Several verifications come before the first batches of a case, which have an order of
// their own then.
func TestFirstBatchesFollowAllVerifications(t *testing.T) {
	parts := three()
	a := axes(t, "all_reduce")
	a.World.GPUsPerNode = 6
	o := options(10, 20)
	o.Warmup, o.Checks, o.Burst.MaxTime, o.Isolated.MaxTime = 5, 2, 0, 0
	sent := recorded(t, parts, func(ctx context.Context, g *plan.Group, sent *recorder) {
		require.NoError(t, g.Allocate(ctx, plan.Room{Bytes: 1 << 20}))
		g.Counters() // none has any
		sent.orders = nil
		plan.Run(ctx, a.Cases()[:2], g, o, func(r record.Result) { require.Equal(t, 2, r.Verified.Launches) })
	})
	first := []string{"prepare", "verify", "batches"}
	require.Equal(t, slices.Concat(first, first, []string{"prepare", "prepare", "end"}), sent.orders)
}

// Isolated launches that began early are taken again, also where bursts came after them.
func TestEarlyLaunchesAreKnownAfterMoreBursts(t *testing.T) {
	parts := three()
	for _, p := range parts {
		p.unheld = p.number == 1
		p.onBurst = func() {
			if p.bursts++; p.bursts == 2 { // the isolated launches follow the first batch
				p.unheld = false
			}
		}
	}
	a := axes(t, "all_reduce")
	a.World.GPUsPerNode = 6
	o := options(12, 4)
	o.Burst.Batch = 2
	var kept []record.Part
	log := plan.Log{Append: func(p record.Part) error { kept = append(kept, p); return nil }}
	inGroup(t, parts, backgrounds(3), func(ctx context.Context, g *plan.Group) {
		_, err := plan.Resume(ctx, a.Cases()[:1], g, o, log, func(record.Result) {})
		require.NoError(t, err)
	})
	require.Len(t, kept, 2)
	require.Equal(t, []int{1, 0}, []int{kept[0].Isolated.Repeated, kept[1].Isolated.Repeated})
	require.Zero(t, kept[0].Isolated.StartedEarly)
}

// forgetful is a driver that knows of its last batch alone whether it was held.
type forgetful struct {
	*script
	batches int
	held    bool
}

func (d *forgetful) Burst(ctx context.Context, b plan.Bursts) ([]float64, error) {
	d.held = true
	return d.script.Burst(ctx, b)
}

func (d *forgetful) Isolated(ctx context.Context, n int) ([]float64, error) {
	d.batches++
	d.held = d.batches > 1
	return d.script.Isolated(ctx, n)
}

func (d *forgetful) Held() bool { return d.held }

func TestBurstsDoNotHideEarlyLaunches(t *testing.T) {
	d := &forgetful{script: &script{ranks: 1}}
	a := alone(t)
	a.MaxBytes = a.MinBytes
	o := options(12, 4)
	o.Burst.Batch = 2
	var kept []record.Part
	log := plan.Log{Append: func(p record.Part) error { kept = append(kept, p); return nil }}
	_, err := plan.Resume(t.Context(), a.Cases(), d, o, log, func(record.Result) {})
	require.NoError(t, err)
	require.Equal(t, []int{1, 0}, []int{kept[0].Isolated.Repeated, kept[1].Isolated.Repeated})
}
