package plan_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/collective"
	"zbench/bench/run/plan"
)

// Places are checked against what they are for: buffers inside the arena, none on
// another, aligned, rotating over twice the cache, and not a byte more.
func TestPlacesInTheArena(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // reproducible
	for range 20_000 {
		all := collective.All()
		c := plan.Case{Collective: all[rng.IntN(len(all))], Ranks: 1 + rng.IntN(64), InPlace: rng.IntN(2) == 0}
		if c.Collective.InPlace == collective.Never {
			c.InPlace = false
		}
		c.Layout = c.Collective.Layout(1+rng.Int64N(1<<rng.IntN(40)), c.Ranks, 4)
		if c.Layout.Bytes == 0 {
			continue
		}
		cache := rng.Int64N(1 << rng.IntN(30))
		p := c.Places(cache)
		larger := max(p.SendStride, p.RecvStride)
		require.GreaterOrEqual(t, p.Slots*larger, 2*cache)
		require.True(t, p.Slots == 1 || (p.Slots-1)*larger < 2*cache, "no slot more than it takes")
		for _, v := range []int64{p.Send, p.Recv, p.SendStride, p.RecvStride, p.Arena} {
			require.Zero(t, v%plan.Align)
		}
		require.GreaterOrEqual(t, min(p.Send, p.Recv), int64(plan.ArenaHead))
		require.GreaterOrEqual(t, p.SendStride, c.Layout.SendBytes)
		require.GreaterOrEqual(t, p.RecvStride, c.Layout.RecvBytes)
		sendEnd, recvEnd := p.Send+p.Slots*p.SendStride, p.Recv+p.Slots*p.RecvStride
		require.Equal(t, p.Arena, max(sendEnd, recvEnd), "the arena ends with the last buffer")
		switch {
		case c.InPlace:
			require.Equal(t, p.Send, p.Recv)
		case p.SendStride >= p.RecvStride:
			require.LessOrEqual(t, sendEnd, p.Recv)
		default:
			require.LessOrEqual(t, recvEnd, p.Send)
		}
	}
}

// What is verified is the buffers of slot 0. Those of all sizes and collectives lie on
// each other, so that a simulation touches memory for the largest alone.
func TestVerifiedBuffersLieOnEachOther(t *testing.T) {
	touched := map[int64]bool{} // blocks of Align
	const largest = 128 << 10
	for _, name := range []string{"all_reduce", "reduce_scatter", "all_gather"} {
		a := axes(t, name)
		a.MinBytes, a.MaxBytes, a.Factor, a.InPlace = 1<<10, largest, 2, []bool{false, true}
		for _, c := range a.Cases() {
			p := c.Places(256 << 20)
			for _, b := range [][2]int64{{p.Send, p.SendStride}, {p.Recv, p.RecvStride}} {
				for at := b[0]; at < b[0]+b[1]; at += plan.Align {
					touched[at] = true
				}
			}
		}
	}
	require.Equal(t, 2*largest/plan.Align, len(touched)) //nolint:testifylint // Len would print them all
}

// What Fit leaves needs no more than the room together, and what it skips does not
// fit by itself.
func TestFitIsExact(t *testing.T) {
	a := axes(t, collective.Names()...)
	a.MinBytes, a.MaxBytes, a.InPlace = 64, 64<<30, []bool{false, true}
	rng := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // reproducible
	before := a.Cases()
	for range 200 {
		room := plan.Room{Bytes: rng.Int64N(1 << (12 + rng.IntN(26))), Cache: rng.Int64N(1 << rng.IntN(30))}
		cases := slices.Clone(before)
		plan.Fit(cases, room)
		for i, c := range cases {
			fits := c.Places(room.Cache).Arena <= room.Bytes
			require.Equal(t, before[i].Skip != "" || !fits, c.Skip != "", c.Key)
		}
		require.LessOrEqual(t, plan.Arena(cases, room.Cache), max(room.Bytes, plan.ArenaHead))
	}
}

// Sizes that no memory has do not wrap around to ones that fit.
func TestFitOfHugeSizes(t *testing.T) {
	a := axes(t, "all_reduce")
	a.MinBytes, a.MaxBytes, a.InPlace = math.MaxInt64/2, math.MaxInt64, []bool{false, true}
	cases := a.Cases()
	plan.Fit(cases, plan.Room{Bytes: 1 << 40, Cache: 256 << 20})
	for _, c := range cases {
		require.Contains(t, c.Skip, "memory: ", c.Key)
	}
}

// A case that rotation alone makes too large says how to run it.
func TestFitNamesTheRotation(t *testing.T) {
	cases := alone(t).Cases()
	plan.Fit(cases, plan.Room{Bytes: 64 << 20, Cache: 256 << 20})
	require.Contains(t, cases[0].Skip, "memory: a rank's buffers need 1.00 GiB of 64 MiB; ")
	require.Contains(t, cases[0].Skip, "(--cache warm)")
}
