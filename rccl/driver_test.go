package rccl_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/collective"
	"zbench/bench/fabric"
	"zbench/bench/plan"
	"zbench/bench/record"
	"zbench/internal/native"
	"zbench/rccl"
)

// open resolves the fabric and opens a loopback over it. Change edits the
// machine first; nil leaves it.
func open(t *testing.T, name string, w fabric.World, change func(*fabric.Machine)) (*rccl.Driver, *fabric.Machine) {
	t.Helper()
	f, err := fabric.ByName(name)
	require.NoError(t, err)
	m, err := f.Resolve(w, 1)
	require.NoError(t, err)
	if change != nil {
		change(m)
	}
	d, err := rccl.Open(rccl.Config{Native: native.Options{Backend: "loopback", Machine: m.Text()}, Ranks: w.Ranks()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d, m
}

func axes(t *testing.T, w fabric.World, names ...string) plan.Axes {
	t.Helper()
	a := plan.Axes{MinBytes: 1 << 10, MaxBytes: 8 << 30, Factor: 2, Ranks: w.Ranks(), Nodes: w.Nodes, GPUsPerProcess: w.GPUsPerProcess}
	for _, n := range names {
		c, err := collective.ByName(n)
		require.NoError(t, err)
		a.Collectives = append(a.Collectives, c)
	}
	var err error
	a.Dtype, err = collective.DtypeByName("float")
	require.NoError(t, err)
	a.Op, err = collective.OpByName("sum")
	require.NoError(t, err)
	require.NoError(t, a.Validate())
	return a
}

// Without noise, jitter and launch cost a burst is the closed form.
func TestBurstIsTheModel(t *testing.T) {
	w := fabric.World{Nodes: 2, GPUsPerNode: 8, GPUsPerProcess: 1}
	d, m := open(t, "mi300x-pollara", w, func(m *fabric.Machine) { m.Host = fabric.Host{} })
	cases := axes(t, w, collective.Names()...).Cases()
	require.NoError(t, d.Allocate(cases))
	results := plan.Run(context.Background(), cases, d, plan.DefaultOptions(), func(record.Result) {})
	require.Len(t, results, len(collective.Names())*24)
	for _, r := range results {
		require.Equal(t, record.OK, r.Status, r.Reason)
		want := m.Curves[r.Collective].Time(float64(r.Bytes))
		require.InEpsilon(t, want, r.Burst.MeanOfRanks.Median, 1e-4, r.Key) // the clock counts nanoseconds
		require.InEpsilon(t, want, r.Burst.MaxOfRanks.Median, 1e-4, r.Key)
	}
}

// One process that drives eight GPUs launches them one after the other: the
// floor rises to eight launch costs, as ROCm/rccl issue 1562 shows.
func TestLaunchesOfOneProcessAreSerial(t *testing.T) {
	for _, g := range []int{1, 8} {
		w := fabric.World{Nodes: 1, GPUsPerNode: 8, GPUsPerProcess: g}
		d, m := open(t, "mi300x-8gpu", w, nil)
		a := axes(t, w, "all_reduce")
		a.MaxBytes = a.MinBytes
		cases := a.Cases()
		require.NoError(t, d.Allocate(cases))
		r := plan.Run(context.Background(), cases, d, plan.DefaultOptions(), func(record.Result) {})[0]
		require.InEpsilon(t, max(13e-6, float64(g)*m.Host.Launch), r.Burst.MeanOfRanks.Median, 0.06)
		require.NoError(t, d.Close())
	}
}

// The draws depend on seed and case, not on what ran before.
func TestNoiseDependsOnTheCaseAlone(t *testing.T) {
	w := fabric.World{Nodes: 2, GPUsPerNode: 8, GPUsPerProcess: 1}
	d, _ := open(t, "mi300x-pollara", w, nil)
	cases := axes(t, w, "all_reduce", "all_gather").Cases()
	require.NoError(t, d.Allocate(cases))
	all := plan.Run(context.Background(), cases, d, plan.DefaultOptions(), func(record.Result) {})
	again := plan.Run(context.Background(), cases[30:31], d, plan.DefaultOptions(), func(record.Result) {})
	require.InEpsilon(t, all[30].Burst.MeanOfRanks.Median, again[0].Burst.MeanOfRanks.Median, 1e-4)
	require.Greater(t, *all[30].Burst.MeanOfRanks.CV, 1e-4)
	require.Less(t, *all[30].Burst.MeanOfRanks.CV, 0.01)
}

func TestCancelInterrupts(t *testing.T) {
	w := fabric.World{Nodes: 1, GPUsPerNode: 8, GPUsPerProcess: 1}
	d, _ := open(t, "mi300x-8gpu", w, nil)
	cases := axes(t, w, "all_reduce").Cases()
	require.NoError(t, d.Allocate(cases))
	ctx, cancel := context.WithCancel(context.Background())
	seen := 0
	results := plan.Run(ctx, cases, d, plan.DefaultOptions(), func(record.Result) {
		if seen++; seen == 3 {
			cancel()
		}
	})
	require.Len(t, results, len(cases))
	require.Equal(t, record.OK, results[2].Status)
	for _, r := range results[3:] {
		require.Equal(t, record.Interrupted, r.Status)
	}
}
