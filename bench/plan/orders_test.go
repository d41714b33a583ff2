package plan_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/plan"
	"zbench/bench/record"
)

// batches counts the batches that a driver is asked for: with several processes each is
// an order.
type batches struct {
	meter
	bursts, isolated int
}

func (b *batches) Burst(ctx context.Context, o plan.Bursts) ([]float64, error) {
	b.bursts++
	return b.meter.Burst(ctx, o)
}

func (b *batches) Isolated(ctx context.Context, n int) ([]float64, error) {
	b.isolated++
	return b.meter.Isolated(ctx, n)
}

// WarmUp is the meter's: it is no batch.
func (b *batches) WarmUp(ctx context.Context, n int) ([]float64, error) {
	return b.meter.Burst(ctx, plan.Bursts{Count: 1, Iterations: n})
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
