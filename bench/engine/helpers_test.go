package engine_test

import (
	"context"
	"hash/fnv"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/recommend"
	"zbench/bench/base/folder"
	"zbench/bench/engine"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
)

// modelled is a driver whose launches take what the fabric's model says, and a
// little more that differs from launch to launch.
type modelled struct {
	machine *fabric.Machine
	c       plan.Case
	launch  float64
	n       uint64
	// stop is called before launch number at, counted over all; fails is what it fails with.
	at    int
	stop  func()
	fails error
	done  int
	// closing is the error of Close.
	closing error
}

func (d *modelled) Begin(c plan.Case, pass int) error {
	h := fnv.New64a()
	_, _ = h.Write([]byte(c.Key))
	d.c, d.n = c, h.Sum64()+uint64(pass) //nolint:gosec // a seed
	d.launch = d.machine.Launch(fabric.Group{Ranks: c.Ranks, Stride: c.Split.Stride}, c.Collective.Name, c.Layout.Bytes)
	return nil
}

func (d *modelled) times(ctx context.Context, rows int) ([]float64, error) {
	if d.done++; d.stop != nil && d.done == d.at {
		d.stop()
	}
	if d.fails != nil && d.done == d.at {
		return nil, d.fails
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	out := make([]float64, rows*d.c.Ranks*max(1, d.c.Parallel))
	for i := range out {
		d.n = d.n*6364136223846793005 + 1442695040888963407
		out[i] = d.launch * (1 + float64(d.n>>48)/(1<<16)/1000)
	}
	return out, nil
}

func (d *modelled) Unverifiable(plan.Case) string { return "" }
func (d *modelled) Verify(context.Context, plan.Case, int) (plan.Verification, error) {
	return plan.Verification{}, nil
}
func (d *modelled) WarmUp(ctx context.Context, _ int) ([]float64, error) { return d.times(ctx, 1) }
func (d *modelled) Burst(ctx context.Context, b plan.Bursts) ([]float64, error) {
	return d.times(ctx, b.Count)
}

func (d *modelled) Isolated(ctx context.Context, n int) ([]float64, error) { return d.times(ctx, n) }
func (d *modelled) Held() bool                                             { return true }
func (d *modelled) EventFloor() float64                                    { return 1e-6 }
func (d *modelled) Budget() (plan.Room, error)                             { return plan.Room{Bytes: 64 << 30}, nil }
func (d *modelled) IDs(plan.Comms) ([]plan.CommID, error)                  { return nil, nil }
func (d *modelled) Join(context.Context, plan.Comms, []plan.CommID) error  { return nil }
func (d *modelled) Allocate(context.Context, plan.Room) error              { return nil }
func (d *modelled) Close() error                                           { return d.closing }
func (d *modelled) Facts() (engine.Facts, error) {
	return engine.Facts{Simulated: true, Memory: d.machine.HBM, Libraries: []record.Library{{Name: "model", Version: "1"}}}, nil
}

// small asks for six cases on two nodes.
func small() spec.Spec {
	return spec.Spec{
		Backend: "loopback", Fabric: fabric.Default, Seed: 1, World: spec.World{Nodes: 2, GPUsPerProcess: 1},
		Sweep: &spec.Sweep{
			Collectives: []string{"all_reduce"}, MinBytes: 1 << 10, MaxBytes: 4 << 10, Factor: 2, Dtype: "float", Op: "sum", InPlace: []bool{false, true},
			Iterations: 5, Warmup: 1, Checks: 1, Precision: 0.01, MaxTime: 0.1, Cache: spec.Cold, VerifyBudget: 1 << 20,
		},
	}
}

// served asks for a bucket size, with a sweep that ends too early for it.
func served() spec.Spec {
	s := small()
	s.Sweep.Collectives, s.Sweep.InPlace = []string{"reduce_scatter", "all_gather"}, []bool{true}
	s.Sweep.MinBytes, s.Sweep.MaxBytes, s.Sweep.Factor = 64<<10, 64<<20, 4
	s.Advice = &spec.Advice{Framework: "megatron", Preset: "llama3-8b", Tokens: 4096, Flops: 250e12}
	return s
}

// at is an engine on a file system.
func at(files folder.FS, d *modelled) *engine.Engine {
	return &engine.Engine{
		Host:    folder.Host{FS: files, Now: func() time.Time { return time.Unix(1795219200, 0) }, Owner: "process 1 on host"},
		Created: time.Unix(1795219200, 0).UTC(), Tool: record.Tool{Name: "zbench", Version: "test"},
		Open: func(_ context.Context, u *engine.Setup) (engine.Ranks, error) {
			d.machine = u.Machine
			return d, nil
		},
		Check:  func(*engine.Setup, engine.Ranks, []plan.Case, float64) error { return nil },
		Source: recommend.SourceOf, Watch: blindly,
	}
}

// blind is a Watcher that ignores everything.
type blind struct{}

func (blind) Pass(record.Result, record.Part) {}
func (blind) Done(record.Result)              {}
func (blind) First(record.Part)               {}
func (blind) Last(record.Part)                {}

func blindly(_, _ int) engine.Watcher { return blind{} }

// run runs a request into the folder "out".
func run(ctx context.Context, t *testing.T, files folder.FS, want spec.Spec, d *modelled) error {
	t.Helper()
	_, err := runWith(ctx, t, at(files, d), want)
	return err
}

// runWith is run with an engine of the test's own.
func runWith(ctx context.Context, t *testing.T, e *engine.Engine, want spec.Spec) (*engine.Outcome, error) {
	t.Helper()
	u, err := engine.Prepare(want, false)
	require.NoError(t, err)
	dir, err := folder.New(e.Host, "out", "collectives", false)
	require.NoError(t, err)
	out, err := e.Run(ctx, u, dir)
	require.NoError(t, dir.Close())
	return out, err
}

// resume continues with the folder "out", asked nothing.
func resume(t *testing.T, files folder.FS) error {
	t.Helper()
	e := at(files, &modelled{})
	dir, err := folder.Open(e.Host, "out")
	require.NoError(t, err)
	old, err := engine.ReadFolder(files, "out")
	require.NoError(t, err)
	_, err = e.Resume(context.Background(), *old.Header.Record.Spec, old, dir)
	require.NoError(t, dir.Close())
	return err
}

// same compares two folders.
func same(t *testing.T, want, got map[string]string) {
	t.Helper()
	require.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)))
	for name := range want {
		require.True(t, want[name] == got[name], "%s differs", name) //nolint:testifylint // samples would be printed
	}
}
