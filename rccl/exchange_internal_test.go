package rccl

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/collective"
	"zbench/bench/run/plan"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/internal/native"
)

// pairs is a world of two nodes of four GPUs with ways between them, and a message of 64 MiB.
func pairs(t *testing.T, noise float64, faults ...string) (*fabric.Machine, Config, plan.Case) {
	t.Helper()
	f, err := fabric.ByName(fabric.Default)
	require.NoError(t, err)
	w := spec.World{Nodes: 2, GPUsPerNode: 4, GPUsPerProcess: 1}
	m, err := f.Resolve(w, fabric.Conditions{Seed: 7, Faults: faults, Pairs: true})
	require.NoError(t, err)
	m.Host = fabric.Host{Noise: noise}
	one, err := collective.ByName("send_recv")
	require.NoError(t, err)
	kind, err := collective.DtypeByName("float")
	require.NoError(t, err)
	a := plan.Axes{MinBytes: 64 << 20, MaxBytes: 64 << 20, Factor: 2, InPlace: []bool{false}, World: w, Collectives: []collective.Collective{one}, Dtypes: []collective.Dtype{kind}}
	return m, Config{Native: native.Choice{Backend: "loopback", Machine: m.Text()}, Ranks: 8, Deadlines: plan.Deadlines{First: 20, Batch: 20}}, a.Cases()[0]
}

// exchanged is one round on a driver or on a group of them.
func exchanged(ctx context.Context, t *testing.T, p interface {
	plan.Process
	plan.Exchanger
}, e plan.Exchange,
) []float64 {
	t.Helper()
	room, err := p.Budget()
	require.NoError(t, err)
	require.NoError(t, p.Allocate(ctx, room.For([]plan.Case{e.Case})))
	got, err := p.Exchange(ctx, e)
	require.NoError(t, err)
	return slices.Clone(got)
}

// Each pair takes what its bottleneck leaves it: the link within a node, between nodes the
// slower of the two rails. A ring takes each of its steps, and who has no peer no time.
func TestExchangeTakesItsWay(t *testing.T) {
	m, cfg, c := pairs(t, 0, "slow_link:node=0,a=0,b=1,left=0.5", "slow_rail:node=1,rail=2,left=0.25", "slow_gpu:node=1,gpu=3,left=0.8", "dead_rail:node=0,rail=0")
	d, err := Open(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	const bytes = 64 << 20
	way := func(c fabric.Curve, left float64) float64 {
		c.B *= left
		return c.Time(bytes)
	}
	for name, x := range map[string]struct {
		to, from []int
		want     []float64
	}{
		"links": {[]int{1, 0, 3, 2, 5, 4, 7, 6}, nil, []float64{
			way(m.Ways.Link, 0.5), way(m.Ways.Link, 0.5), way(m.Ways.Link, 1), way(m.Ways.Link, 1),
			way(m.Ways.Link, 1), way(m.Ways.Link, 1), way(m.Ways.Link, 0.8), way(m.Ways.Link, 0.8),
		}},
		// The NIC of rail 0 is dead: its GPU shares that of rail 1.
		"rails": {[]int{4, 5, 6, 7, 0, 1, 2, 3}, nil, []float64{
			way(*m.Ways.Rail, 0.5), way(*m.Ways.Rail, 0.5), way(*m.Ways.Rail, 0.25), way(*m.Ways.Rail, 0.8),
			way(*m.Ways.Rail, 0.5), way(*m.Ways.Rail, 0.5), way(*m.Ways.Rail, 0.25), way(*m.Ways.Rail, 0.8),
		}},
		"one pair": {[]int{-1, -1, 7, -1, -1, -1, -1, 2}, nil, []float64{0, 0, way(*m.Ways.Rail, 0.8), 0, 0, 0, 0, way(*m.Ways.Rail, 0.8)}},
		"a ring": {[]int{4, -1, -1, -1, 5, 0, -1, -1}, []int{5, -1, -1, -1, 0, 4, -1, -1}, []float64{
			way(*m.Ways.Rail, 0.5), 0, 0, 0, way(*m.Ways.Rail, 0.5), way(*m.Ways.Rail, 0.5), 0, 0,
		}},
	} {
		got := exchanged(t.Context(), t, d, plan.Exchange{Case: c, Round: 3, To: x.to, From: x.from, Warmup: 2, Launches: 3})
		require.Len(t, got, 3*8)
		for i, seconds := range got {
			require.InDelta(t, x.want[i%8], seconds, 1e-8, "%s, rank %d", name, i%8)
		}
	}
}

// Drivers in threads measure what one driver does, to the last bit; each pair and each round
// has its own noise, the two ends of a pair the same.
func TestExchangeOfSeveralProcesses(t *testing.T) {
	_, cfg, c := pairs(t, 0.01)
	e := plan.Exchange{Case: c, To: []int{4, 5, 6, 7, 0, 1, 2, 3}, Warmup: 1, Launches: 4}
	alone, err := Open(cfg)
	require.NoError(t, err)
	want := exchanged(t.Context(), t, alone, e)
	e.Round = 1
	other := exchanged(t.Context(), t, alone, e)
	require.NoError(t, alone.Close())
	e.Round = 0
	seen := map[float64]int{}
	for i, s := range want {
		require.InEpsilon(t, want[i/8*8+i%4], s, 1e-6)
		require.Greater(t, math.Abs(s-other[i]), 1e-7)
		seen[s]++
	}
	require.GreaterOrEqual(t, len(seen), 4*4)
	for _, shares := range [][]int{{4, 4}, {1, 3, 2, 2}} {
		led(t, threads(t, cfg, shares), func(ctx context.Context, g *plan.Group) {
			require.Equal(t, want, exchanged(ctx, t, g, e), "%v", shares)
		})
	}
}

// A round in which a rank would wait for a message that none sends is refused.
func TestExchangeIsChecked(t *testing.T) {
	_, _, c := pairs(t, 0)
	for says, e := range map[string]plan.Exchange{
		"peers for 4 ranks":         {To: []int{1, 0}, Launches: 1},
		"rank 0 exchanges with":     {To: []int{0, -1, -1, -1}, Launches: 1},
		"rank 3 exchanges with":     {To: []int{-1, -1, -1, 4}, Launches: 1},
		"which receives from":       {To: []int{1, 2, 0, -1}, Launches: 1},
		"exchange of 0 launches":    {To: []int{1, 0, -1, -1}},
		"rank 2 receives from rank": {To: []int{1, 0, -1, -1}, From: []int{1, 0, 3, -1}, Launches: 1},
	} {
		e.Case = c
		require.ErrorContains(t, e.Check(4), says)
	}
	require.NoError(t, plan.Exchange{Case: c, To: []int{1, 2, 0, -1}, From: []int{2, 0, 1, -1}, Launches: 1}.Check(4))
}
