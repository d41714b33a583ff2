package rccl_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
)

// aloneOn takes 1 KiB of all_reduce on eight GPUs of one process whose launches
// cost the host so many seconds, and returns the result with the journal's parts.
func aloneOn(t *testing.T, launch float64) (record.Result, []record.Part) {
	t.Helper()
	w := spec.World{Nodes: 1, GPUsPerNode: 8, GPUsPerProcess: 8}
	d, _ := open(t, w, fabric.Conditions{Seed: 1}, func(m *fabric.Machine) { m.Host.Launch = launch })
	a := axes(t, w, "all_reduce")
	a.MaxBytes, a.InPlace = a.MinBytes, []bool{false}
	allocate(t, d, a.Cases())
	var parts []record.Part
	log := plan.Log{Append: func(p record.Part) error { parts = append(parts, p); return nil }}
	taken, err := plan.Resume(context.Background(), a.Cases(), d, plan.DefaultOptions(), log, func(record.Result) {})
	require.NoError(t, err)
	r := taken.Results(a.Cases())[0]
	require.Equal(t, record.OK, r.Status, r.Reason)
	return r, parts
}

// repeats are the batches of launches alone that were taken again.
func repeats(parts []record.Part) (n int) {
	for _, p := range parts {
		n += p.Isolated.Repeated
	}
	return n
}

// The hold of a case's first batch is for all ranks that the process launches:
// eight of 6.25 µs take 50 µs an iteration, twice, and none of them is a sample.
func TestFirstHoldCountsLocalRanks(t *testing.T) {
	r, parts := aloneOn(t, 6.25e-6)
	require.InEpsilon(t, 13.5e-6, *r.Isolated.MaxOfRanks.P95, 0.1)
	require.Less(t, r.Isolated.MaxOfRanks.Max, 16e-6)
	require.Zero(t, repeats(parts), "the first hold is enough")
	require.NotContains(t, codes(r), "host_bound")
}

// A host that enqueues more slowly than the first hold expects: what was enqueued
// after the hold is taken again under a longer one, and is in no figure.
func TestBatchBeyondItsHoldIsRepeated(t *testing.T) {
	r, parts := aloneOn(t, 200e-6)
	require.Less(t, r.Isolated.MaxOfRanks.Max, 16e-6, "an iteration takes the host 3.2 ms")
	require.Equal(t, plan.Passes, repeats(parts), "one batch a pass, then the hold is known")
	require.NotContains(t, codes(r), "host_bound")
}
