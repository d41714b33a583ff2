package rccl

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/internal/native"
)

// inThreads runs the cases in drivers of this process that share one world, each in a
// thread of its own with its share of the ranks.
func (x trial) inThreads(t *testing.T, shares []int) []record.Result {
	t.Helper()
	m, cases := x.machine(t)
	cfg := x.config(m)
	cfg.Deadlines = plan.Deadlines{First: 20, Batch: 20} // virtual seconds; each takes 5 ms of real time for each stuck rank of a driver
	var results []record.Result
	led(t, threads(t, cfg, shares), func(ctx context.Context, g *plan.Group) { results = x.sweep(ctx, t, g, cases) })
	return results
}

// threads opens drivers of this process that share a world of eight ranks.
func threads(t *testing.T, cfg Config, shares []int) []*Driver {
	t.Helper()
	drivers, errs := make([]*Driver, len(shares)), make([]error, len(shares))
	var all sync.WaitGroup
	first := 0
	for i, n := range shares {
		cfg.Native.Share = &native.Share{}
		cfg.FirstRank, cfg.Ranks, cfg.World, cfg.Devices = first, n, 8, nil
		for r := range n {
			cfg.Devices = append(cfg.Devices, first+r)
		}
		first += n
		own := cfg
		all.Go(func() { drivers[i], errs[i] = Open(own) })
	}
	all.Wait()
	for i, err := range errs {
		require.NoError(t, err)
		t.Cleanup(func() { _ = drivers[i].Close() })
	}
	return drivers
}

// Drivers in threads leave the results of one driver: a planted hang ends for all of
// them, with the same evidence.
func TestHangEndsInThreads(t *testing.T) {
	x := trial{collective: "all_reduce", faults: []string{"hang:node=1,gpu=1,bytes=2.5e5,launch=3"}}
	want := x.alone(t)
	for _, shares := range [][]int{{4, 4}, {1, 1, 1, 1, 1, 1, 1, 1}} {
		got := x.inThreads(t, shares)
		require.Len(t, got, len(want))
		for i, w := range want {
			if w.Evidence != nil {
				require.True(t, strings.HasSuffix(got[i].Reason, "; "+w.Evidence.Text()), got[i].Reason)
				e := *w.Evidence
				e.Deadline = got[i].Evidence.Deadline // shorter in threads
				w.Reason, w.Evidence = got[i].Reason, &e
			}
			require.Equal(t, w, got[i], "%v", shares)
		}
	}
}
