// Package planted shows with many seeds that zbench names the fault and nothing else. A fault is
// planted into the loopback, a sweep is run through the same packages that the command uses, and
// its findings are compared with the fault. Each run has a paired run without the fault.
// docs/EXPERIMENTS.md has the results of the full run; the tests run a twentieth of it.
package planted

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/internal/native"
	"zbench/rccl"
)

// gpus is the number of GPUs of every node in these tests.
const gpus = 8

// trial is one sweep: its world, its faults and its sizes.
type trial struct {
	nodes  int
	seed   uint64
	faults []string
	// jitter is the spread, in seconds, of the times at which ranks see the end; 0 means the
	// fabric's own. tick is the unit to which the ranks' intervals are rounded, as by a GPU's
	// clock; 0 means no rounding.
	jitter, tick float64
	collective   string
	groups       []int
	strides      []int
	// min and max are the smallest and the largest size in bytes. Each size is factor times the
	// previous one; 0 means eight times.
	min, max int64
	factor   int
}

// run runs the sweep and returns the record that the command would write.
func (t trial) run() (*record.Record, error) {
	w := spec.World{Nodes: t.nodes, GPUsPerNode: gpus, GPUsPerProcess: 1}
	f, err := fabric.ByName(fabric.Default)
	if err != nil {
		return nil, err
	}
	m, err := f.Resolve(w, fabric.Conditions{Seed: t.seed, Faults: t.faults, Groups: t.groups, Strides: t.strides})
	if err != nil {
		return nil, err
	}
	if t.jitter > 0 {
		m.Host.ExitJitter = t.jitter
	}
	cases, err := t.cases(w)
	if err != nil {
		return nil, err
	}
	d, err := rccl.Open(rccl.Config{
		Native: native.Choice{Backend: "loopback", Machine: m.Text()}, Ranks: w.Size(), CacheBytes: f.Node.CacheBytes, Seed: t.seed,
	})
	if err != nil {
		return nil, err
	}
	need := plan.Room{Cache: f.Node.CacheBytes}.For(cases)
	if err = d.Allocate(context.Background(), need); err == nil {
		rec := &record.Record{World: record.World{World: w, Ranks: w.Size()}}
		o := plan.DefaultOptions()
		o.Checks = 0     // which rank is late does not depend on the data
		o.Iterations = 2 // a late rank shows in isolated launches, not in bursts
		rec.Results = plan.Run(context.Background(), cases, ticking{d, t.tick}, o, func(record.Result) {})
		return rec, d.Close()
	}
	return nil, fmt.Errorf("%w; %w", err, d.Close())
}

func (t trial) cases(w spec.World) ([]plan.Case, error) {
	a, err := plan.Axes{
		MinBytes: t.min, MaxBytes: t.max, Factor: cmp.Or(t.factor, 8), InPlace: []bool{false},
		World: w, Groups: t.groups, Strides: t.strides,
	}.Named("float", "sum", t.collective)
	if err != nil {
		return nil, err
	}
	return a.Cases(), a.Validate()
}

// ticking is a driver that measures intervals with a clock that ticks.
type ticking struct {
	plan.Driver
	tick float64
}

func (d ticking) Isolated(ctx context.Context, iterations int) ([]float64, error) {
	seconds, err := d.Driver.Isolated(ctx, iterations)
	if d.tick > 0 {
		for i, s := range seconds {
			seconds[i] = d.tick * math.Round(s/d.tick)
		}
	}
	return seconds, err
}

// source returns the random source for one seed of one row.
func source(row string, seed int) *rand.Rand {
	h := uint64(14695981039346656037) // FNV-1a
	for _, b := range []byte(row) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return rand.New(rand.NewPCG(h, uint64(seed))) //nolint:gosec // the sequence must be reproducible, not secret
}

// between draws evenly on a logarithmic scale.
func between(rng *rand.Rand, lo, hi float64) float64 {
	return lo * math.Pow(hi/lo, rng.Float64())
}
