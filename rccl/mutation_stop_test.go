package rccl_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/stat"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
)

// twoRanks is a driver whose bursts come from a function.
type twoRanks struct {
	calls int
	burst func(call int) []float64
}

func (*twoRanks) Begin(plan.Case, int) error { return nil }

func (*twoRanks) Verify(context.Context, plan.Case, int) (plan.Verification, error) {
	return plan.Verification{}, nil
}

func (*twoRanks) Unverifiable(plan.Case) string { return "a script" }

func (d *twoRanks) WarmUp(ctx context.Context, n int) ([]float64, error) {
	return d.Burst(ctx, plan.Bursts{Count: 1, Iterations: n})
}

func (d *twoRanks) Burst(_ context.Context, b plan.Bursts) ([]float64, error) {
	var out []float64
	for range b.Count {
		d.calls++
		out = append(out, d.burst(d.calls)...)
	}
	return out, nil
}

func (*twoRanks) Isolated(_ context.Context, n int) ([]float64, error) {
	return slices.Repeat([]float64{1}, 2*n), nil
}

func (*twoRanks) Held() bool { return true }

func (*twoRanks) EventFloor() float64 { return 0 }

// Bursts end when what they are reported by is precise: the mean of the ranks,
// whatever the slowest rank does.
func TestBurstsStopOnTheMeanOfRanks(t *testing.T) {
	for name, x := range map[string]struct {
		off  func(e float64) []float64
		stop string
	}{
		"steady mean, noisy maximum": {func(e float64) []float64 { return []float64{1 - e, 1 + e} }, stat.StopPrecision},
		"noisy mean, steady maximum": {func(e float64) []float64 { return []float64{1 - 2*e, 1} }, stat.StopMaxSamples},
	} {
		d := &twoRanks{burst: func(call int) []float64 { return x.off(0.3 * float64(call*7%11) / 11) }}
		a := axes(t, spec.World{Nodes: 1, GPUsPerNode: 2, GPUsPerProcess: 1}, "all_reduce")
		a.MaxBytes, a.InPlace = a.MinBytes, []bool{false}
		o := plan.Effort{Iterations: 1, Isolated: stat.Fixed(2)}
		o.Burst = stat.Rule{Precision: 0.01, MinSamples: 20, MaxSamples: 200}
		r := plan.Run(context.Background(), a.Cases(), d, o, func(record.Result) {})[0]
		require.Equal(t, x.stop, r.Burst.Stop, name)
		require.Equal(t, map[string]int{stat.StopPrecision: 20, stat.StopMaxSamples: 200}[x.stop], r.Burst.MeanOfRanks.N, name)
	}
}
