package plan_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/stat"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
)

// batches counts the batches that a driver is asked for: with several processes each is
// an order.
type batches struct {
	meter
	bursts, isolated int
	// longest are the seconds of the longest batch of more bursts than an interval needs.
	longest float64
}

func (b *batches) Burst(ctx context.Context, o plan.Bursts) ([]float64, error) {
	b.bursts++
	if o.Count > stat.MinInterval {
		b.longest = max(b.longest, meterCost(b.c).Launch*float64(o.Count*o.Launches()))
	}
	return b.meter.Burst(ctx, o)
}

func (b *batches) Isolated(ctx context.Context, n int) ([]float64, error) {
	b.isolated++
	return b.meter.Isolated(ctx, n)
}

// WarmUp is no batch.
func (b *batches) WarmUp(ctx context.Context, n int) ([]float64, error) {
	return b.meter.WarmUp(ctx, n)
}

// Where the samples are precise, a pass takes one batch of each timing: the warm-up has
// shown how many samples fit into the time limit.
func TestPreciseSamplesTakeOneBatch(t *testing.T) {
	cases := meterSweep(t).Cases()
	m := &batches{meter: meter{rng: rand.New(rand.NewPCG(1, 2))}}
	plan.Run(context.Background(), cases, m, plan.DefaultOptions(), func(r record.Result) {
		require.Equal(t, record.OK, r.Status)
	})
	require.Equal(t, [2]int{plan.Passes * len(cases), plan.Passes * len(cases)}, [2]int{m.bursts, m.isolated})
}

// prepared counts the bursts that are ordered with the warm-up.
type prepared struct {
	batches
	with, alone int
	// early are the first passes whose isolated launches are ordered without bursts.
	early int
}

func (p *prepared) Prepare(ctx context.Context, want plan.Preparation) (out plan.Prepared, err error) {
	if err = p.Begin(want.Case, want.Pass); err != nil {
		return out, err
	}
	out.Seconds, err = p.WarmUp(ctx, want.Warmup)
	if want.Pass == 0 && want.First.Bursts == nil && want.First.Isolated > 0 {
		p.early++
	}
	b := want.First
	if b.Bursts != nil && err == nil {
		p.with++
		out.First.Bursts, err = p.meter.Burst(ctx, *b.Bursts)
	}
	if b.Isolated > 0 && err == nil {
		p.alone++
		out.First.Isolated, err = p.meter.Isolated(ctx, b.Isolated)
		out.First.Held = p.Held()
	}
	return out, err
}

// A pass begins with its warm-up and its first bursts in one order, where an earlier pass or
// a case of the same curve has shown that the time of a launch does not decide how many
// bursts they are. The samples are those of separate orders.
func TestPassesBeginWithBursts(t *testing.T) {
	cases := meterSweep(t).Cases()
	o := plan.DefaultOptions()
	o.Checks, o.Burst.MaxTime, o.Isolated.MaxTime = 0, 10, 10
	one := &batches{meter: meter{rng: rand.New(rand.NewPCG(1, 2)), noise: 0.01}}
	both := &prepared{batches: batches{meter: meter{rng: rand.New(rand.NewPCG(1, 2)), noise: 0.01}}}
	want := plan.Run(context.Background(), cases, one, o, func(record.Result) {})
	got := plan.Run(context.Background(), cases, both, o, func(record.Result) {})
	require.Equal(t, want, got)
	const curves = 2 // nothing is known before their first cases
	require.Equal(t, plan.Passes*len(cases)-curves, both.with)
	require.Equal(t, one.bursts, both.with+both.bursts)

	// Here the time of a launch decides, so every pass asks after its warm-up.
	last := cases[len(cases)-1]
	o.Burst.MaxTime = plan.Passes * 8 * float64(o.Iterations) * meterCost(last).Launch
	slow := &prepared{batches: batches{meter: meter{rng: rand.New(rand.NewPCG(1, 2))}}}
	plan.Run(context.Background(), []plan.Case{last}, slow, o, func(record.Result) {})
	require.Zero(t, slow.with)
}

// A neighbour may tell how many isolated launches come first, and not how many bursts: then
// both wait for the warm-up, since bursts come first in every case.
func TestBurstsComeBeforeIsolatedLaunches(t *testing.T) {
	cases := meterSweep(t).Cases()
	o := plan.DefaultOptions()
	o.Checks, o.Burst.MaxTime, o.Isolated.MaxTime = 0, plan.Passes*8*float64(o.Iterations)*meterCost(cases[len(cases)/2]).Launch, 10
	p := &prepared{batches: batches{meter: meter{rng: rand.New(rand.NewPCG(1, 2))}}}
	plan.Run(context.Background(), cases, p, o, func(r record.Result) { require.Equal(t, record.OK, r.Status, r.Reason) })
	require.Zero(t, p.early)
	require.LessOrEqual(t, p.longest, o.Burst.MaxTime/plan.Passes, "the warm-up tells how many fit")
	require.Positive(t, p.with)
	require.Less(t, p.with, plan.Passes*len(cases)-2)
}
