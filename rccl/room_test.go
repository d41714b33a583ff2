package rccl

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/collective"
	"zbench/bench/run/plan"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/internal/native"
)

// openWith opens two GPUs with so much memory, rotating over so much cache.
func openWith(t *testing.T, memory, cache int64) *Driver {
	t.Helper()
	f, err := fabric.ByName(fabric.Default)
	require.NoError(t, err)
	m, err := f.Resolve(spec.World{Nodes: 1, GPUsPerNode: 2, GPUsPerProcess: 2}, fabric.Conditions{})
	require.NoError(t, err)
	m.HBM = memory
	d, err := Open(Config{Native: native.Choice{Backend: "loopback", Machine: m.Text()}, Ranks: 2, CacheBytes: cache})
	require.NoError(t, err)
	return d
}

// randomPlan is a sweep of random collectives, sizes, types and forms.
func randomPlan(t *testing.T, rng *rand.Rand) []plan.Case {
	t.Helper()
	all := collective.All()
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	a := plan.Axes{
		Collectives: all[:1+rng.IntN(len(all))], MinBytes: 1 + rng.Int64N(1<<rng.IntN(24)), Factor: 2 + rng.IntN(7),
		InPlace: [][]bool{{false}, {true}, {false, true}}[rng.IntN(3)], World: spec.World{Nodes: 1, GPUsPerNode: 2, GPUsPerProcess: 2},
		Dtypes: collective.Dtypes()[rng.IntN(10):][:1], Ops: collective.Ops()[:1],
	}
	a.MaxBytes = a.MinBytes * (1 + rng.Int64N(1<<rng.IntN(14)))
	return a.Cases()
}

// used is the memory of a GPU that is taken.
func used(t *testing.T, d *Driver) int64 {
	t.Helper()
	free, total, err := d.provider.Memory(0)
	require.NoError(t, err)
	return total - free
}

// What Fit accepts is allocated on a GPU that has exactly the memory that was
// computed, and not a byte more is taken; a byte less, and it is refused.
func TestFitEqualsAllocate(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6)) //nolint:gosec // reproducible
	for range 60 {
		room := plan.Room{Bytes: plan.ArenaHead + rng.Int64N(1<<(10+rng.IntN(28))), Cache: rng.Int64N(1 << rng.IntN(28))}
		cases := randomPlan(t, rng)
		plan.Fit(cases, room)
		need := plan.Arena(cases, room.Cache)
		require.LessOrEqual(t, need, room.Bytes)

		d := openWith(t, need, room.Cache)
		require.NoError(t, d.Allocate(t.Context(), room.For(cases)))
		require.Equal(t, need, used(t, d))
		for _, c := range cases {
			if c.Skip == "" {
				require.NoError(t, d.Begin(c, 0))
				_, err := d.WarmUp(t.Context(), int(min(d.work.Slots, 64))) // the fake refuses what lies outside
				require.NoError(t, err, c.Key)
			}
		}
		require.NoError(t, d.Close())

		d = openWith(t, need-1, room.Cache)
		require.ErrorContains(t, d.Allocate(t.Context(), room.For(cases)), "out of memory")
		require.NoError(t, d.Close())
	}
}

// The room for more cases is that of the whole arena: to grow, it is given back.
func TestBudgetCountsTheArenaAsFree(t *testing.T) {
	d := openWith(t, 1<<30, 1<<20)
	before, err := d.Budget()
	require.NoError(t, err)
	require.Equal(t, plan.Room{Bytes: (1 << 30) * 9 / 10, Cache: 1 << 20}, before)
	require.NoError(t, d.Allocate(t.Context(), before.For(nil)))
	after, err := d.Budget()
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.NoError(t, d.Close())
}
