package plan_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/plan"
	"zbench/bench/run/record"
)

// late is a driver whose first so many batches of launches alone began before the
// host had enqueued them.
type late struct {
	*script
	unheld, batches int
}

func (d *late) Isolated(ctx context.Context, n int) ([]float64, error) {
	d.batches++
	return d.script.Isolated(ctx, n)
}

func (d *late) Held() bool { return d.batches > d.unheld }

func taken(t *testing.T, unheld int) (record.Result, []record.Part) {
	t.Helper()
	d := &late{script: &script{ranks: 1}, unheld: unheld}
	d.isolated = func(int, int) float64 {
		if d.Held() {
			return 1e-3
		}
		return 5e-3
	}
	a := alone(t)
	a.MaxBytes = a.MinBytes
	var parts []record.Part
	log := plan.Log{Append: func(p record.Part) error { parts = append(parts, p); return nil }}
	results, err := resume(context.Background(), a.Cases(), d, options(10, 40), log, func(record.Result) {})
	require.NoError(t, err)
	require.Equal(t, record.OK, results[0].Status)
	return results[0], parts
}

// Batches that outlived their hold are no samples and are taken again.
func TestEarlyBatchesAreRepeated(t *testing.T) {
	r, parts := taken(t, 3)
	require.Equal(t, 3, parts[0].Isolated.Repeated)
	require.Zero(t, parts[0].Isolated.StartedEarly)
	require.Zero(t, parts[1].Isolated.Repeated)
	require.Equal(t, 40, r.Isolated.MaxOfRanks.N)
	require.InDelta(t, 1e-3, r.Isolated.MaxOfRanks.Max, 1e-12)
	require.Empty(t, r.Warnings)
}

// A host that never gets ahead does not hold the sweep up: after some batches the
// launches are kept, and the case says so.
func TestRepeatedBatchesAreBounded(t *testing.T) {
	r, parts := taken(t, 1<<30)
	for _, p := range parts {
		require.Equal(t, plan.MostRepeats, p.Isolated.Repeated)
		require.Equal(t, 20, p.Isolated.StartedEarly)
	}
	require.Len(t, r.Warnings, 1)
	require.Equal(t, "host_bound", r.Warnings[0].Code)
	require.Contains(t, r.Warnings[0].Message, "40 of 40 isolated launches")
}

// In a group one process that did not hold its streams is enough.
func TestOneProcessUnheldIsTheGroups(t *testing.T) {
	parts := three()
	inGroup(t, parts, backgrounds(3), func(ctx context.Context, g *plan.Group) {
		for _, p := range parts {
			p.unheld = p.number == 1
			_, err := g.Isolated(ctx, 2)
			require.NoError(t, err)
			require.Equal(t, p.number != 1, g.Held())
			p.unheld = false
		}
	})
}
