package plan_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/stat"
	"zbench/bench/hardware/collective"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/test/mutate"
)

// All processes get the same orders; budget, times and wrong elements are those
// of all of them, in the order of the ranks.
func TestGroupIsOneDriver(t *testing.T) {
	a := axes(t, "all_reduce", "all_gather")
	a.World.GPUsPerNode = 6
	parts := three()
	parts[1].wrong, parts[2].wrong = 2, 5
	inGroup(t, parts, backgrounds(3), func(ctx context.Context, g *plan.Group) {
		budget, err := g.Budget()
		require.NoError(t, err)
		require.Equal(t, plan.Room{Bytes: 1 << 12, Cache: 2}, budget)
		cases := a.Cases()
		require.NoError(t, g.Allocate(t.Context(), budget.For(cases)))
		require.NoError(t, g.Begin(cases[6], 1))
		require.Empty(t, g.Unverifiable(cases[6]))
		v, err := g.Verify(ctx, cases[6], 3)
		require.NoError(t, err)
		require.Equal(t, plan.Verification{Wrong: 7, First: "process 1"}, v)
		want := []float64{1, 1.001, 1.1, 1.101, 1.2, 1.201, 1.01, 1.011, 1.11, 1.111, 1.21, 1.211}
		got, err := g.Burst(ctx, plan.Bursts{Count: 2, Iterations: 20, Replays: 1})
		require.NoError(t, err)
		require.InDeltaSlice(t, want, got, 1e-12)
		got, err = g.Isolated(ctx, 2)
		require.NoError(t, err)
		require.InDeltaSlice(t, want, got, 1e-12)
	})
	key := a.Cases()[6].Key
	require.Equal(t, []string{"budget", "ids", "join 1 x 6: 0 made by 0", fmt.Sprintf("allocate %d, 2", plan.Arena(a.Cases(), 2)), "begin all_gather " + key + " 1", "verify " + key + " 3", "burst 2 20 replayed", "isolated 2"}, parts[0].asked)
	require.Equal(t, parts[0].asked, parts[1].asked)
	require.Equal(t, parts[0].asked, parts[2].asked)
}

// Cases travel whole.
func TestOrdersTravelAsText(t *testing.T) {
	for _, c := range collective.All() {
		for _, d := range collective.Dtypes() {
			a := axes(t, c.Name)
			a.Dtypes, a.Scales, a.World.Nodes = []collective.Dtype{d}, []int{1}, 2
			for _, want := range a.Cases() {
				text, err := json.Marshal(plan.Order{Verb: plan.Preparation{Case: want}})
				require.NoError(t, err)
				var o plan.Order
				require.NoError(t, json.Unmarshal(text, &o))
				got := o.Verb.(plan.Preparation).Case
				require.Equal(t, want.Collective.Name, got.Collective.Name)
				require.Equal(t, want.Collective.Layout(1<<20, 8, 4), got.Collective.Layout(1<<20, 8, 4))
				got.Collective, want.Collective = collective.Collective{}, collective.Collective{}
				require.Equal(t, want, got)
			}
		}
	}
	var o plan.Order
	require.ErrorContains(t, json.Unmarshal([]byte(`{"protocol":13,"do":"prepare","with":{"case":{"Collective":"sum"}}}`), &o), "unknown collective")
}

// One process that cannot verify keeps all from it.
func TestNoProcessVerifiesWhatOneCannot(t *testing.T) {
	parts := three()
	parts[2].unverifiable = "no compiler"
	a := axes(t, "all_reduce")
	a.World.GPUsPerNode, a.MaxBytes = 6, a.MinBytes
	inGroup(t, parts, backgrounds(3), func(ctx context.Context, g *plan.Group) {
		r := plan.Run(ctx, a.Cases(), g, options(2, 2), func(record.Result) {})
		require.Equal(t, record.OK, r[0].Status, r[0].Reason)
		require.Equal(t, "process 2: no compiler", r[0].Verified.Reason)
	})
	for _, p := range parts {
		require.NotContains(t, p.asked, "verify "+a.Cases()[0].Key+" 0")
	}
}

// A signal to any process ends the sweep: what was ordered is carried out by all,
// and nothing is ordered after it.
func TestSignalToOneProcess(t *testing.T) {
	for upset := range 3 {
		contexts, parts := backgrounds(3), three()
		ctx, signal := context.WithCancel(context.Background())
		contexts[upset] = ctx
		parts[upset].onBurst = func() {
			if parts[upset].bursts++; parts[upset].bursts == 2 {
				signal()
			}
		}
		a := axes(t, "all_reduce")
		a.World.GPUsPerNode = 6
		o := options(12, 2)
		o.Burst.Batch = 2
		inGroup(t, parts, contexts, func(ctx context.Context, g *plan.Group) {
			for _, r := range plan.Run(ctx, a.Cases(), g, o, func(record.Result) {}) {
				require.Equal(t, record.Interrupted, r.Status)
			}
		})
		require.Equal(t, []string{"burst 2 20", "isolated 1", "burst 2 20"}, parts[0].asked[4:], "%v", parts[0].asked)
		require.Equal(t, parts[0].asked, parts[1].asked)
		require.Equal(t, parts[0].asked, parts[2].asked)
	}
}

type timeout struct{ error }

func (timeout) Timeout() bool { return true }

// What failed is named before those that waited for it in vain.
func TestWhoFailedIsNamedFirst(t *testing.T) {
	parts := three()
	parts[0].fail, parts[1].fail, parts[2].fail = timeout{errors.New("not finished")}, timeout{errors.New("not finished")}, errors.New("link down")
	parts = append(parts, &part{number: 3, fail: timeout{errors.New("not finished")}})
	a := axes(t, "all_reduce")
	a.World.GPUsPerNode = 8
	inGroup(t, parts, backgrounds(4), func(ctx context.Context, g *plan.Group) {
		r := plan.Run(ctx, a.Cases(), g, options(2, 2), func(record.Result) {})
		require.Equal(t, record.Failed, r[0].Status)
		require.Equal(t, "process 2: link down; processes 0–1, 3: not finished", r[0].Reason)
	})
}

// A follower that has lost its leader ends, and so does one that is told what it
// does not know.
func TestFollowerWithoutLeader(t *testing.T) {
	l := line{make(chan []byte, 1), make(chan []byte, 1)}
	l.orders <- fmt.Appendf(nil, `{"protocol":%d,"do":"dance"}`, plan.Protocol)
	close(l.orders)
	require.ErrorContains(t, plan.Follow(context.Background(), &part{}, l), "lost the process that leads")
	close(l.reports)
	require.Contains(t, string(<-l.reports), "must run the same version")
}

// Slow bursts: the warm-up tells how many the time allows, and no batch is longer
// than a driver can take.
func TestBatchesFitTimeAndDriver(t *testing.T) {
	a := axes(t, "all_reduce")
	a.World.GPUsPerNode, a.MaxBytes = 2, a.MinBytes
	for warmup, want := range map[int]string{5: "burst 6 20", 0: "burst 10 20"} {
		p := &part{}
		o := plan.Effort{Warmup: warmup, Iterations: 20, Burst: stat.Rule{MaxTime: 1, MaxSamples: 1000}, Isolated: stat.Fixed(1000)}
		plan.Run(context.Background(), a.Cases(), p, o, func(record.Result) {})
		require.Contains(t, p.asked, want)
		require.Contains(t, p.asked, fmt.Sprintf("isolated %d", plan.MaxBatch))
		require.NotContains(t, p.asked, "isolated 500")
	}
}

// A burst that is replayed is one sample of all its launches; the warm-up, in
// which a library connects, is not captured.
func TestReplayedBursts(t *testing.T) {
	a := axes(t, "all_reduce")
	a.World.GPUsPerNode, a.MaxBytes, a.Calls.GraphLaunches = 2, a.MinBytes, 3
	p := &part{}
	o := options(10, 2)
	o.Warmup = 5
	r := plan.Run(context.Background(), a.Cases(), p, o, func(record.Result) {})[0]
	require.Equal(t, "all_reduce/float/sum/1024/r2/g1/oop/G3", r.Key)
	require.Equal(t, 60, r.Burst.Iterations)
	require.Equal(t, 1, r.Isolated.Iterations)
	require.Contains(t, p.asked, "warm-up 5")
	require.Contains(t, p.asked, "burst 5 20 replayed replayed replayed")
	require.NotContains(t, p.asked, "burst 5 20")
}

// Whatever text arrives as orders, a follower reports on each and ends.
func TestChangedOrders(t *testing.T) {
	mutate.Each(t, 1, 2000, []string{
		`{"protocol":11,"do":"budget"}` + "\n" + `{"protocol":11,"do":"prepare","case":{"Collective":"all_reduce","Dtype":"float"},"pass":1}`,
		`{"protocol":11,"do":"prepare"}` + "\n" + `{"protocol":11,"do":"burst"}`,
		`{"protocol":11,"do":"burst","bursts":{"count":-1,"iterations":3}}` + "\n" + `{"protocol":11,"do":"isolated","count":-5}`,
	}, func(t *testing.T, text string) {
		first, second, _ := strings.Cut(text, "\n")
		l := line{make(chan []byte, 2), make(chan []byte, 2)}
		l.orders <- []byte(first)
		l.orders <- []byte(second)
		close(l.orders)
		p := &part{most: 100}
		err := plan.Follow(context.Background(), p, l)
		if err == nil {
			require.LessOrEqual(t, len(l.reports), 1, "ended by an order")
		}
		require.LessOrEqual(t, len(p.asked), 2)
	})
}
