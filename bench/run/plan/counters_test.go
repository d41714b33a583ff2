package plan_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/plan"
	"zbench/bench/run/record"
)

// The counters of the processes that read some reach each pass, also over the connection; where
// none reads any, the processes are asked once.
func TestCountersOfAllNodes(t *testing.T) {
	for _, some := range []bool{true, false} {
		parts := three()
		parts[0].nics, parts[2].nics = some, some
		a := axes(t, "all_reduce")
		a.World.GPUsPerNode = 6
		inGroup(t, parts, backgrounds(3), func(ctx context.Context, g *plan.Group) {
			cases := a.Cases()[:2]
			for i := range cases {
				cases[i].Skip = ""
			}
			require.NoError(t, g.Allocate(ctx, plan.Room{Bytes: 1 << 20}))
			got := plan.Run(ctx, cases, g, plan.DefaultOptions(), func(record.Result) {})
			for _, r := range got {
				require.Equal(t, record.OK, r.Status, r.Reason)
				if !some {
					require.Empty(t, r.NICs)
					continue
				}
				require.Len(t, r.NICs, 2)
				require.Equal(t, "n0", r.NICs[0].Node)
				require.Equal(t, "n2", r.NICs[1].Node)
				require.EqualValues(t, 2, *r.NICs[1].Sent, "one rise in each of two passes")
			}
		})
		want := uint64(1 + 2*2) // before the first pass, and with its one order of isolated launches in each
		if !some {
			want = 1
		}
		for _, p := range parts {
			require.Equal(t, want, p.counted)
		}
	}
}

// recorder notes what is ordered.
type recorder struct {
	plan.Followers
	orders []string
}

func (r *recorder) Send(o plan.Order) {
	r.orders = append(r.orders, o.Verb.Name())
	r.Followers.Send(o)
}

// recorded is inGroup with a record of the orders.
func recorded(t *testing.T, parts []*part, do func(context.Context, *plan.Group, *recorder)) (sent *recorder) {
	t.Helper()
	inGroupOver(t, parts, backgrounds(len(parts)), func(f plan.Followers) plan.Followers {
		sent = &recorder{Followers: f}
		return sent
	}, func(ctx context.Context, g *plan.Group) { do(ctx, g, sent) })
	return sent
}

// Only the first reading of the counters takes an order of its own: later ones come with the
// reports on the isolated launches that end a pass.
func TestCountersTakeOneOrder(t *testing.T) {
	parts := three()
	parts[1].nics = true
	a := axes(t, "all_reduce")
	a.World.GPUsPerNode = 6
	sent := recorded(t, parts, func(ctx context.Context, g *plan.Group, _ *recorder) {
		cases := a.Cases()[:3]
		for i := range cases {
			cases[i].Skip = ""
		}
		require.NoError(t, g.Allocate(ctx, plan.Room{Bytes: 1 << 20}))
		for _, r := range plan.Run(ctx, cases, g, plan.DefaultOptions(), func(record.Result) {}) {
			require.Len(t, r.NICs, 1)
			require.EqualValues(t, 2, *r.NICs[0].Sent, "one rise in each of two passes")
		}
	})
	counters := 0
	for _, do := range sent.orders {
		if do == "counters" {
			counters++
		}
	}
	require.Equal(t, 1, counters, "%v", sent.orders)
}

// The record of a pass that failed has the bytes until then of every node that still answered.
func TestCountersOfAFailedPass(t *testing.T) {
	parts := three()
	for _, p := range parts {
		p.nics = true
		p.onBurst = func() { p.fail = errors.New("no answer") }
	}
	a := axes(t, "all_reduce")
	a.World.GPUsPerNode = 6
	inGroup(t, parts, backgrounds(3), func(ctx context.Context, g *plan.Group) {
		cases := a.Cases()[:1]
		cases[0].Skip = ""
		require.NoError(t, g.Allocate(ctx, plan.Room{Bytes: 1 << 20}))
		got := plan.Run(ctx, cases, g, plan.DefaultOptions(), func(record.Result) {})
		require.Equal(t, record.Failed, got[0].Status)
		require.Len(t, got[0].NICs, 3)
		for _, n := range got[0].NICs {
			require.EqualValues(t, 1, *n.Sent, n.Node)
		}
	})
}
