package rendezvous_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/stat"
	"zbench/bench/hardware/collective"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/internal/rendezvous"
)

// toy is a process whose times depend on case, call, row and rank of the world alone:
// any division of the world into processes gives the same record.
type toy struct {
	first, ranks int
	c            plan.Case
	calls        int
	before       func(call int) // of each launching call
}

func (p *toy) Budget() (plan.Room, error)                            { return plan.Room{Bytes: 1 << 30}, nil }
func (p *toy) Allocate(context.Context, plan.Room) error             { return nil }
func (p *toy) Join(context.Context, plan.Comms, []plan.CommID) error { return nil }
func (p *toy) Unverifiable(plan.Case) string                         { return "" }
func (p *toy) Held() bool                                            { return true }
func (p *toy) EventFloor() float64                                   { return 1e-7 }

// IDs are of the communicators that begin with one of the ranks.
func (p *toy) IDs(c plan.Comms) (ids []plan.CommID, err error) {
	for _, h := range c.Held(p.first, p.ranks) {
		if h.First == 0 {
			ids = append(ids, plan.CommID{Group: h.Group, ID: []byte{byte(h.Group)}})
		}
	}
	return ids, nil
}

func (p *toy) Begin(c plan.Case, _ int) error {
	p.c = c
	return nil
}

func (p *toy) Verify(context.Context, plan.Case, int) (plan.Verification, error) {
	return plan.Verification{}, nil
}

func (p *toy) rows(n int) (out []float64) {
	p.calls++
	if p.before != nil {
		p.before(p.calls)
	}
	active := min(p.ranks, p.c.Ranks*max(p.c.Parallel, 1)-p.first)
	for row := range n {
		for rank := range max(active, 0) {
			h := fnv.New32a()
			_, _ = fmt.Fprint(h, p.c.Key, p.calls, row, p.first+rank)
			out = append(out, 1e-3+float64(h.Sum32())/(1<<32)*1e-4)
		}
	}
	return out
}

func (p *toy) WarmUp(context.Context, int) ([]float64, error) { return p.rows(1), nil }

func (p *toy) Burst(_ context.Context, b plan.Bursts) ([]float64, error) {
	return p.rows(b.Count), nil
}
func (p *toy) Isolated(_ context.Context, n int) ([]float64, error) { return p.rows(n), nil }

// sweep is seven cases of all ranks.
func sweep(ranks int) []plan.Case {
	c, err := collective.ByName("all_reduce")
	must(err)
	d, err := collective.DtypeByName("float")
	must(err)
	op, err := collective.OpByName("sum")
	must(err)
	a := plan.Axes{
		Collectives: []collective.Collective{c}, Dtypes: []collective.Dtype{d}, Ops: []collective.Op{op}, MinBytes: 1 << 17, MaxBytes: 1 << 23, Factor: 2,
		InPlace: []bool{false}, World: spec.World{Nodes: 1, GPUsPerNode: ranks, GPUsPerProcess: 1},
	}
	must(a.Validate())
	return a.Cases()
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func runOptions() plan.Effort {
	return plan.Effort{Warmup: 5, Iterations: 20, Checks: 1, Burst: stat.Fixed(12), Isolated: stat.Fixed(12)}
}

// oracle is the sweep in one process, without a rendezvous.
func oracle(ranks int) []record.Result {
	return plan.Run(context.Background(), sweep(ranks), &toy{ranks: ranks}, runOptions(), func(record.Result) {})
}

// self is a process of one rank on a host with four of them.
func self(process, processes int) rendezvous.Hello {
	return rendezvous.Hello{
		Process: process, Processes: processes, LocalProcess: process % 4, Host: fmt.Sprintf("node%d", process/4), PID: 1000 + process,
		Build: "1.0", Backend: "loopback",
	}
}

// lead serves a world, waits for it, runs the sweep and ends it.
func lead(t *testing.T, l *rendezvous.Leader, own plan.Process, ranks int) []record.Result {
	t.Helper()
	require.NoError(t, l.Wait(t.Context()))
	require.NoError(t, l.Start("go"))
	g, ctx := plan.Lead(t.Context(), own, l, l.Members(1))
	results := plan.Run(ctx, sweep(ranks), g, runOptions(), func(record.Result) {})
	g.End()
	l.Close("", 0)
	return results
}

// follow joins and executes orders until the end.
func follow(ctx context.Context, o rendezvous.Member, p plan.Process) error {
	f, err := rendezvous.Join(ctx, o)
	if err != nil {
		return err
	}
	defer f.Close()
	if string(f.Welcome()) != `"go"` {
		return errors.New("another welcome")
	}
	return plan.Follow(ctx, p, f)
}

// followers start all processes but the leader; the channel has an error of each.
func followers(t *testing.T, n int, options func(process int) rendezvous.Member) chan error {
	left := make(chan error, n)
	for process := 1; process < n; process++ {
		o := options(process)
		go func() { left <- follow(t.Context(), o, &toy{first: process, ranks: 1}) }()
	}
	return left
}

func allLeave(t *testing.T, left chan error, n int) {
	t.Helper()
	for range n - 1 {
		require.NoError(t, <-left)
	}
}

// serve leads at the address, or at a free port.
func serve(t *testing.T, o rendezvous.Member) (*rendezvous.Leader, string) {
	t.Helper()
	if o.Address == "" {
		o.Address = "127.0.0.1:0"
	}
	l, err := rendezvous.Serve(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { l.Close("the test is over", 0) })
	return l, l.Address()
}

func patient(o rendezvous.Member) rendezvous.Member {
	o.Register, o.Heartbeat, o.Handshake = 10*time.Minute, 10*time.Minute, 10*time.Minute
	return o
}
