package rccl_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
)

// On the virtual clock the launches of a graph are the launches: where the
// collective, not the host, takes the time, replays take the same as plain ones
// to the last bit. Messages draw their noise in the order of their calls, which a
// graph changes: they are compared without.
func TestReplaysTakeWhatLaunchesTake(t *testing.T) {
	w := spec.World{Nodes: 1, GPUsPerNode: 8, GPUsPerProcess: 1}
	for _, x := range []struct {
		noise float64
		names []string
	}{{0.01, []string{"all_reduce", "all_gather"}}, {0, []string{"send_recv", "all_reduce"}}} {
		d, _ := open(t, w, fabric.Conditions{Seed: 1}, func(m *fabric.Machine) { m.Host.Noise, m.Host.ExitJitter = x.noise, x.noise*1e-5 })
		a := axes(t, w, x.names...)
		a.MaxBytes, a.InPlace = 4<<20, []bool{false}
		cases := a.Cases()
		allocate(t, d, cases)
		times := func(c plan.Case, b plan.Bursts) []float64 {
			require.NoError(t, d.Begin(c, 0))
			seconds, err := d.Burst(t.Context(), b)
			require.NoError(t, err)
			return slices.Clone(seconds)
		}
		for _, c := range cases {
			plain := times(c, plan.Bursts{Count: 2, Iterations: 12})
			require.Equal(t, plain, times(c, plan.Bursts{Count: 2, Iterations: 12, Replays: 1}), c.Key)
			require.Equal(t, plain, times(c, plan.Bursts{Count: 2, Iterations: 4, Replays: 3}), c.Key)
			require.Equal(t, plain, times(c, plan.Bursts{Count: 2, Iterations: 12}), "and plain ones after them")
		}
		require.NoError(t, d.Close())
	}
}

// Eight GPUs in one process: launched one by one they wait for the host, eight
// launches of 6.25 µs; replayed they do not.
func TestReplaysSpareTheHost(t *testing.T) {
	w := spec.World{Nodes: 1, GPUsPerNode: 8, GPUsPerProcess: 8}
	d, _ := open(t, w, fabric.Conditions{Seed: 1}, nil)
	a := axes(t, w, "all_reduce")
	a.MaxBytes, a.Calls.GraphLaunches, a.InPlace = a.MinBytes, 5, []bool{false}
	r := run(t, d, a.Cases(), plan.DefaultOptions())[0]
	require.Equal(t, record.OK, r.Status, r.Reason)
	require.Equal(t, record.VerifiedOK, r.Verified.State)
	require.InEpsilon(t, 13.5e-6, r.Burst.MeanOfRanks.Median, 0.06)
	require.Equal(t, 100, r.Burst.Iterations)
	require.Equal(t, 1, r.Isolated.Iterations)
}
