package rccl_test

import (
	"context"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/unit"
	"zbench/bench/run/plan"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
)

// BenchmarkLoopback measures the CPU time that one launch costs the simulation per rank,
// in a world of 1,024 ranks. docs/MEASURED.md has the figures.
func BenchmarkLoopback(b *testing.B) {
	const launches = 20
	w := spec.World{Nodes: 128, GPUsPerNode: 8, GPUsPerProcess: 1}
	d, _ := open(b, w, fabric.Conditions{Seed: 1}, nil)
	cases := axes(b, w, "all_reduce").Cases()
	require.NoError(b, d.Allocate(b.Context(), plan.Room{Cache: cache}.For(cases[:1])))
	require.NoError(b, d.Begin(cases[0], 0))
	for _, one := range []struct {
		name string
		run  func(ctx context.Context) error
	}{
		{"burst", func(ctx context.Context) error {
			_, err := d.Burst(ctx, plan.Bursts{Count: 1, Iterations: launches})
			return err
		}},
		{"graph", func(ctx context.Context) error {
			_, err := d.Burst(ctx, plan.Bursts{Count: 1, Iterations: launches, Replays: 1})
			return err
		}},
		{"isolated", func(ctx context.Context) error {
			_, err := d.Isolated(ctx, launches)
			return err
		}},
	} {
		b.Run(one.name, func(b *testing.B) {
			n, before := 0, cpuSeconds(b)
			for b.Loop() {
				require.NoError(b, one.run(b.Context()))
				n += launches * w.Size()
			}
			b.ReportMetric((cpuSeconds(b)-before)*1e9/float64(n), "cpu-ns/launch/rank")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkLoopbackOpen measures the CPU time of opening a world of 1,024 ranks and closing it.
func BenchmarkLoopbackOpen(b *testing.B) {
	w := spec.World{Nodes: 128, GPUsPerNode: 8, GPUsPerProcess: 1}
	n, before := 0, cpuSeconds(b)
	for b.Loop() {
		d, _ := open(b, w, fabric.Conditions{Seed: 1}, nil)
		require.NoError(b, d.Close())
		n++
	}
	b.ReportMetric((cpuSeconds(b)-before)*1e3/float64(n), "cpu-ms")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkLoopbackVerify measures the CPU time of a verified launch per byte of all
// ranks' buffers.
func BenchmarkLoopbackVerify(b *testing.B) {
	for _, one := range []struct {
		nodes, bytes int64
		collective   string
	}{
		{1, 4 << 20, "all_reduce"}, {1, 4 << 20, "all_gather"}, {128, 64 << 10, "all_reduce"}, {128, 64 << 10, "reduce_scatter"},
	} {
		w := spec.World{Nodes: int(one.nodes), GPUsPerNode: 8, GPUsPerProcess: 1}
		b.Run(one.collective+"/"+unit.Bytes(one.bytes)+"/nodes="+strconv.FormatInt(one.nodes, 10), func(b *testing.B) {
			d, _ := open(b, w, fabric.Conditions{Seed: 1}, nil)
			a := axes(b, w, one.collective)
			a.MinBytes, a.MaxBytes, a.InPlace = one.bytes, one.bytes, []bool{false}
			c := a.Cases()[0]
			require.NoError(b, d.Allocate(b.Context(), plan.Room{Cache: cache}.For([]plan.Case{c})))
			require.NoError(b, d.Begin(c, 0))
			n, before := int64(0), cpuSeconds(b)
			for b.Loop() {
				v, err := d.Verify(b.Context(), c, 0)
				require.NoError(b, err)
				require.Zero(b, v)
				n += int64(w.Size()) * (c.Layout.SendBytes + c.Layout.RecvBytes)
			}
			b.ReportMetric((cpuSeconds(b)-before)*1e9/float64(n), "cpu-ns/byte")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// cpuSeconds is the time that this process has computed.
func cpuSeconds(b *testing.B) float64 {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return float64(u.Utime.Nano()+u.Stime.Nano()) * 1e-9
}
